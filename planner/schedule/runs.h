// From bundles and byte ranges to addresses: the one library by which executor, checker and
// renderer find bytes on a rank. Nobody expands a whole plan; runs are derived operation by
// operation.
#pragma once

#include <cstdint>
#include <functional>

#include "planner/schedule/plan_file.h"

namespace transload {

// `bytes` contiguous bytes at packed position `packed` of a bundle, lying on the rank in buffer
// `buffer` (rank-local number) from byte `offset`.
struct Run {
  std::uint64_t packed = 0;
  std::uint32_t buffer = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// What to do with elements that the rank does not hold on that side.
enum class Missing : std::uint8_t {
  kFail,  // throws InputError naming tensor and rank: the plan is wrong
  kSkip,  // leave them out (loading from a broadcast bucket)
};

// Visits the runs of bytes [begin, begin + bytes) of the bundle on `rank`'s `side`, in packed
// order; adjacent runs are merged. A byte held in several boxes of the rank is visited once per box
// on the destination side and once in all (the first box) on the source side, where another name of
// a tensor (tensor_source) is read from the tensor's own shards.
void for_each_run(const Plan& plan, std::int32_t bundle, std::uint64_t begin, std::uint64_t bytes,
                  std::int32_t rank, Side side, Missing missing,
                  const std::function<void(const Run&)>& visit);

// Number of runs (stops counting at `limit`).
std::uint64_t count_runs(const Plan& plan, std::int32_t bundle, std::uint64_t begin,
                         std::uint64_t bytes, std::int32_t rank, Side side, Missing missing,
                         std::uint64_t limit);

// Visits every element of a rank's shards of one side as contiguous stretches: elements
// [element, element + count) of the tensor's row-major global index lie in `buffer` from byte
// `offset`. For filling, verifying and digesting.
struct ElementRun {
  std::uint32_t tensor = 0;
  std::uint64_t element = 0;
  std::uint64_t count = 0;
  std::uint32_t buffer = 0;
  std::uint64_t offset = 0;
};
void for_each_element_run(const Plan& plan, std::uint64_t shard_row, std::int32_t rank,
                          const std::function<void(const ElementRun&)>& visit);

}  // namespace transload
