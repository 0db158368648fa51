#include "executor/peers/tensor_states.h"

#include <algorithm>
#include <map>

#include "common/dtype.h"
#include "planner/schedule/access.h"

namespace transload {
namespace {

// Bytes of a slice in each of its tensors, which all have one shape and dtype.
std::uint64_t bytes_per_tensor(const Plan& plan, std::uint64_t slice) {
  const std::uint32_t tensor = plan.slice_tensor_first[slice];
  std::uint64_t elements = 1;
  const auto bounds = box_bounds(plan, plan.slice_box[slice], plan.tensor_dims[tensor]);
  for (std::size_t d = 0; d < bounds.size(); d += 2)
    elements *= static_cast<std::uint64_t>(bounds[d + 1] - bounds[d]);
  return elements *
         static_cast<std::uint64_t>(dtype_bits(static_cast<DType>(plan.tensor_dtype[tensor]))) / 8;
}

bool writes_destination(const Plan& plan, std::int32_t rank, OpId op) {
  return moves_bytes(plan, op) && plan.op_destination[op] == rank &&
         plan.op_destination_slot[op] < 0;
}

struct Writes {
  bool any = false;
  bool any_started = false;
  bool all_finished = true;
};

TensorState state_of(const Writes& writes) {
  if (!writes.any || writes.all_finished) return TensorState::kNew;
  return writes.any_started ? TensorState::kTorn : TensorState::kOld;
}

}  // namespace

std::string_view name_of(TensorState state) {
  switch (state) {
    case TensorState::kOld:
      return "old";
    case TensorState::kNew:
      return "new";
    case TensorState::kTorn:
      break;
  }
  return "torn";
}

void for_each_tensor(const Plan& plan, std::int32_t bundle, std::uint64_t begin,
                     std::uint64_t bytes, const std::function<void(std::uint32_t)>& visit) {
  const auto b = static_cast<std::size_t>(bundle);
  const std::uint64_t end = begin + bytes;
  std::uint64_t at = 0;
  for (std::uint64_t slice = plan.bundle_slice_first[b];
       slice < plan.bundle_slice_first[b + 1] && at < end; ++slice) {
    const std::uint64_t each = bytes_per_tensor(plan, slice);
    const std::uint64_t slice_end = at + each * plan.slice_tensor_count[slice];
    if (slice_end > begin && each > 0) {
      const std::uint64_t first = begin > at ? (begin - at) / each : 0;
      const std::uint64_t last = (std::min(end, slice_end) - at + each - 1) / each;
      for (std::uint64_t i = first; i < last; ++i)
        visit(plan.slice_tensor_first[slice] +
              static_cast<std::uint32_t>(i) * plan.slice_tensor_step[slice]);
    }
    at = slice_end;
  }
}

std::vector<TensorStateRow> tensor_states(const Plan& plan, std::int32_t rank,
                                          const OperationProgress& progress) {
  std::map<std::uint32_t, Writes> of;
  const auto r = static_cast<std::size_t>(rank);
  for (std::uint64_t row = plan.rank_shard_first[r]; row < plan.rank_shard_first[r + 1]; ++row)
    if (static_cast<Side>(plan.shard_side[row]) == Side::kDestination)
      for (std::uint32_t i = 0; i < plan.shard_tensor_count[row]; ++i)
        of[plan.shard_tensor_first[row] + i];
  for (const OpId op : program(plan, rank)) {
    if (!writes_destination(plan, rank, op)) continue;
    const bool started = progress.started(op);
    const bool finished = progress.finished(op);
    for_each_tensor(plan, plan.op_bundle[op], plan.op_begin[op], plan.op_bytes[op],
                    [&](std::uint32_t tensor) {
                      const auto found = of.find(tensor);
                      if (found == of.end()) return;  // a bucket brings more than the rank wants
                      found->second.any = true;
                      found->second.any_started |= started;
                      found->second.all_finished &= finished;
                    });
  }
  std::vector<TensorStateRow> rows;
  for (const auto& [tensor, writes] : of) rows.push_back({tensor, state_of(writes)});
  return rows;
}

TensorState rank_state(const std::vector<TensorStateRow>& rows) {
  if (rows.empty()) return TensorState::kNew;
  const TensorState first = rows.front().state;
  const bool alike = std::all_of(rows.begin(), rows.end(),
                                 [&](const TensorStateRow& row) { return row.state == first; });
  return alike ? first : TensorState::kTorn;
}

}  // namespace transload
