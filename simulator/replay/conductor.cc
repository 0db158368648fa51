#include "simulator/replay/conductor.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "common/error.h"

namespace transload {

Conductor::Conductor(const Plan& plan, const OperationCosts& costs, const ReplayClock& clock,
                     ReplayRecord record, Flow flow)
    : plan_(plan),
      costs_(costs),
      record_(record),
      clock_(clock),
      flow_(std::move(flow)),
      issue_(plan, [this](OpId op, std::int32_t port) { note_posted(op, port); }),
      lanes_(plan),
      streams_(plan, costs) {}

void Conductor::begin() {
  issue_.begin(ready_);
  note_released_by(kNoOperation);
  proceed(0);
}

void Conductor::proceed(double now_s) {
  now_s_ = now_s;
  while (true) {
    for (std::size_t i = 0; i < ended_.size(); ++i) end(ended_[i]);  // streams add more
    ended_.clear();
    std::swap(starting_, ready_);
    noted_ready_ = 0;
    std::sort(starting_.begin(), starting_.end());
    for (const OpId op : starting_) start(op);
    starting_.clear();
    while (departures_.due(now_s_ + clock_.precision_s - clock_.patience_s))
      depart(departures_.take());
    if (ended_.empty() && ready_.empty()) break;
  }
}

double Conductor::next_stop_s() const {
  return departures_.empty() ? std::numeric_limits<double>::infinity()
                             : departures_.next_s() + clock_.patience_s;
}

void Conductor::start(OpId op) {
  record_.start_s[op] = now_s_;
  issue_.started(op, ready_);
  note_released_by(op);
  double flow_s = now_s_;
  if (op_kind(plan_, op) != OpKind::kFence) {
    const Lanes::Launch launch = lanes_.launch(op, now_s_);
    if (launch.waited_for != kNoOperation) record_.released_by[op] = launch.waited_for;
    flow_s = std::max(launch.over_s, streams_.first_pieces_landed_s(op)) + costs_.latency_s[op];
  }
  streams_.flows(op, flow_s);
  if (flow_s > now_s_)
    departures_.add(flow_s, op);
  else
    depart(op);
}

// All delays of `op` are over.
void Conductor::depart(OpId op) {
  if (costs_.wire_bytes[op] <= 0)
    drained(op);
  else
    flow_(op);
}

void Conductor::drained(OpId op) {
  if (streams_.drained(op)) ended_.push_back(op);
}

void Conductor::end(OpId op) {
  record_.finish_s[op] = now_s_;
  issue_.finished(op, ready_);
  note_released_by(op);
  const std::size_t first = ended_.size();
  streams_.ended(op, ended_);
  for (std::size_t i = first; i < ended_.size(); ++i) record_.released_by[ended_[i]] = op;
}

// Everything newly ready owes it to `op`.
void Conductor::note_released_by(OpId op) {
  for (; noted_ready_ < ready_.size(); ++noted_ready_)
    record_.released_by[ready_[noted_ready_]] = op;
}

void Conductor::note_posted(OpId op, std::int32_t port) {
  if (port == plan_.op_out_port[op]) record_.posted_source_s[op] = now_s_;
  if (port == plan_.op_in_port[op]) record_.posted_destination_s[op] = now_s_;
}

void Conductor::require_finished() const {
  if (issue_.unfinished() == 0) return;
  const OpId op = issue_.least_unfinished();
  throw RunFailure(fmt::format(
      "the plan stalls: {} operations can never start; the first is operation {} ({}, rank {} to "
      "rank {})",
      issue_.unfinished(), op, name_of(op_role(plan_, op)), plan_.op_source[op],
      plan_.op_destination[op]));
}

}  // namespace transload
