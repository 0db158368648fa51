#include "planner/strategy/m2n/copy_runs.h"

#include <algorithm>

#include "common/check.h"
#include "planner/demand/transfers.h"

namespace transload {
namespace {

std::span<const std::uint32_t> members_in(const M2nTensor& tensor, const Box& box) {
  const std::span<const std::uint32_t> all = tensor.members;
  if (!tensor.stacked) return all;
  return all.subspan(static_cast<std::size_t>(box.lo(0)), static_cast<std::size_t>(box.extent(0)));
}

}  // namespace

Box member_box(const M2nTensor& tensor, const Box& box) {
  if (!tensor.stacked) return box;
  return Box{{box.bounds.begin() + 2, box.bounds.end()}};
}

std::uint32_t copy_run_bytes(const ReshardProblem& problem, const M2nTensor& tensor, const Box& box,
                             Rank rank, Side side) {
  const std::uint32_t member = members_in(tensor, box).front();
  const TensorGroup& group = problem.groups[group_of(problem, member)];
  const Layout& layout = problem.layouts[side == Side::kSource ? group.source : group.destination];
  const Box inner = member_box(tensor, box);
  auto shard = std::lower_bound(layout.shards.begin(), layout.shards.end(), rank,
                                [](const RankBox& its, Rank wanted) { return its.rank < wanted; });
  while (shard != layout.shards.end() && shard->rank == rank && !contains(shard->box, inner))
    ++shard;
  TRANSLOAD_CHECK(shard != layout.shards.end() && shard->rank == rank,
                  "a rank of the mesh holds its shard in one box");
  const std::int64_t run = contiguous_run(layout, *shard, inner, dtype_bits(group.dtype));
  if (run == volume(inner)) return 0;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(run * tensor.element_bytes, UINT32_MAX));
}

std::vector<SliceSpec> slices_of(PlanBuilder& builder, const M2nTensor& tensor, const Box& box) {
  const std::uint64_t at = builder.add_box(member_box(tensor, box).bounds);
  std::vector<SliceSpec> slices;
  for (const std::uint32_t member : members_in(tensor, box)) {
    if (!slices.empty()) {
      SliceSpec& last = slices.back();
      const std::uint32_t end = last.tensor_first + last.tensor_count * last.tensor_step;
      if (last.tensor_count == 1 && member > last.tensor_first) {
        last.tensor_step = member - last.tensor_first;
        last.tensor_count = 2;
        continue;
      }
      if (last.tensor_count > 1 && member == end) {
        ++last.tensor_count;
        continue;
      }
    }
    slices.push_back({member, 1, 1, at});
  }
  return slices;
}

}  // namespace transload
