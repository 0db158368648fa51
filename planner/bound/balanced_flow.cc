#include "planner/bound/balanced_flow.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "common/check.h"
#include "planner/bound/capacity_flow.h"

namespace transload {
namespace {

// Demands that share no port, directly or through others, are independent problems.
std::vector<std::vector<std::size_t>> components(const std::vector<FlowDemand>& demands,
                                                 std::size_t ports) {
  std::vector<std::size_t> parent(ports);
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&](std::size_t p) {
    while (parent[p] != p) p = parent[p] = parent[parent[p]];
    return p;
  };
  for (const FlowDemand& demand : demands)
    for (const std::uint32_t p : demand.ports) parent[root(p)] = root(demand.ports[0]);
  std::map<std::size_t, std::vector<std::size_t>> found;
  for (std::size_t i = 0; i < demands.size(); ++i)
    if (demands[i].bytes > 0) found[root(demands[i].ports[0])].push_back(i);
  std::vector<std::vector<std::size_t>> result;
  for (auto& [port, members] : found) result.push_back(std::move(members));
  return result;
}

class Balancer {
 public:
  Balancer(const std::vector<FlowDemand>& demands, const std::vector<std::int64_t>& rates)
      : demands_(demands), rates_(rates), taken_(rates.size(), false), shares_(demands.size()) {
    for (std::size_t i = 0; i < demands.size(); ++i) shares_[i].assign(demands[i].ports.size(), 0);
  }

  std::vector<std::vector<std::int64_t>> balance() {
    for (std::vector<std::size_t>& members : components(demands_, rates_.size()))
      while (!members.empty()) peel(members);
    return std::move(shares_);
  }

 private:
  // Fixes the demands of the tight set and removes them; their ports are full.
  void peel(std::vector<std::size_t>& members) {
    // Ports of this component, numbered densely.
    std::map<std::uint32_t, std::uint32_t> dense;
    for (const std::size_t i : members)
      for (const std::uint32_t p : demands_[i].ports)
        if (!taken_[p]) dense.emplace(p, 0);
    std::vector<std::int64_t> rates;
    for (auto& [port, number] : dense) {
      number = static_cast<std::uint32_t>(rates.size());
      rates.push_back(rates_[port]);
    }
    std::vector<FlowDemand> left;
    for (const std::size_t i : members) {
      left.push_back({demands_[i].bytes, {}});
      for (const std::uint32_t p : demands_[i].ports)
        if (!taken_[p]) left.back().ports.push_back(dense.at(p));
    }
    const MinMaxCut cut = min_max_cut(left, rates);
    std::vector<std::size_t> tight;
    std::vector<std::size_t> rest;
    std::vector<FlowDemand> tight_demands;
    for (std::size_t k = 0; k < members.size(); ++k) {
      const bool inside = std::includes(cut.ports.begin(), cut.ports.end(), left[k].ports.begin(),
                                        left[k].ports.end());
      (inside ? tight : rest).push_back(members[k]);
      if (inside) tight_demands.push_back(std::move(left[k]));
    }
    fix(tight, tight_demands, cut, rates);
    for (const auto& [port, number] : dense)
      taken_[port] = taken_[port] || std::binary_search(cut.ports.begin(), cut.ports.end(), number);
    members = std::move(rest);
  }

  void fix(const std::vector<std::size_t>& tight, const std::vector<FlowDemand>& demands,
           const MinMaxCut& cut, const std::vector<std::int64_t>& rates) {
    std::vector<std::int64_t> capacity(rates.size(), 0);
    for (const std::uint32_t p : cut.ports) {
      const __int128 exact = static_cast<__int128>(cut.bytes) * rates[p];
      capacity[p] = static_cast<std::int64_t>((exact + cut.rate - 1) / cut.rate);
    }
    CapacityFlow flow(demands.size(), capacity);
    std::int64_t total = 0;
    for (std::size_t k = 0; k < demands.size(); ++k) {
      flow.add_supply(k, demands[k].bytes);
      total += demands[k].bytes;
      for (const std::uint32_t p : demands[k].ports) flow.add_edge(k, p);
    }
    TRANSLOAD_CHECK(flow.run() == total, "everything fits in the optimal time");
    std::size_t edge = 0;
    for (std::size_t k = 0; k < tight.size(); ++k)
      for (std::size_t j = 0; j < demands_[tight[k]].ports.size(); ++j)
        if (!taken_[demands_[tight[k]].ports[j]]) shares_[tight[k]][j] = flow.through(edge++);
  }

  const std::vector<FlowDemand>& demands_;
  const std::vector<std::int64_t>& rates_;
  std::vector<bool> taken_;  // by port: full with demands that are fixed
  std::vector<std::vector<std::int64_t>> shares_;
};

}  // namespace

std::vector<std::vector<std::int64_t>> balanced_flow(const std::vector<FlowDemand>& demands,
                                                     const std::vector<std::int64_t>& rates) {
  return Balancer(demands, rates).balance();
}

}  // namespace transload
