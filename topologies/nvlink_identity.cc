#include "topologies/nvlink_identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <map>
#include <set>
#include <tuple>

#include "common/check.h"
#include "common/error.h"

namespace transload {
namespace {

// Everything that tells a domain from another; the host only where domains end at hosts.
using DomainKey = std::tuple<std::string, std::string, std::int64_t, std::string>;

// Digits in lower case without dashes; empty where the id says that there is no fabric.
std::string plain_cluster(const NvlinkIdentity& rank, std::size_t index) {
  std::string_view text = rank.cluster;
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::string plain;
  for (const unsigned char c : text) {
    if (c == '-') continue;
    if (std::isxdigit(c) == 0)
      throw InputError(
          {"", 0, fmt::format("rank {}", index)},
          fmt::format("\"{}\": expected a cluster id of hexadecimal digits", rank.cluster));
    plain.push_back(static_cast<char>(std::tolower(c)));
  }
  const bool zeros = std::all_of(plain.begin(), plain.end(), [](char c) { return c == '0'; });
  return zeros ? "" : plain;
}

// What ranks of several hosts report alike, and so may be one domain.
struct Candidate {
  std::set<std::string> hosts;
  std::string cluster;  // as it was written
};

}  // namespace

NvlinkDomains group_nvlink_domains(const std::vector<NvlinkIdentity>& ranks,
                                   MultiNodeNvlink multi_node) {
  NvlinkDomains domains;
  std::map<DomainKey, std::int32_t> numbers;
  std::map<DomainKey, Candidate> candidates;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const NvlinkIdentity& rank = ranks[i];
    if (rank.host.empty()) throw InputError({"", 0, fmt::format("rank {}", i)}, "no host is named");
    const std::string cluster = plain_cluster(rank, i);
    // Without a fabric its clique and IMEX domain mean nothing.
    DomainKey key = cluster.empty() ? DomainKey{rank.host, "", kNoClique, ""}
                                    : DomainKey{"", cluster, rank.clique, rank.imex_domain};
    if (!cluster.empty()) {
      Candidate& candidate = candidates[key];
      candidate.hosts.insert(rank.host);
      candidate.cluster = rank.cluster;
      if (multi_node != MultiNodeNvlink::kOn) std::get<0>(key) = rank.host;
    }
    const auto [found, is_new] = numbers.emplace(key, domains.count);
    if (is_new) ++domains.count;
    domains.domain_of.push_back(found->second);
  }
  if (multi_node != MultiNodeNvlink::kUnknown) return domains;
  for (const auto& [key, candidate] : candidates) {
    if (candidate.hosts.size() < 2) continue;
    domains.asked.push_back(fmt::format(
        "whether NVLink joins the {} hosts {}: they report one fabric (cluster {}, clique {}), "
        "which hosts without NVLink between them do too; read as one domain per host",
        candidate.hosts.size(), fmt::join(candidate.hosts, ", "), candidate.cluster,
        std::get<2>(key)));
  }
  return domains;
}

std::int64_t degraded_nvlink_rate(std::int64_t rate, std::uint64_t links_up, int links) {
  TRANSLOAD_CHECK(links >= 1 && links <= 64, "a GPU has 1 to 64 links");
  const std::uint64_t exist = links == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << links) - 1;
  TRANSLOAD_CHECK((links_up & ~exist) == 0, "only links that exist can be up");
  return static_cast<std::int64_t>(static_cast<__int128>(rate) * std::popcount(links_up) / links);
}

}  // namespace transload
