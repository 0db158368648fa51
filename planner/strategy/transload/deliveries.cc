#include "planner/strategy/transload/deliveries.h"

#include <algorithm>
#include <map>

namespace transload {
namespace {

// The ranks of a set, domain by domain. Thousands of classes share few sets.
class SetsByDomain {
 public:
  struct Part {
    std::int32_t domain;
    std::vector<Rank> ranks;
    std::uint32_t interned;
  };

  SetsByDomain(const ReshardProblem& problem, const Fabric& fabric, RankSets& sets)
      : problem_(problem), fabric_(fabric), sets_(sets), parts_(problem.sets.size()) {}

  const std::vector<Part>& of(std::uint32_t set) {
    std::vector<Part>& parts = parts_[set];
    if (parts.empty() && !problem_.sets.of(set).empty()) {
      std::map<std::int32_t, std::vector<Rank>> by_domain;
      for (Rank rank : problem_.sets.of(set))
        by_domain[fabric_.domain[static_cast<std::size_t>(rank)]].push_back(rank);
      for (auto& [domain, ranks] : by_domain) {
        const std::uint32_t interned = sets_.intern(ranks);
        parts.push_back({domain, std::move(ranks), interned});
      }
    }
    return parts;
  }

 private:
  const ReshardProblem& problem_;
  const Fabric& fabric_;
  RankSets& sets_;
  std::vector<std::vector<Part>> parts_;
};

}  // namespace

Deliveries make_deliveries(const ReshardProblem& problem, const Demand& demand,
                           const Fabric& fabric) {
  Deliveries result;
  SetsByDomain sets(problem, fabric, result.sets);
  for (std::uint32_t c = 0; c < demand.classes.size(); ++c) {
    result.class_first.push_back(result.network.size());
    const std::vector<SetsByDomain::Part>& held = sets.of(demand.classes[c].holders);
    for (const SetsByDomain::Part& wanted : sets.of(demand.classes[c].receivers)) {
      const auto near = std::find_if(
          held.begin(), held.end(), [&](const auto& part) { return part.domain == wanted.domain; });
      if (near == held.end()) {
        result.network.push_back({c, wanted.domain, wanted.interned});
        continue;
      }
      std::vector<Rank> others;
      for (Rank rank : wanted.ranks) {
        if (std::binary_search(near->ranks.begin(), near->ranks.end(), rank))
          result.locals.push_back({c, rank});
        else
          others.push_back(rank);
      }
      if (!others.empty())
        result.inside.push_back({c, near->interned, result.sets.intern(std::move(others))});
    }
  }
  result.class_first.push_back(result.network.size());
  return result;
}

}  // namespace transload
