#include "planner/job/restrict.h"

#include <algorithm>
#include <map>

namespace transload {
namespace {

class Restriction {
 public:
  Restriction(const Job& job, std::span<const Rank> ranks) : job_(job), ranks_(ranks) {}

  Job make() {
    ReshardProblem& problem = job_.problem;
    for (TensorGroup& group : problem.groups) group.destination = restricted(group.destination);
    std::erase_if(problem.destination_ranks, [this](Rank rank) { return !keeps(rank); });
    return std::move(job_);
  }

 private:
  bool keeps(Rank rank) const { return std::binary_search(ranks_.begin(), ranks_.end(), rank); }

  // A layout may serve both sides, so the restricted one is added beside it.
  std::uint32_t restricted(std::uint32_t layout) {
    std::vector<Layout>& layouts = job_.problem.layouts;
    const auto [entry, added] =
        layout_of_.try_emplace(layout, static_cast<std::uint32_t>(layouts.size()));
    if (!added) return entry->second;
    Layout copy = layouts[layout];
    std::erase_if(copy.shards, [this](const RankBox& shard) { return !keeps(shard.rank); });
    std::erase_if(copy.storage,
                  [this](const RankStorage& storage) { return !keeps(storage.rank); });
    for (std::uint32_t& cell : copy.cells) cell = restricted_set(cell);
    layouts.push_back(std::move(copy));
    return entry->second;
  }

  std::uint32_t restricted_set(std::uint32_t set) {
    const auto found = set_of_.find(set);
    if (found != set_of_.end()) return found->second;
    std::vector<Rank> kept;
    for (const Rank rank : job_.problem.sets.of(set))
      if (keeps(rank)) kept.push_back(rank);
    return set_of_[set] = job_.problem.sets.intern(std::move(kept));
  }

  Job job_;
  std::span<const Rank> ranks_;
  std::map<std::uint32_t, std::uint32_t> layout_of_;
  std::map<std::uint32_t, std::uint32_t> set_of_;
};

}  // namespace

Job only_destinations(const Job& job, std::span<const Rank> ranks) {
  return Restriction(job, ranks).make();
}

}  // namespace transload
