// How a byte range of a demand class lies in a rank's memory: in one piece, or in how long runs.
//
// Decides whether a chunk is copied straight out of or into its tensor (zero copy), and at what
// rate a strided pack or unpack runs.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/demand/demand.h"
#include "planner/schedule/plan.h"

namespace transload {

struct RangeRuns {
  bool single = false;        // one contiguous run
  std::int64_t mean_run = 0;  // bytes
};

// Answers for one problem; keeps per class the offsets of its slices.
class ClassRuns {
 public:
  ClassRuns(const ReshardProblem& problem, const Demand& demand);
  RangeRuns on_rank(std::uint32_t demand_class, std::int64_t begin, std::int64_t bytes, Rank rank,
                    Side side) const;

 private:
  std::int64_t run_bytes(const DemandSlice& slice, Rank rank, Side side) const;

  const ReshardProblem& problem_;
  const Demand& demand_;
  std::vector<std::vector<std::int64_t>>
      slice_begin_;  // by class; one more entry: the class's bytes
};

}  // namespace transload
