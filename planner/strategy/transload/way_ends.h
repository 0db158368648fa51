// Where the bytes of a rank set can enter or leave the network. Internal to the strategy
// `transload`.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "planner/strategy/transload/narrow_links.h"
#include "planner/strategy/transload/port_shares.h"

namespace transload {

// A NIC of a rank of the set, or of a rank of the set's domain, one NVLink hop away.
struct WayEnd {
  std::int32_t port = kNone;
  Rank rank = 0;
  std::int32_t leaf = 0;
  bool hop = false;
};

// Ends that are equal but for their load: same switch, same need of a hop.
struct EndGroup {
  std::size_t first = 0;
  std::size_t last = 0;
};

struct WayEnds {
  std::vector<WayEnd> ends;  // by group
  std::vector<EndGroup> groups;
};

class EndFinder {
 public:
  enum class Side : std::uint8_t { kOut, kIn };
  // `by_rank`: every rank is a group of its own.
  EndFinder(const Fabric& fabric, const NarrowLinks& links, const MayHelp& may_help, Side side,
            bool by_rank);

  const WayEnds& of(std::span<const Rank> set);

 private:
  const Fabric& fabric_;
  const NarrowLinks& links_;
  const MayHelp& may_help_;
  Side side_;
  bool by_rank_;
  std::map<std::int32_t, std::vector<Rank>> by_domain_;
  std::map<std::vector<Rank>, WayEnds> known_;

  WayEnds make(std::span<const Rank> set) const;
};

}  // namespace transload
