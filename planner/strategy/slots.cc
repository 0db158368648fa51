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
    send_spare_ = land_spare_ = relay_spare_ = std::vector<std::uint32_t>(fabric.ranks.size(), 0);
    if (options.discipline != Discipline::kGroups) set_spares();
  }

  StagingNeed assign() {
    for (Hop& hop : hops_) {
      if (hop.packs) {
        hop.send_slot = take(send_, need_.send, hop.source, hop, send_spare_);
        send_[static_cast<std::size_t>(hop.source)].give_back(hop.send_slot, released(hop.group));
      }
      if (hop.lands) {
        hop.land_slot = hop.wanted ? take(land_, need_.land, hop.destination, hop, land_spare_)
                                   : take(relay_, need_.relay, hop.destination, hop, relay_spare_);
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

  // Chunks that the rank's NICs may have in flight one way.
  std::uint64_t window_slots(std::size_t rank) const {
    std::uint32_t units = 1;
    for (std::int32_t port : fabric_.ranks[rank].nic_out)
      units = std::max(units, fabric_.port_units[static_cast<std::size_t>(port)]);
    return std::uint64_t{options_.window} * units *
           std::max<std::size_t>(1, fabric_.ranks[rank].nic_out.size());
  }

  struct Uses {
    std::uint64_t packs = 0;
    std::uint64_t landings = 0;
    std::uint64_t over_nvlink = 0;  // of the landings
    std::uint64_t relayed = 0;
  };

  std::vector<Uses> count_uses() const {
    std::vector<Uses> uses(fabric_.ranks.size());
    for (const Hop& hop : hops_) {
      const auto to = static_cast<std::size_t>(hop.destination);
      if (hop.packs) ++uses[static_cast<std::size_t>(hop.source)].packs;
      if (hop.lands && !hop.wanted) ++uses[to].relayed;
      if (!hop.lands || !hop.wanted) continue;
      ++uses[to].landings;
      if (fabric_.ranks[to].nvlink_in == hop.in_port) ++uses[to].over_nvlink;
    }
    return uses;
  }

  // As many slots as are worth having, as far as the staging limit goes.
  void set_spares() {
    std::int64_t chunk = 1;
    for (const Chunk& each : chunks_) chunk = std::max(chunk, each.bytes);
    const auto budget = static_cast<std::uint64_t>(options_.staging_bytes / chunk);
    const std::vector<Uses> uses = count_uses();
    for (std::size_t rank = 0; rank < uses.size(); ++rank) {
      const Uses& use = uses[rank];
      const std::uint64_t window = window_slots(rank);
      // A window of the NICs admits one chunk; NVLink then brings those that others land.
      const std::uint64_t own = std::max<std::uint64_t>(1, use.landings - use.over_nvlink);
      const std::uint64_t fan_in = (use.landings + own - 1) / own;
      std::uint64_t send = std::min(use.packs, kSpareWindows * window);
      std::uint64_t relay = std::min(use.relayed, kSpareWindows * window);
      std::uint64_t land = std::min(use.landings, kSpareWindows * window * fan_in);
      const std::uint64_t least = kLeastSpareWindows * window;
      if (send + relay + land > budget)
        land = std::min(land, std::max(least, budget - std::min(budget, send + relay)));
      if (send + relay + land > budget) {
        send = std::min(send, least);
        relay = std::min(relay, least);
        land = std::min(land, std::max(least, budget - std::min(budget, send + relay)));
      }
      send_spare_[rank] = static_cast<std::uint32_t>(send);
      relay_spare_[rank] = static_cast<std::uint32_t>(relay);
      land_spare_[rank] = static_cast<std::uint32_t>(land);
    }
  }

  std::uint32_t take(std::vector<SlotPool>& pools, StagingNeed::PerRank& need, Rank rank,
                     const Hop& hop, const std::vector<std::uint32_t>& spare) {
    const auto r = static_cast<std::size_t>(rank);
    need.bytes[r] = std::max(need.bytes[r], chunks_[hop.chunk].bytes);
    return pools[r].take(spare[r], hop.group);
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
  // By rank: slots of a class to spread over.
  std::vector<std::uint32_t> send_spare_;
  std::vector<std::uint32_t> land_spare_;
  std::vector<std::uint32_t> relay_spare_;
  StagingNeed need_;
};

}  // namespace

StagingNeed assign_slots(std::vector<Hop>& hops, const std::vector<Chunk>& chunks,
                         const Fabric& fabric, const EmitOptions& options) {
  return SlotAssigner(hops, chunks, fabric, options).assign();
}

}  // namespace transload
