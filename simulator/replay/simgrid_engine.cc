#include "simulator/replay/simgrid_engine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include "simulator/platform/platform.h"
#include "simulator/replay/conductor.h"
#include "simulator/replay/simgrid_332.h"

namespace transload {
namespace {

namespace s4u = simgrid::s4u;

constexpr double kMostUnits = 9e18;  // of an operation: what 64 bits hold
constexpr double kNever = std::numeric_limits<double>::infinity();

class SimGridReplay {
 public:
  SimGridReplay(const Plan& plan, const OperationCosts& costs, const ReplayClock& clock,
                ReplayRecord record)
      : plan_(plan),
        costs_(costs),
        record_(record),
        units_per_byte_(payload_units_per_byte(costs)),
        platform_(plan, units_per_byte_, clock.precision_s),
        conductor_(plan, costs, clock, record, [this](OpId op) { flow(op); }),
        in_flight_(plan.operations()) {}

  void run() {
    skip_activity_list([] { s4u::Comm::sendto_init(); });
    watch_completions();
    conductor_.begin();
    set_timer(conductor_.next_stop_s());
    platform_.engine().run();
    conductor_.require_finished();
  }

 private:
  void watch_completions() {
    const auto completed = [this](const s4u::Activity& activity) {
      const auto op = static_cast<OpId>(activity.get_data<double>() - record_.start_s.data());
      // Not to be freed inside its own signal.
      landed_.push_back(std::move(in_flight_[op]));
      conductor_.drained(op);
      set_timer(s4u::Engine::get_clock());  // when all that land now have said so
    };
#if SIMGRID_VERSION >= 33400UL
    s4u::Comm::on_completion_cb(completed);
#else
    s4u::Activity::on_completion_cb(completed);
#endif
    s4u::Engine::on_time_advance_cb([this](double) { landed_.clear(); });
  }

  void proceed() {
    conductor_.proceed(s4u::Engine::get_clock());
    set_timer(conductor_.next_stop_s());
  }

  void flow(OpId op) {
    const double units = std::min(costs_.wire_bytes[op] * units_per_byte_, kMostUnits);
    s4u::CommPtr comm = s4u::Comm::sendto_init();
    comm->set_payload_size(
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(units))));
    comm->set_data(&record_.start_s[op]);  // its place tells the operation
    comm->set_source(platform_.sender(plan_, op));
    in_flight_[op] = comm;
    comm->set_destination(platform_.receiver(plan_, op));  // starts it
  }

  // Has the clock stop for the conductor by `stop_s`.
  void set_timer(double stop_s) {
    if (stop_s >= timer_s_) return;
    timer_s_ = stop_s;
    simgrid::kernel::timer::Timer::set(timer_s_, [this, date = timer_s_] {
      if (date == timer_s_) timer_s_ = kNever;  // else an earlier one took its place meanwhile
      proceed();
    });
  }

  const Plan& plan_;
  const OperationCosts& costs_;
  ReplayRecord record_;
  double units_per_byte_;
  Platform platform_;
  Conductor conductor_;
  std::vector<s4u::CommPtr> in_flight_;  // by operation
  std::vector<s4u::CommPtr> landed_;
  double timer_s_ = kNever;  // date of the next timer
};

}  // namespace

void replay_on_simgrid(const Plan& plan, const OperationCosts& costs, const ReplayClock& clock,
                       ReplayRecord record) {
  SimGridReplay(plan, costs, clock, record).run();
}

}  // namespace transload
