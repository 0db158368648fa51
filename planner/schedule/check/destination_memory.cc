#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "common/dtype.h"
#include "planner/schedule/check/checks.h"
#include "planner/schedule/check/memory_layout.h"
#include "planner/schedule/check/moved_boxes.h"

// Shard rows name ranges of equal buffers, and so do zero fills. As with tensors, buffers are cut
// where rows begin and end; between two cuts all buffers are used alike and one of them is looked
// at. Layouts seen before (the same views on another rank) are not looked at again.

namespace transload {
namespace {

// The part of a shard row that puts `tensors` tensors into each of buffers [begin, end); a fill,
// where there are none.
struct RowPart {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t row;  // of the shard table, or of the fill table
  std::uint64_t tensors;
  bool is_fill() const { return tensors == 0; }
};

class DestinationMemory {
 public:
  DestinationMemory(const Plan& plan, Findings& findings) : plan_(plan), findings_(findings) {}

  void check_rank(std::int32_t rank) {
    collect_parts(static_cast<std::size_t>(rank));
    collect_fills(static_cast<std::size_t>(rank));
    std::stable_sort(parts_.begin(), parts_.end(),
                     [](const RowPart& a, const RowPart& b) { return a.begin < b.begin; });
    std::vector<std::uint64_t> cuts;
    for (const RowPart& part : parts_) cuts.insert(cuts.end(), {part.begin, part.end});
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<RowPart> active;
    std::size_t next = 0;
    for (std::size_t i = 0; i + 1 < cuts.size() && !findings_.full(); ++i) {
      std::erase_if(active, [&](const RowPart& part) { return part.end <= cuts[i]; });
      for (; next < parts_.size() && parts_[next].begin <= cuts[i]; ++next)
        active.push_back(parts_[next]);
      if (!active.empty()) check_buffer(rank, cuts[i], active);
    }
  }

 private:
  void collect_parts(std::size_t rank) {
    parts_.clear();
    for (std::uint64_t row = plan_.rank_shard_first[rank]; row < plan_.rank_shard_first[rank + 1];
         ++row) {
      if (static_cast<Side>(plan_.shard_side[row]) != Side::kDestination) continue;
      const std::uint32_t tensor = plan_.shard_tensor_first[row];
      if (box_volume(box_bounds(plan_, plan_.shard_box[row], plan_.tensor_dims[tensor])) == 0)
        continue;
      const std::uint64_t inner = plan_.shard_inner_count[row];
      const std::uint64_t full = plan_.shard_tensor_count[row] / inner;
      const std::uint64_t rest = plan_.shard_tensor_count[row] % inner;
      const std::uint64_t buffer = plan_.shard_buffer[row];
      if (full > 0) parts_.push_back({buffer, buffer + full, row, inner});
      if (rest > 0) parts_.push_back({buffer + full, buffer + full + 1, row, rest});
    }
  }

  void collect_fills(std::size_t rank) {
    for (std::uint64_t row = plan_.rank_fill_first[rank]; row < plan_.rank_fill_first[rank + 1];
         ++row)
      parts_.push_back({plan_.fill_buffer[row],
                        std::uint64_t{plan_.fill_buffer[row]} + plan_.fill_buffer_count[row], row,
                        0});
  }

  MemoryLayout layout_of(const RowPart& part) const {
    if (part.is_fill()) return {plan_.fill_offset[part.row], plan_.fill_bytes[part.row], {}};
    const std::uint32_t tensor = plan_.shard_tensor_first[part.row];
    MemoryLayout layout;
    layout.offset = plan_.shard_bit_offset[part.row] / 8;
    layout.run =
        static_cast<std::uint64_t>(dtype_bits(static_cast<DType>(plan_.tensor_dtype[tensor])) / 8);
    layout.loops.push_back({part.tensors, plan_.shard_inner_bits[part.row] / 8});
    for (std::size_t l = 0; l < plan_.shard_loops[part.row]; ++l) {
      const std::size_t loop = plan_.shard_loop_first[part.row] + l;
      layout.loops.push_back({static_cast<std::uint64_t>(plan_.loop_length[loop]),
                              static_cast<std::uint64_t>(plan_.loop_stride_bits[loop]) / 8});
    }
    normalise(layout);
    return layout;
  }

  void check_buffer(std::int32_t rank, std::uint64_t buffer, std::span<const RowPart> active) {
    layouts_.clear();
    std::vector<std::uint64_t> fingerprint;
    for (const RowPart& part : active) {
      const MemoryLayout& layout = layouts_.emplace_back(layout_of(part));
      fingerprint.insert(fingerprint.end(), {layout.offset, layout.run, layout.loops.size()});
      for (const StrideLoop& loop : layout.loops)
        fingerprint.insert(fingerprint.end(), {loop.length, loop.stride});
    }
    if (seen_.contains(fingerprint)) return;
    const OverlapResult result = find_memory_overlap(layouts_);
    if (result.overlap == Overlap::kDisjoint) {
      seen_.insert(std::move(fingerprint));
      return;
    }
    const auto name = [&](std::size_t index) {
      const std::uint64_t row = active[index].row;
      if (active[index].is_fill())
        return fmt::format("the zero fill of bytes {}..{}", plan_.fill_offset[row],
                           plan_.fill_offset[row] + plan_.fill_bytes[row]);
      const std::uint32_t tensor = plan_.shard_tensor_first[row];
      return describe_box(plan_, tensor, plan_.shard_tensor_count[row],
                          box_bounds(plan_, plan_.shard_box[row], plan_.tensor_dims[tensor]));
    };
    std::string text =
        fmt::format("rank {}: destination buffer {}: {}", rank, buffer, name(result.first));
    if (result.overlap == Overlap::kUndecided)
      text +=
          fmt::format(" and {} are interleaved too finely to be told apart", name(result.second));
    else if (result.first == result.second)
      text += " puts two elements on one byte";
    else
      text += fmt::format(" and {} lie on the same bytes", name(result.second));
    findings_.add(kExactlyOnce, std::move(text));
  }

  const Plan& plan_;
  Findings& findings_;
  std::vector<RowPart> parts_;
  std::vector<MemoryLayout> layouts_;
  std::set<std::vector<std::uint64_t>> seen_;
};

}  // namespace

void check_destination_memory(const Plan& plan, Findings& findings) {
  DestinationMemory check(plan, findings);
  for (std::size_t rank = 0; rank < plan.ranks() && !findings.full(); ++rank)
    check.check_rank(static_cast<std::int32_t>(rank));
}

}  // namespace transload
