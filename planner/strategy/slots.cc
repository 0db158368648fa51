#include "planner/strategy/slots.h"

#include <algorithm>
#include <deque>

namespace transload {
namespace {

// The slots of one class of one rank. Free ones are taken in the order in which they became free.
class SlotPool {
 public:
  // `spare`: slots to spread over before any is used twice.
  std::uint32_t take(std::uint32_t spare, std::int32_t group) {
    const bool reusable = !free_.empty() && (group == kNone || free_.front().group < group);
    if (reusable && slots_ >= spare) {
      const std::uint32_t slot = free_.front().slot;
      free_.pop_front();
      return slot;
    }
    return slots_++;
  }
  // The slot may be taken again in groups after `group`.
  void give_back(std::uint32_t slot, std::int32_t group) {
    const auto later = std::find_if(free_.rbegin(), free_.rend(),
                                    [group](const Free& f) { return f.group <= group; });
    free_.insert(later.base(), {slot, group});
  }
  std::uint32_t slots() const { return slots_; }

 private:
  struct Free {
    std::uint32_t slot;
    std::int32_t group;
  };
  std::deque<Free> free_;
  std::uint32_t slots_ = 0;
};

class SlotAssigner {
 public:
  SlotAssigner(std::vector<Hop>& hops, const std::vector<Chunk>& chunks, const Fabric& fabric,
               const EmitOptions& options)
      : hops_(hops),
        chunks_(chunks),
        fabric_(fabric),
        options_(options),
        send_(fabric.ranks.size()),
        land_(fabric.ranks.size()),
        relay_(fabric.ranks.size()),
        landings_(hops.size()) {
    const std::vector<std::int64_t> none(fabric.ranks.size(), 0);
    need_.send.bytes = need_.land.bytes = need_.relay.bytes = none;
    for (std::size_t rank = 0; rank < fabric.ranks.size(); ++rank)
      spare_.push_back(options.discipline == Discipline::kGroups ? 0 : window_slots(rank));
  }

  StagingNeed assign() {
    for (Hop& hop : hops_) {
      if (hop.packs) {
        hop.send_slot = take(send_, need_.send, hop.source, hop);
        send_[static_cast<std::size_t>(hop.source)].give_back(hop.send_slot, released(hop.group));
      }
      if (hop.lands) {
        hop.land_slot = hop.wanted ? take(land_, need_.land, hop.destination, hop)
                                   : take(relay_, need_.relay, hop.destination, hop);
        landings_[hop.id] = {hop.land_slot, hop.forwards, released(hop.group), hop.wanted};
        if (hop.forwards == 0) give_back(hop.destination, landings_[hop.id]);
      }
      if (hop.from != kNoHop) {
        Landing& from = landings_[hop.from];
        from.last_group = std::max(from.last_group, hop.group);
        if (--from.forwards == 0) give_back(hop.source, from);
      }
    }
    finish();
    return std::move(need_);
  }

 private:
  struct Landing {
    std::uint32_t slot = 0;
    std::uint32_t forwards = 0;  // still to come
    std::int32_t last_group = kNone;
    bool wanted = true;
  };

  // A group waits for all of its slots at once. A slot of group g is used again from g + 2 on, so
  // that copies out of it overlap with group g + 1.
  static std::int32_t released(std::int32_t group) { return group == kNone ? kNone : group + 1; }

  std::uint32_t window_slots(std::size_t rank) const {
    std::uint32_t units = 1;
    for (std::int32_t port : fabric_.ranks[rank].nic_out)
      units = std::max(units, fabric_.port_units[static_cast<std::size_t>(port)]);
    return 2 * options_.window * units *
           std::max<std::uint32_t>(1,
                                   static_cast<std::uint32_t>(fabric_.ranks[rank].nic_out.size()));
  }

  std::uint32_t take(std::vector<SlotPool>& pools, StagingNeed::PerRank& need, Rank rank,
                     const Hop& hop) {
    const auto r = static_cast<std::size_t>(rank);
    need.bytes[r] = std::max(need.bytes[r], chunks_[hop.chunk].bytes);
    return pools[r].take(spare_[r], hop.group);
  }

  void give_back(Rank rank, const Landing& landing) {
    (landing.wanted ? land_ : relay_)[static_cast<std::size_t>(rank)].give_back(landing.slot,
                                                                                landing.last_group);
  }

  void finish() {
    const auto count = [](const std::vector<SlotPool>& pools, StagingNeed::PerRank& need) {
      for (const SlotPool& pool : pools) need.slots.push_back(pool.slots());
    };
    count(send_, need_.send);
    count(land_, need_.land);
    count(relay_, need_.relay);
    for (std::size_t rank = 0; rank < fabric_.ranks.size(); ++rank) {
      std::int64_t bytes = 0;
      for (const StagingNeed::PerRank* need : {&need_.send, &need_.land, &need_.relay})
        bytes += need->slots[rank] * need->bytes[rank];
      if (bytes <= need_.most_bytes) continue;
      need_.most_bytes = bytes;
      need_.most_rank = static_cast<Rank>(rank);
    }
  }

  std::vector<Hop>& hops_;
  const std::vector<Chunk>& chunks_;
  const Fabric& fabric_;
  const EmitOptions& options_;
  std::vector<SlotPool> send_;
  std::vector<SlotPool> land_;
  std::vector<SlotPool> relay_;
  std::vector<Landing> landings_;  // by hop id
  std::vector<std::uint32_t> spare_;
  StagingNeed need_;
};

}  // namespace

StagingNeed assign_slots(std::vector<Hop>& hops, const std::vector<Chunk>& chunks,
                         const Fabric& fabric, const EmitOptions& options) {
  return SlotAssigner(hops, chunks, fabric, options).assign();
}

}  // namespace transload
