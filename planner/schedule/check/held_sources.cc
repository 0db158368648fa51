#include <fmt/format.h>

#include "planner/schedule/check/checks.h"
#include "planner/schedule/check/moved_boxes.h"

namespace transload {
namespace {

class HeldSources {
 public:
  HeldSources(const Plan& plan, Findings& findings) : plan_(plan), findings_(findings) {}

  // On the destination side only what converts read that work on what has arrived.
  void check_rank(std::int32_t rank, Side side) {
    ranges_.clear();
    for (const OpId op : program(plan_, rank))
      if (moves_bytes(plan_, op) && plan_.op_source[op] == rank && plan_.op_source_slot[op] < 0 &&
          plan_.op_bytes[op] > 0 && reads_arrived(plan_, op) == (side == Side::kDestination))
        ranges_.push_back({plan_.op_bundle[op], plan_.op_begin[op],
                           plan_.op_begin[op] + plan_.op_bytes[op], op, false});
    if (ranges_.empty()) return;
    sort_ranges(ranges_);
    items_.clear();
    parts_.clear();
    add_shard_items(plan_, rank, side, items_);
    add_reads();
    if (side == Side::kSource) name_slices_by_source(plan_, items_);
    sweep_tensors(items_, [&](std::uint32_t tensor, std::uint64_t tensors,
                              std::span<const std::uint32_t> active) {
      if (!findings_.full()) check_tensors(rank, side, tensor, tensors, active);
    });
  }

 private:
  // A bundle that goes to many destinations is read many times: overlapping ranges become one.
  void add_reads() {
    for (std::size_t i = 0; i < ranges_.size();) {
      BundleRange merged = ranges_[i];
      const std::size_t first = items_.size();
      for (++i;
           i < ranges_.size() && ranges_[i].bundle == merged.bundle &&
           is_convert(ranges_[i].op) == is_convert(merged.op) && ranges_[i].begin <= merged.end;
           ++i)
        merged.end = std::max(merged.end, ranges_[i].end);
      if (merged.begin == 0 &&
          merged.end == plan_.bundle_bytes[static_cast<std::size_t>(merged.bundle)])
        add_bundle_items(plan_, merged.bundle, merged.op, items_);
      else
        add_range_items(plan_, merged.bundle, merged.begin, merged.end, merged.op, items_, parts_);
      if (!is_convert(merged.op)) continue;
      std::vector<SweepItem> made(items_.begin() + static_cast<std::ptrdiff_t>(first),
                                  items_.end());
      items_.resize(first);
      name_slices_by_origin(plan_, made, parts_);
      items_.insert(items_.end(), made.begin(), made.end());
    }
  }

  bool is_convert(OpId op) const { return op_kind(plan_, op) == OpKind::kConvert; }

  void check_tensors(std::int32_t rank, Side side, std::uint32_t tensor, std::uint64_t tensors,
                     std::span<const std::uint32_t> active) {
    held_.clear();
    for (const std::uint32_t index : active)
      if (items_[index].wanted) held_.push_back(items_[index].box);
    for (const std::uint32_t index : active) {
      if (items_[index].wanted || box_covered(items_[index].box, held_)) continue;
      findings_.add(kExactlyOnce,
                    fmt::format("{} reads {}, which rank {} does not hold on its {} side",
                                describe_op(plan_, items_[index].tag),
                                describe_box(plan_, tensor, tensors, items_[index].box), rank,
                                side == Side::kSource ? "source" : "destination"));
      return;
    }
  }

  const Plan& plan_;
  Findings& findings_;
  std::vector<BundleRange> ranges_;
  std::vector<SweepItem> items_;
  std::deque<OwnedBounds> parts_;
  std::vector<Bounds> held_;
};

}  // namespace

void check_held_sources(const Plan& plan, Findings& findings) {
  HeldSources check(plan, findings);
  for (std::size_t rank = 0; rank < plan.ranks() && !findings.full(); ++rank)
    for (const Side side : {Side::kSource, Side::kDestination})
      check.check_rank(static_cast<std::int32_t>(rank), side);
}

}  // namespace transload
