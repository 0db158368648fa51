// One global order of transfers by offline list scheduling on their ports.
//
// One-port model: a port carries one transfer per unit at a time. Whenever a source port is idle it
// takes, among its pending transfers whose destination port is idle, one towards the destination
// with the most bytes left; a destination port that becomes idle likewise picks the source with the
// most bytes left. A forward joins the pending transfers when what it forwards has landed (or
// begins to land, where it streams); forwards that make room at a full port go first, and what
// nobody forwards is kept for the end. At most twice the optimum by theory, within a few percent in
// practice (docs/ordering.md). Integers only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace transload {

inline constexpr std::uint32_t kNoJob = UINT32_MAX;

struct PortJob {
  std::int32_t out_port = 0;
  std::int32_t in_port = 0;
  std::int64_t bytes = 0;
  std::uint32_t after = kNoJob;  // the job that must end before this one starts
  bool streams = false;          // it may start as soon as `after` has, but ends no earlier
};

// Which of several good ideas for forwards apply; none is best for every job, so callers try some.
struct ForwardRules {
  // How many landings an in port may hold whose forwards have not all started (each occupies a
  // slot); more only where nothing else could go on.
  std::uint32_t held_landings = UINT32_MAX;
  // A forward may start so long after what it forwards has landed (groups are issued late).
  std::int64_t delay_ps = 0;
  bool paced = false;      // what a source sends straight keeps behind what is to be forwarded
  bool spread = false;     // a port that holds many landings gets the next one later
  bool make_room = false;  // forwards out of a port that holds as many as it may go first
};

struct ListOrder {
  std::vector<std::uint32_t> jobs;  // in the order in which they start: `after` stands before
  std::int64_t makespan_ps = 0;     // of the one-port model
};

// Where the best peer of a port is looked for: among its pairs, among the free ports, or where
// fewer are to be looked at. The order is the same.
enum class PeerSearch : std::uint8_t { kPairs, kFreePorts, kFaster };

// `units[p]`: transfers that port p may carry at once; `rates[p]`: bytes/s of the whole port (0: no
// time).
ListOrder list_order(std::span<const PortJob> jobs, std::span<const std::int64_t> rates,
                     std::span<const std::uint32_t> units, const ForwardRules& rules = {},
                     PeerSearch search = PeerSearch::kFaster);

}  // namespace transload
