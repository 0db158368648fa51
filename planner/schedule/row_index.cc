#include "planner/schedule/row_index.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace transload {

RowIndex::RowIndex(const Plan& plan, std::int32_t rank, Side side) : plan_(plan) {
  const auto r = static_cast<std::size_t>(rank);
  const std::uint64_t begin = plan.rank_shard_first[r];
  const auto sides = plan.shard_side.subspan(begin, plan.rank_shard_first[r + 1] - begin);
  const auto [from, to] =
      std::equal_range(sides.begin(), sides.end(), static_cast<std::uint8_t>(side));
  first_ = begin + static_cast<std::uint64_t>(from - sides.begin());
  reach_.resize(static_cast<std::size_t>(to - from));
  std::uint32_t reach = 0;
  for (std::size_t i = 0; i < reach_.size(); ++i) {
    reach = std::max(reach, end(first_ + i));
    reach_[i] = reach;
  }
}

void RowIndex::collect_holders(std::uint32_t tensor) {
  tensor_ = tensor;
  holders_.clear();
  const auto firsts = plan_.shard_tensor_first.subspan(first_, reach_.size());
  auto i = static_cast<std::size_t>(std::upper_bound(firsts.begin(), firsts.end(), tensor) -
                                    firsts.begin());
  while (i > 0 && reach_[i - 1] > tensor) {
    const std::uint64_t row = first_ + --i;
    if (end(row) <= tensor) continue;
    Holder holder{std::numeric_limits<std::int64_t>::min(),
                  std::numeric_limits<std::int64_t>::max(), 0, row};
    if (plan_.tensor_dims[tensor] > 0) {
      holder.low = plan_.bounds[plan_.shard_box[row]];
      holder.high = plan_.bounds[plan_.shard_box[row] + 1];
    }
    if (holder.low < holder.high) holders_.push_back(holder);
  }
  std::sort(holders_.begin(), holders_.end(), [](const Holder& a, const Holder& b) {
    return std::tie(a.low, a.row) < std::tie(b.low, b.row);
  });
  std::int64_t reach = std::numeric_limits<std::int64_t>::min();
  for (Holder& holder : holders_) {
    reach = std::max(reach, holder.high);
    holder.reach = reach;
  }
}

void RowIndex::find(std::uint32_t tensor, std::int64_t lower, std::int64_t upper,
                    std::vector<std::uint64_t>& rows) {
  if (tensor_ != tensor) collect_holders(tensor);
  rows.clear();
  auto i = static_cast<std::size_t>(
      std::partition_point(holders_.begin(), holders_.end(),
                           [&](const Holder& holder) { return holder.low < upper; }) -
      holders_.begin());
  for (; i > 0 && holders_[i - 1].reach > lower; --i)
    if (holders_[i - 1].high > lower) rows.push_back(holders_[i - 1].row);
  std::sort(rows.begin(), rows.end());
}

}  // namespace transload
