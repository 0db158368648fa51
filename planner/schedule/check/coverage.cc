#include <fmt/format.h>

#include <algorithm>

#include "planner/schedule/check/checks.h"
#include "planner/schedule/check/moved_boxes.h"

// First the bytes of each bundle, then its boxes. A bundle reaches a rank wholly or not at all, in
// ranges that tile its packed order; so what arrives at a rank is a set of whole slices. They must
// be disjoint where they meet a destination shard and have, inside each shard, as many elements as
// the shard; then each element of the shard is written once. Slices may lie outside the shards only
// where they are clipped (unpacked from a broadcast bucket).

namespace transload {
namespace {

class Coverage {
 public:
  Coverage(const Plan& plan, Findings& findings) : plan_(plan), findings_(findings) {}

  void check_rank(std::int32_t rank) {
    rank_ = rank;
    collect_writes();
    items_.clear();
    add_shard_items(plan_, rank, Side::kDestination, items_);
    check_tiling();
    sweep_tensors(items_, [&](std::uint32_t tensor, std::uint64_t tensors,
                              std::span<const std::uint32_t> active) {
      if (!findings_.full()) check_tensors(tensor, tensors, active);
    });
  }

 private:
  void collect_writes() {
    writes_.clear();
    for (const OpId op : program(plan_, rank_))
      if (moves_bytes(plan_, op) && plan_.op_destination[op] == rank_ &&
          plan_.op_destination_slot[op] < 0 && plan_.op_bytes[op] > 0)
        writes_.push_back({plan_.op_bundle[op], plan_.op_begin[op],
                           plan_.op_begin[op] + plan_.op_bytes[op], op, is_clipped(plan_, op)});
    sort_ranges(writes_);
  }

  // Ranges of one bundle stand together; adds its slices as items, tagged by its first range.
  void check_tiling() {
    for (std::size_t i = 0; i < writes_.size();) {
      const std::size_t first = i;
      const std::int32_t bundle = writes_[first].bundle;
      std::uint64_t at = 0;
      for (; i < writes_.size() && writes_[i].bundle == bundle; ++i) {
        const BundleRange& write = writes_[i];
        if (write.begin < at)
          findings_.add(
              kExactlyOnce,
              fmt::format("rank {}: {} writes bytes {}..{} of bundle {} again, after {}", rank_,
                          describe_op(plan_, write.op), write.begin, std::min(at, write.end),
                          bundle, describe_op(plan_, writes_[i - 1].op)));
        if (write.begin > at) report_gap(bundle, at, write.begin, write.op);
        at = std::max(at, write.end);
        // One strict range makes the whole bundle strict.
        writes_[first].clipped = writes_[first].clipped && write.clipped;
      }
      const std::uint64_t bytes = plan_.bundle_bytes[static_cast<std::size_t>(bundle)];
      if (at < bytes) report_gap(bundle, at, bytes, writes_[i - 1].op);
      add_bundle_items(plan_, bundle, static_cast<std::uint32_t>(first), items_);
    }
  }

  void report_gap(std::int32_t bundle, std::uint64_t begin, std::uint64_t end, OpId near) {
    findings_.add(kExactlyOnce,
                  fmt::format("rank {}: bytes {}..{} of bundle {} are written by no operation (the "
                              "bundle's nearest there is {})",
                              rank_, begin, end, bundle, describe_op(plan_, near)));
  }

  void check_tensors(std::uint32_t tensor, std::uint64_t tensors,
                     std::span<const std::uint32_t> active) {
    shards_.clear();
    slices_.clear();
    slice_tags_.clear();
    for (const std::uint32_t index : active) {
      const SweepItem& item = items_[index];
      if (item.wanted) {
        shards_.push_back(item.box);
      } else {
        slices_.push_back(item.box);
        slice_tags_.push_back(item.tag);
      }
    }
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      if (writes_[slice_tags_[i]].clipped || box_covered(slices_[i], shards_)) continue;
      findings_.add(
          kExactlyOnce,
          fmt::format("{} writes {}, which lies outside the destination shards of rank {}",
                      describe_op(plan_, writes_[slice_tags_[i]].op),
                      describe_box(plan_, tensor, tensors, slices_[i]), rank_));
      return;
    }
    for (const Bounds shard : shards_)
      if (!check_shard(tensor, tensors, shard)) return;
  }

  bool check_shard(std::uint32_t tensor, std::uint64_t tensors, Bounds shard) {
    inside_.clear();
    inside_tags_.clear();
    parts_.clear();
    __int128 filled = 0;
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      if (!boxes_intersect(slices_[i], shard)) continue;
      Bounds part = slices_[i];
      if (!box_contains(shard, part)) part = parts_.emplace_back(box_intersection(part, shard));
      inside_.push_back(part);
      inside_tags_.push_back(slice_tags_[i]);
      filled += box_volume(part);
    }
    const BoxPair twice = find_overlap(inside_);
    if (twice.first >= 0) {
      const auto a = static_cast<std::size_t>(twice.first);
      const auto b = static_cast<std::size_t>(twice.second);
      findings_.add(kExactlyOnce,
                    fmt::format("rank {}: {} is written twice, by {} and by {}", rank_,
                                describe_box(plan_, tensor, tensors,
                                             box_intersection(inside_[a], inside_[b])),
                                describe_op(plan_, writes_[inside_tags_[a]].op),
                                describe_op(plan_, writes_[inside_tags_[b]].op)));
      return false;
    }
    const __int128 wanted = box_volume(shard);
    if (filled == wanted) return true;
    findings_.add(
        kExactlyOnce,
        fmt::format("rank {}: {} of {} elements of destination shard {} are written by no "
                    "operation",
                    rank_, static_cast<std::uint64_t>(wanted - filled),
                    static_cast<std::uint64_t>(wanted),
                    describe_box(plan_, tensor, tensors, shard)));
    return false;
  }

  const Plan& plan_;
  Findings& findings_;
  std::int32_t rank_ = 0;
  std::vector<BundleRange> writes_;
  std::vector<SweepItem> items_;
  std::vector<Bounds> shards_;
  std::vector<Bounds> slices_;
  std::vector<std::uint32_t> slice_tags_;
  std::vector<Bounds> inside_;
  std::vector<std::uint32_t> inside_tags_;
  std::deque<OwnedBounds> parts_;
};

}  // namespace

void check_coverage(const Plan& plan, Findings& findings) {
  Coverage check(plan, findings);
  for (std::size_t rank = 0; rank < plan.ranks() && !findings.full(); ++rank)
    check.check_rank(static_cast<std::int32_t>(rank));
}

}  // namespace transload
