// Replays a plan's operations under the issue rule on a network of links that share fairly.
//
// Two engines compute the same model, max-min fair sharing. SimGrid is the reference, a library
// that others have validated; our own (max_min.h) is an order of magnitude faster on large plans.
// Tests hold both against a third, naive one, and against each other.
#pragma once

#include <span>
#include <string_view>

#include "simulator/replay/operation_cost.h"

namespace transload {

enum class ReplayEngine : std::uint8_t { kSimGrid, kMaxMin };

std::string_view name_of(ReplayEngine engine);

// What a replay fills, one entry per operation; seconds from the start of the refit. Spans, because
// they lie in memory that a child process shares with its parent.
struct ReplayRecord {
  std::span<double> posted_source_s;
  std::span<double> posted_destination_s;  // equal to the source's for operations of one rank
  std::span<double> start_s;
  std::span<double> finish_s;
  // The operation whose start or finish let this one start (or, where that was later, launch or
  // end); kNoOperation for those that could start at once. Following it never leads in a circle.
  std::span<OpId> released_by;
};

// How finely a replay tells dates apart, in seconds.
struct ReplayClock {
  double precision_s = 0;  // completions closer together than this are one event
  double patience_s = 0;   // a departure waits at most this long for an event that is due anyway
};

// On SimGrid once per process: a second engine of its aborts. Throws RunFailure, naming the
// unfinished operation with the least key, where the issue rule lets nothing start any more.
void replay(const Plan& plan, const OperationCosts& costs, const ReplayClock& clock,
            ReplayEngine engine, ReplayRecord record);

}  // namespace transload
