#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "planner/schedule/check/checks.h"
#include "planner/schedule/check/finished_before.h"

// Each slot is replayed by its accesses in key order. `Stretch` remembers, for bytes of the slot,
// who wrote them last and who has read them since. A chunk slot is one stretch; a bucket slot is
// cut where writers and readers begin and end.
//
// Conflicting accesses of a byte are then ordered by edges in every run: a reader has its writer
// among its own predecessors, and a writer comes after all readers of what it overwrites (or after
// the writer, if nobody read it). So the order by key, in which the replay is right, is the order
// of every run.
//
// A bucket slot holds one bundle after the other. Where every writer of a bundle waits for
// everybody who used the slot for the bundle before, all earlier bundles are ordered by induction,
// however long ago a byte was last touched; only accesses for the same bundle are left to compare.

namespace transload {
namespace {

constexpr std::uint64_t kWholeSlot = std::numeric_limits<std::uint64_t>::max();

struct Access {
  std::int32_t slot;
  OpId op;
  bool writes;
};

struct Stretch {
  std::uint64_t begin;
  std::uint64_t end;
  OpId writer;
  std::vector<OpId> readers;
};

class SlotReplay {
 public:
  SlotReplay(const Plan& plan, Findings& findings)
      : plan_(plan), findings_(findings), finished_before_(plan) {}

  void begin_slot(std::int32_t rank, std::int32_t slot) {
    rank_ = rank;
    slot_ = slot;
    bucket_ = slot_class_of(plan_, rank, slot) == SlotClass::kBucket;
    stretches_.clear();
    generation_ = {};
    previous_ = {};
  }

  void read(OpId op) {
    // A convert reads another bundle than it writes, and that whole.
    const bool converts = plan_.op_read_bundle[op] >= 0;
    const std::int32_t bundle = converts ? plan_.op_read_bundle[op] : plan_.op_bundle[op];
    enter_generation(op, bundle);
    const auto [begin, end] =
        converts && bucket_
            ? std::pair(std::uint64_t{0}, plan_.bundle_bytes[static_cast<std::size_t>(bundle)])
            : range_of(op);
    split(begin);
    split(end);
    std::uint64_t at = begin;
    bool told = false;
    for (Stretch& stretch : stretches_) {
      if (stretch.end <= begin || stretch.begin >= end) continue;
      if (stretch.begin > at) break;
      at = stretch.end;
      // A wrong reader is a reader all the same: what overwrites it must wait.
      stretch.readers.push_back(op);
      if (told) continue;
      if (!holds_what_is_read(op, stretch.writer)) {
        told = true;
      } else if (!waits_for(op, stretch.writer)) {
        told = true;
        findings_.add(kExactlyOnce, fmt::format("{} reads {} but has no edge from its writer {}",
                                                describe_op(plan_, op), place(),
                                                describe_op(plan_, stretch.writer)));
      }
    }
    if (at < end && !told)
      findings_.add(kExactlyOnce,
                    fmt::format("{} reads {} before it is written", describe_op(plan_, op),
                                bucket_ ? fmt::format("{} at byte {}", place(), at) : place()));
  }

  void write(OpId op) {
    enter_generation(op, plan_.op_bundle[op]);
    const bool follows = follows_previous_generation(op);
    generation_.ordered &= follows;
    const auto [begin, end] = range_of(op);
    split(begin);
    split(end);
    before_.clear();
    for (const Stretch& stretch : stretches_) {
      if (stretch.end <= begin || stretch.begin >= end) continue;
      if (follows && plan_.op_bundle[stretch.writer] != plan_.op_bundle[op]) continue;
      if (!stretch.readers.empty()) {
        before_.insert(before_.end(), stretch.readers.begin(), stretch.readers.end());
      } else if (bucket_) {
        before_.push_back(stretch.writer);
      } else {
        findings_.add(kStaging, fmt::format("{} writes {} again before anybody read what {} wrote",
                                            describe_op(plan_, op), place(),
                                            describe_op(plan_, stretch.writer)));
      }
    }
    const OpId unordered = finished_before_.first_unordered(op, before_);
    if (unordered != op)
      findings_.add(kStaging,
                    fmt::format("{} writes {} without waiting for {}", describe_op(plan_, op),
                                place(), describe_op(plan_, unordered)));
    std::erase_if(stretches_, [&, from = begin, to = end](const Stretch& stretch) {
      return stretch.end > from && stretch.begin < to;
    });
    const auto at = std::find_if(stretches_.begin(), stretches_.end(),
                                 [from = begin](const Stretch& s) { return s.begin >= from; });
    stretches_.insert(at, {begin, end, op, {}});
  }

 private:
  // The users of a bucket slot for one bundle.
  struct Generation {
    std::int32_t bundle = -1;
    bool ordered = true;  // all its writers follow the generation before, which is ordered itself
    std::vector<OpId> users;
  };

