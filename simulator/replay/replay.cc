#include "simulator/replay/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include "common/error.h"
#include "planner/schedule/issue.h"
#include "simulator/platform/platform.h"
#include "simulator/replay/departures.h"
#include "simulator/replay/lanes.h"
#include "simulator/replay/simgrid_332.h"
#include "simulator/replay/streams.h"

namespace transload {
namespace {

namespace s4u = simgrid::s4u;

constexpr double kMostUnits = 9e18;  // of an operation: what 64 bits hold
constexpr double kNever = std::numeric_limits<double>::infinity();

class Replay {
 public:
  Replay(const Plan& plan, const OperationCosts& costs, const ReplayClock& clock,
         ReplayRecord record)
      : plan_(plan),
        costs_(costs),
        record_(record),
        clock_(clock),
        units_per_byte_(payload_units_per_byte(costs)),
        platform_(plan, units_per_byte_, clock.precision_s),
        issue_(plan, [this](OpId op, std::int32_t port) { note_posted(op, port); }),
        lanes_(plan),
        streams_(plan, costs),
        in_flight_(plan.operations()) {}

  void run() {
    skip_activity_list([] { s4u::Comm::sendto_init(); });
    watch_completions();
    issue_.begin(ready_);
    note_released_by(kNoOperation);
    proceed();
    platform_.engine().run();
    if (issue_.unfinished() > 0) fail_stalled();
  }

 private:
  void watch_completions() {
    const auto completed = [this](const s4u::Activity& activity) {
      const auto op = static_cast<OpId>(activity.get_data<double>() - record_.start_s.data());
      // Not to be freed inside its own signal.
      landed_.push_back(std::move(in_flight_[op]));
      drained(op);
      proceed();
    };
#if SIMGRID_VERSION >= 33400UL
    s4u::Comm::on_completion_cb(completed);
#else
    s4u::Activity::on_completion_cb(completed);
#endif
    s4u::Engine::on_time_advance_cb([this](double) { landed_.clear(); });
  }

  // Starts and ends whatever the issue rule allows at this instant, in the order in which it did.
  void proceed() {
    now_s_ = s4u::Engine::get_clock();
    std::size_t next_ended = 0;
    std::size_t next_ready = 0;
    while (true) {
      if (next_ended < ended_.size())
        end(ended_[next_ended++]);
      else if (next_ready < ready_.size())
        start(ready_[next_ready++]);
      else if (departures_.due(now_s_ + clock_.precision_s - clock_.patience_s))
        depart(departures_.take());
      else
        break;
    }
    set_timer();
    ended_.clear();
    ready_.clear();
    noted_ready_ = 0;
  }

  void start(OpId op) {
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
  void depart(OpId op) {
    if (costs_.wire_bytes[op] <= 0) {
      drained(op);
      return;
    }
    const double units = std::min(costs_.wire_bytes[op] * units_per_byte_, kMostUnits);
    s4u::CommPtr comm = s4u::Comm::sendto_init();
    comm->set_payload_size(
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(units))));
    comm->set_data(&record_.start_s[op]);  // its place tells the operation
    comm->set_source(platform_.sender(plan_, op));
    in_flight_[op] = comm;
    comm->set_destination(platform_.receiver(plan_, op));  // starts it
  }

  // Has the clock stop for the next departure. A patient departure leaves with the next event that
  // stops the clock anyway: late about as much as completions are early, so that the two biases
  // cancel.
  void set_timer() {
    if (departures_.empty() || departures_.next_s() + clock_.patience_s >= timer_s_) return;
    timer_s_ = departures_.next_s() + clock_.patience_s;
    simgrid::kernel::timer::Timer::set(timer_s_, [this, date = timer_s_] {
      if (date == timer_s_) timer_s_ = kNever;  // else an earlier one took its place meanwhile
      proceed();
    });
  }

  // All bytes have moved and all delays are over.
  void drained(OpId op) {
    if (streams_.drained(op)) ended_.push_back(op);
  }

  void end(OpId op) {
    record_.finish_s[op] = now_s_;
    issue_.finished(op, ready_);
    note_released_by(op);
    const std::size_t first = ended_.size();
    streams_.ended(op, ended_);
    for (std::size_t i = first; i < ended_.size(); ++i) record_.released_by[ended_[i]] = op;
  }

  // Everything newly ready owes it to `op`.
  void note_released_by(OpId op) {
    for (; noted_ready_ < ready_.size(); ++noted_ready_)
      record_.released_by[ready_[noted_ready_]] = op;
  }

  void note_posted(OpId op, std::int32_t port) {
    if (port == plan_.op_out_port[op]) record_.posted_source_s[op] = now_s_;
    if (port == plan_.op_in_port[op]) record_.posted_destination_s[op] = now_s_;
  }

  [[noreturn]] void fail_stalled() const {
    const OpId op = issue_.least_unfinished();
    throw RunFailure(fmt::format(
        "the plan stalls: {} operations can never start; the first is operation {} ({}, rank {} to "
        "rank {})",
        issue_.unfinished(), op, name_of(op_role(plan_, op)), plan_.op_source[op],
        plan_.op_destination[op]));
  }

  const Plan& plan_;
  const OperationCosts& costs_;
  ReplayRecord record_;
  ReplayClock clock_;
  double units_per_byte_;
  double now_s_ = 0;
  Platform platform_;
  IssueState issue_;
  Lanes lanes_;
  Streams streams_;
  std::vector<s4u::CommPtr> in_flight_;  // by operation
  std::vector<s4u::CommPtr> landed_;
  Departures departures_;
  double timer_s_ = kNever;  // date of the next timer
  std::vector<OpId> ready_;  // may start
  std::size_t noted_ready_ = 0;
  std::vector<OpId> ended_;  // have ended, to be reported
};

}  // namespace

void replay(const Plan& plan, const OperationCosts& costs, const ReplayClock& clock,
            ReplayRecord record) {
  Replay(plan, costs, clock, record).run();
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (plan.op_out_port[op] < 0) record.posted_source_s[op] = record.start_s[op];
    if (plan.op_in_port[op] < 0) record.posted_destination_s[op] = record.posted_source_s[op];
  }
}

}  // namespace transload
