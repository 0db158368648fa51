#include "topologies/node_segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/error.h"

namespace transload {
namespace {

using Indices = std::vector<std::int32_t>;

// Nodes by domain, domains in the order of their first nodes; unknown ones stand apart.
struct ByDomain {
  std::vector<Indices> known;
  Indices unknown;
};

ByDomain by_domain(const std::vector<NodeInDomain>& nodes) {
  ByDomain sorted;
  std::map<std::string, std::size_t> position;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    if (nodes[i].domain.empty()) {
      sorted.unknown.push_back(index);
      continue;
    }
    const auto [found, is_new] = position.emplace(nodes[i].domain, sorted.known.size());
    if (is_new) sorted.known.emplace_back();
    sorted.known[found->second].push_back(index);
  }
  return sorted;
}

std::string describe_segment(const std::vector<NodeInDomain>& nodes, const Indices& chosen,
                             std::size_t begin) {
  std::set<std::string> domains;
  std::int64_t unknown = 0;
  for (std::size_t i = begin; i < chosen.size(); ++i) {
    const NodeInDomain& node = nodes[static_cast<std::size_t>(chosen[i])];
    if (node.domain.empty())
      ++unknown;
    else
      domains.insert(node.domain);
  }
  return fmt::format(
      "the segment that begins with {} is not known to lie in one NVLink domain: {} domain{}, {} "
      "node{} of unknown domain",
      nodes[static_cast<std::size_t>(chosen[begin])].name, domains.size(),
      domains.size() == 1 ? "" : "s", unknown, unknown == 1 ? "" : "s");
}

}  // namespace

ChosenNodes choose_segments(const std::vector<NodeInDomain>& nodes, std::int64_t segment,
                            std::int64_t count) {
  if (segment < 1 || count < 1 || count % segment != 0)
    throw InputError({"", 0, "segment"},
                     fmt::format("{} nodes in segments of {}: expected a multiple, both at least 1",
                                 count, segment));
  if (count > static_cast<std::int64_t>(nodes.size()))
    throw InputError({"", 0, "nodes"},
                     fmt::format("{} nodes are wanted, and there are {}", count, nodes.size()));
  const ByDomain sorted = by_domain(nodes);
  ChosenNodes chosen;
  const auto missing = [&] { return count - static_cast<std::int64_t>(chosen.nodes.size()); };
  Indices rest;
  for (const Indices& domain : sorted.known) {
    const std::int64_t whole =
        std::min(static_cast<std::int64_t>(domain.size()), missing()) / segment;
    const auto end = domain.begin() + whole * segment;
    chosen.nodes.insert(chosen.nodes.end(), domain.begin(), end);
    chosen.whole_segments += whole;
    rest.insert(rest.end(), end, domain.end());
  }
  rest.insert(rest.end(), sorted.unknown.begin(), sorted.unknown.end());
  for (std::size_t i = 0; missing() > 0; i += static_cast<std::size_t>(segment)) {
    const std::size_t begin = chosen.nodes.size();
    const auto first = rest.begin() + static_cast<std::ptrdiff_t>(i);
    chosen.nodes.insert(chosen.nodes.end(), first, first + segment);
    chosen.warnings.push_back(describe_segment(nodes, chosen.nodes, begin));
  }
  return chosen;
}

}  // namespace transload
