#include "executor/peers/state_check.h"

#include <fmt/format.h>

#include <map>

#include "common/dtype.h"
#include "executor/pattern.h"
#include "executor/poison.h"
#include "planner/schedule/access.h"
#include "planner/schedule/runs.h"

namespace transload {
namespace {

constexpr std::size_t kMostSentences = 20;

// Bytes of a tensor's elements that are not as a state says.
struct Content {
  std::uint64_t not_new = 0;
  std::uint64_t not_old = 0;
};

}  // namespace

std::vector<std::string> contradictions(const Plan& plan, const HostMemory& memory,
                                        std::int32_t rank,
                                        const std::vector<TensorStateRow>& rows) {
  std::map<std::uint32_t, Content> contents;
  const auto r = static_cast<std::size_t>(rank);
  for (std::uint64_t row = plan.rank_shard_first[r]; row < plan.rank_shard_first[r + 1]; ++row) {
    if (static_cast<Side>(plan.shard_side[row]) != Side::kDestination) continue;
    const auto bytes = static_cast<std::uint64_t>(dtype_bits(
                           static_cast<DType>(plan.tensor_dtype[plan.shard_tensor_first[row]]))) /
                       8;
    for_each_element_run(plan, row, rank, [&](const ElementRun& run) {
      const std::byte* at = memory.buffer(rank, run.buffer) + run.offset;
      const std::uint64_t seed = tensor_seed(tensor_name(plan, plan.tensor_source[run.tensor]));
      Content& content = contents[run.tensor];
      content.not_new += bytes * count_wrong_elements(at, seed, run.element, run.count, bytes);
      content.not_old +=
          count_not_poison({at, run.count * bytes}, buffer_poison(rank, run.buffer), run.offset);
    });
  }
  std::vector<std::string> found;
  for (const TensorStateRow& row : rows) {
    const Content& content = contents[row.tensor];
    const std::uint64_t wrong = row.state == TensorState::kNew   ? content.not_new
                                : row.state == TensorState::kOld ? content.not_old
                                                                 : 0;
    if (wrong > 0 && found.size() < kMostSentences)
      found.push_back(fmt::format("rank {}, tensor {}: said to be {}, but {} bytes are not", rank,
                                  tensor_name(plan, row.tensor), name_of(row.state), wrong));
  }
  return found;
}

}  // namespace transload
