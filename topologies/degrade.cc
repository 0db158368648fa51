#include "topologies/degrade.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "common/check.h"
#include "common/error.h"
#include "common/yaml.h"

namespace transload {
namespace {

std::int64_t parse_share(const std::string& word, const std::string& what) {
  if (word == "down") return 0;
  if (word == "half") return kPpm / 2;
  try {
    const double share = YamlValue::from_text(word, what).number();
    const auto ppm = static_cast<std::int64_t>(std::llround(share * kPpm));
    if (share > 0 && share < 1 && ppm > 0) return ppm;
  } catch (const InputError&) {
  }
  throw InputError(
      fmt::format("{}: expected down, half, or the share of the rate that is left, above 0 and "
                  "below 1; found {}",
                  what, word.empty() ? "nothing" : word));
}

NicFault parse_fault(const std::string& text, const std::string& what) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw InputError(
        fmt::format("{}: expected NODE:NIC=STATE, such as node3:nic2=down, found {}", what, text));
  std::string nic = text.substr(0, equals);
  if (const std::size_t colon = nic.find(':'); colon != std::string::npos) nic[colon] = '.';
  return {nic, parse_share(text.substr(equals + 1), what)};
}

class Degrader {
 public:
  explicit Degrader(Topology& topology) : topology_(topology) {
    for (std::size_t i = 0; i < topology.nics.size(); ++i)
      number_of_[topology.nics[i].name] = static_cast<std::int32_t>(i);
  }

  void apply(const NicFault& fault) {
    Nic& nic = topology_.nics[static_cast<std::size_t>(find(fault.nic))];
    if (fault.share_ppm == 0)
      down_.insert(number_of_[fault.nic]);
    else
      nic.rate = std::max<std::int64_t>(1, achieved_rate(nic.rate, fault.share_ppm));
  }

  std::vector<std::string> reroute() {
    std::vector<std::int32_t> stranded;
    for (std::size_t gpu = 0; gpu < topology_.gpus.size(); ++gpu) {
      std::vector<std::int32_t>& nics = topology_.gpus[gpu].nics;
      const std::size_t before = nics.size();
      std::erase_if(nics, [&](std::int32_t nic) { return down_.contains(nic); });
      if (before > 0 && nics.empty()) stranded.push_back(static_cast<std::int32_t>(gpu));
    }
    // Found for all before any of them has NICs again.
    std::vector<std::int32_t> helpers;
    for (const std::int32_t gpu : stranded) helpers.push_back(nearest_with_nics(gpu));
    std::vector<std::string> notes;
    for (std::size_t i = 0; i < stranded.size(); ++i) {
      Gpu& gpu = topology_.gpus[static_cast<std::size_t>(stranded[i])];
      gpu.nics = topology_.gpus[static_cast<std::size_t>(helpers[i])].nics;
      notes.push_back(fmt::format("GPU {} shares {} with GPU {}: its own NIC is down", stranded[i],
                                  topology_.nics[static_cast<std::size_t>(gpu.nics[0])].name,
                                  helpers[i]));
    }
    return notes;
  }

 private:
  std::int32_t find(const std::string& name) const {
    const auto found = number_of_.find(name);
    if (found != number_of_.end()) return found->second;
    std::vector<std::string_view> names;
    for (const auto& [known, number] : number_of_) names.push_back(known);
    const auto near = nearest_word(name, names);
    throw InputError(fmt::format("no NIC {} in topology {}{}", name, topology_.name,
                                 near ? fmt::format(" (did you mean {}?)", *near) : ""));
  }

  std::int32_t nearest_with_nics(std::int32_t stranded) const {
    const Gpu& gpu = topology_.gpus[static_cast<std::size_t>(stranded)];
    const Node& node = topology_.nodes[static_cast<std::size_t>(gpu.node)];
    std::int32_t best = -1;
    const auto distance = [&](std::int32_t other) {
      const bool same = topology_.gpus[static_cast<std::size_t>(other)].numa == gpu.numa;
      return std::pair(!same, std::abs(other - stranded));
    };
    for (std::int32_t other = node.first_gpu; other < node.first_gpu + node.gpu_count; ++other)
      if (!topology_.gpus[static_cast<std::size_t>(other)].nics.empty() &&
          (best < 0 || distance(other) < distance(best)))
        best = other;
    if (best < 0)
      throw InputError(fmt::format("{} has no NIC left: its GPUs cannot be reached", node.name));
    return best;
  }

  Topology& topology_;
  std::map<std::string, std::int32_t> number_of_;
  std::set<std::int32_t> down_;
};

}  // namespace

std::vector<NicFault> parse_nic_faults(const std::string& text, const std::string& what) {
  std::vector<NicFault> faults;
  std::set<std::string> named;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    faults.push_back(parse_fault(text.substr(begin, end - begin), what));
    if (!named.insert(faults.back().nic).second)
      throw InputError(fmt::format("{}: {} stands twice in the list", what, faults.back().nic));
    begin = end + 1;
  }
  return faults;
}

std::vector<std::string> apply_faults(const std::vector<NicFault>& faults, Topology& topology) {
  Degrader degrader(topology);
  for (const NicFault& fault : faults) degrader.apply(fault);
  return degrader.reroute();
}

void take_background(double share, Topology& topology) {
  TRANSLOAD_CHECK(share >= 0 && share < 1, "a share of what there is");
  const std::int64_t left = kPpm - std::llround(share * kPpm);
  // NVLinks may share the NICs' row: theirs stays as it is.
  std::map<std::int32_t, std::int32_t> row_of;
  for (Nic& nic : topology.nics) {
    const auto [entry, added] =
        row_of.try_emplace(nic.costs, static_cast<std::int32_t>(topology.link_costs.size()));
    if (added) {
      LinkCosts costs = nic_costs(topology, nic);
      costs.efficiency_ppm = std::max<std::int64_t>(1, costs.efficiency_ppm * left / kPpm);
      topology.link_costs.push_back(std::move(costs));
    }
    nic.costs = entry->second;
  }
}

}  // namespace transload