  void enter_generation(OpId op, std::int32_t bundle) {
    if (!bucket_) return;
    if (generation_.bundle != bundle) {
      previous_ = std::move(generation_);
      generation_ = {bundle, true, {}};
    }
    generation_.users.push_back(op);
  }

  bool follows_previous_generation(OpId op) {
    return bucket_ && previous_.ordered &&
           finished_before_.first_unordered(op, previous_.users) == op;
  }

  std::pair<std::uint64_t, std::uint64_t> range_of(OpId op) const {
    if (!bucket_) return {0, kWholeSlot};
    return {plan_.op_begin[op], plan_.op_begin[op] + plan_.op_bytes[op]};
  }

  // Cuts the stretch that has `at` inside.
  void split(std::uint64_t at) {
    for (std::size_t i = 0; i < stretches_.size(); ++i) {
      if (stretches_[i].begin >= at || at >= stretches_[i].end) continue;
      Stretch upper = stretches_[i];
      upper.begin = at;
      stretches_[i].end = at;
      stretches_.insert(stretches_.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(upper));
      return;
    }
  }

  bool holds_what_is_read(OpId op, OpId writer) {
    const std::int32_t whole = plan_.op_read_bundle[op];
    const std::int32_t bundle = whole >= 0 ? whole : plan_.op_bundle[op];
    const bool same_bundle = plan_.op_bundle[writer] == bundle;
    const std::uint64_t begin = whole >= 0 ? 0 : plan_.op_begin[op];
    const std::uint64_t bytes =
        whole >= 0 ? plan_.bundle_bytes[static_cast<std::size_t>(whole)] : plan_.op_bytes[op];
    const bool same_range =
        bucket_ || (plan_.op_begin[writer] == begin && plan_.op_bytes[writer] == bytes);
    if (same_bundle && same_range) return true;
    findings_.add(kExactlyOnce,
                  fmt::format("{} reads {}, which holds what {} wrote", describe_op(plan_, op),
                              place(), describe_op(plan_, writer)));
    return false;
  }

  bool waits_for(OpId op, OpId writer) const {
    const auto has = [writer](std::span<const OpId> edges) {
      return std::find(edges.begin(), edges.end(), writer) != edges.end();
    };
    return has(op_after(plan_, op)) || (plan_.op_collective[op] >= 0 && has(op_stream(plan_, op)));
  }

  std::string place() const {
    return fmt::format("{} slot {} of rank {}", bucket_ ? "bucket" : "chunk", slot_, rank_);
  }

  const Plan& plan_;
  Findings& findings_;
  FinishedBefore finished_before_;
  std::int32_t rank_ = 0;
  std::int32_t slot_ = 0;
  bool bucket_ = false;
  std::vector<Stretch> stretches_;
  Generation generation_;
  Generation previous_;
  std::vector<OpId> before_;
};

void collect(const Plan& plan, std::int32_t rank, std::vector<Access>& accesses,
             Findings& findings) {
  accesses.clear();
  for (const OpId op : program(plan, rank)) {
    // Operations without bytes (an empty delta) touch nothing.
    if (!moves_bytes(plan, op) || plan.op_bytes[op] == 0) continue;
    const bool reads = plan.op_source[op] == rank && plan.op_source_slot[op] >= 0;
    const bool writes = plan.op_destination[op] == rank && plan.op_destination_slot[op] >= 0;
    if (reads && writes && plan.op_source_slot[op] == plan.op_destination_slot[op])
      findings.add(kStaging, fmt::format("{} reads and writes slot {} of rank {}",
                                         describe_op(plan, op), plan.op_source_slot[op], rank));
    if (reads) accesses.push_back({plan.op_source_slot[op], op, false});
    if (writes) accesses.push_back({plan.op_destination_slot[op], op, true});
  }
  std::sort(accesses.begin(), accesses.end(), [](const Access& a, const Access& b) {
    return std::tuple(a.slot, a.op, a.writes) < std::tuple(b.slot, b.op, b.writes);
  });
}

}  // namespace

void check_slots(const Plan& plan, Findings& findings) {
  SlotReplay replay(plan, findings);
  std::vector<Access> accesses;
  for (std::size_t rank = 0; rank < plan.ranks() && !findings.full(); ++rank) {
    const auto r = static_cast<std::int32_t>(rank);
    collect(plan, r, accesses, findings);
    for (std::size_t i = 0; i < accesses.size() && !findings.full(); ++i) {
      const Access& access = accesses[i];
      if (i == 0 || accesses[i - 1].slot != access.slot) replay.begin_slot(r, access.slot);
      if (access.writes)
        replay.write(access.op);
      else
        replay.read(access.op);
    }
  }
}

}  // namespace transload
