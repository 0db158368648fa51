// The issue rule in time, without a network: when each operation starts, when its first byte flows
// and when it ends.
//
// An engine (simgrid_engine.h, max_min_engine.h) moves the bytes: it is told which operation flows
// from now on, and tells which has moved its last byte. All else, launches, latencies, stream
// edges, windows and groups, is the same for every engine because it is here.
#pragma once

#include <functional>
#include <vector>

#include "planner/schedule/issue.h"
#include "simulator/replay/departures.h"
#include "simulator/replay/lanes.h"
#include "simulator/replay/replay.h"
#include "simulator/replay/streams.h"

namespace transload {

class Conductor {
 public:
  // Called when the wire bytes (more than 0) of an operation begin to flow.
  using Flow = std::function<void(OpId)>;

  Conductor(const Plan& plan, const OperationCosts& costs, const ReplayClock& clock,
            ReplayRecord record, Flow flow);
  // Its parts refer to it.
  Conductor(const Conductor&) = delete;
  Conductor& operator=(const Conductor&) = delete;

  // At date 0: starts what may start. Call once.
  void begin();
  // An operation has moved its last byte; `proceed` draws the consequences.
  void drained(OpId op);
  // Starts and ends whatever the issue rule allows at `now_s`: ends first what has drained; of what
  // may then start, the operation with the least key launches first. Call it when everything that
  // lands at that date has been reported, so that the order of reports does not matter. Dates never
  // go back.
  void proceed(double now_s);

  // When `proceed` is to be called at the latest even though no byte has landed; infinity if never.
  // A patient departure leaves with the next event that stops the clock anyway: late about as much
  // as completions are early, so that the two biases cancel.
  double next_stop_s() const;

  // After the last event. RunFailure where the issue rule lets nothing start any more, naming the
  // unfinished operation with the least key.
  void require_finished() const;

 private:
  void start(OpId op);
  void depart(OpId op);
  void end(OpId op);
  void note_released_by(OpId op);
  void note_posted(OpId op, std::int32_t port);

  const Plan& plan_;
  const OperationCosts& costs_;
  ReplayRecord record_;
  ReplayClock clock_;
  Flow flow_;
  double now_s_ = 0;
  IssueState issue_;
  Lanes lanes_;
  Streams streams_;
  Departures departures_;
  std::vector<OpId> ready_;     // may start
  std::vector<OpId> starting_;  // do so now
  std::size_t noted_ready_ = 0;
  std::vector<OpId> ended_;  // have ended, to be reported
};

}  // namespace transload
