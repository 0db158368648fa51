// Lanes: the ordered queues of a rank in which operations pay their launches, one after the other.
#pragma once

#include <algorithm>

#include "simulator/replay/operation_cost.h"

namespace transload {

class Lanes {
 public:
  explicit Lanes(const Plan& plan)
      : plan_(plan), free_(plan.ranks() * kLanes, 0), last_(plan.ranks() * kLanes, kNoOperation) {}

  // Outcome of a launch: when it is over on all lanes of the operation, and the operation whose
  // launch it had to wait for (kNoOperation where it did not wait).
  struct Launch {
    double over_s = 0;
    OpId waited_for = kNoOperation;
  };

  // Launches `op`, free to go at `now_s`, on its lane at each of its ranks. The two sides of a
  // transfer launch independently of each other; its bytes may flow when both have.
  Launch launch(OpId op, double now_s) {
    Launch launch{now_s, kNoOperation};
    if (plan_.op_out_port[op] >= 0) take(op, true, plan_.op_source[op], now_s, launch);
    if (plan_.op_in_port[op] >= 0) take(op, false, plan_.op_destination[op], now_s, launch);
    return launch;
  }

 private:
  void take(OpId op, bool at_source, std::int32_t rank, double now_s, Launch& launch) {
    const double occupancy = lane_occupancy_s(plan_, op, at_source);
    if (occupancy <= 0) return;
    const std::size_t lane = static_cast<std::size_t>(rank) * kLanes +
                             static_cast<std::size_t>(lane_of(plan_, op, at_source));
    const bool waits = free_[lane] > now_s;
    const double over = std::max(now_s, free_[lane]) + occupancy;
    if (over > launch.over_s) launch = {over, waits ? last_[lane] : kNoOperation};
    free_[lane] = over;
    last_[lane] = op;
  }

  const Plan& plan_;
  std::vector<double> free_;  // rank x lane: when the last launch is over
  std::vector<OpId> last_;
};

}  // namespace transload
