// A second, independent simulator for small plans: progressive filling and a literal issue rule.
//
// It knows nothing of SimGrid, IssueState or the replay; every step asks the definitions anew for
// every operation, in whatever time that takes. No occupancies, stream edges, or strided copies.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "planner/schedule/access.h"

namespace transload {

class FluidOracle {
 public:
  explicit FluidOracle(const Plan& plan)
      : plan_(plan), n_(static_cast<OpId>(plan.operations())), ops_(n_) {
    for (OpId op = 0; op < n_; ++op) {
      ops_[op].left = static_cast<double>(plan.op_bytes[op]);
      if (plan.op_kind[op] == static_cast<std::uint8_t>(OpKind::kCopy)) ops_[op].left *= 2;
    }
  }

  // Finish times; -1 for operations that never start.
  std::vector<double> run() {
    while (true) {
      while (post() || start()) {
      }
      share();
      const double step = next_event();
      if (step == kNever) break;
      advance(step);
    }
    std::vector<double> finish(n_);
    for (OpId op = 0; op < n_; ++op) finish[op] = ops_[op].done ? ops_[op].finish : -1;
    return finish;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  struct State {
    bool posted_out = false;
    bool posted_in = false;
    bool started = false;
    bool done = false;
    double latency = 0;
    double left = 0;
    double rate = 0;
    double finish = 0;
  };

  bool transfer(OpId op) const {
    return plan_.op_kind[op] == static_cast<std::uint8_t>(OpKind::kTransfer);
  }
  bool grouped(OpId op) const {
    return plan_.header().discipline == Discipline::kGroups && transfer(op);
  }
  bool on_rank(OpId op, std::int32_t rank) const {
    return plan_.op_source[op] == rank || plan_.op_destination[op] == rank;
  }
  bool predecessors_done(OpId op) const {
    for (OpId before : op_after(plan_, op))
      if (!ops_[before].done) return false;
    return true;
  }

  // windows: everything before it in the port's list is posted, and the window has room.
  bool may_post(OpId op, std::int32_t port) const {
    std::uint32_t in_flight = 0;
    for (OpId other = 0; other < n_; ++other) {
      const bool out = plan_.op_out_port[other] == port;
      const bool in = plan_.op_in_port[other] == port;
      if (!out && !in) continue;
      const bool posted = out ? ops_[other].posted_out : ops_[other].posted_in;
      if (other < op && !posted) return false;
      if (posted && !ops_[other].done) ++in_flight;
    }
    return in_flight < plan_.port_window[static_cast<std::size_t>(port)];
  }

  // groups: on this rank, all transfers of smaller groups are done, and so is everything of this
  // rank that the transfers of the operation's group wait for.
  bool may_issue(OpId op, std::int32_t rank) const {
    for (OpId other = 0; other < n_; ++other) {
      if (!transfer(other) || !on_rank(other, rank)) continue;
      if (plan_.op_group[other] < plan_.op_group[op] && !ops_[other].done) return false;
      if (plan_.op_group[other] != plan_.op_group[op]) continue;
      for (OpId before : op_after(plan_, other))
        if (on_rank(before, rank) && !ops_[before].done) return false;
    }
    return true;
  }

  bool post() {
    bool changed = false;
    for (OpId op = 0; op < n_; ++op) {
      State& state = ops_[op];
      if (!state.posted_out &&
          (grouped(op) ? may_issue(op, plan_.op_source[op]) : may_post(op, plan_.op_out_port[op])))
        changed = state.posted_out = true;
      if (plan_.op_in_port[op] < 0) continue;
      if (!state.posted_in && (grouped(op) ? may_issue(op, plan_.op_destination[op])
                                           : may_post(op, plan_.op_in_port[op])))
        changed = state.posted_in = true;
    }
    return changed;
  }

  bool start() {
    bool changed = false;
    for (OpId op = 0; op < n_; ++op) {
      State& state = ops_[op];
      if (state.started || !state.posted_out || (plan_.op_in_port[op] >= 0 && !state.posted_in) ||
          !predecessors_done(op))
        continue;
      changed = state.started = true;
      for (std::int32_t port : {plan_.op_out_port[op], plan_.op_in_port[op]})
        if (port >= 0)
          state.latency = std::max(
              state.latency,
              static_cast<double>(plan_.port_latency_ps[static_cast<std::size_t>(port)]) * 1e-12);
      for (std::uint32_t path : {plan_.op_out_path[op], plan_.op_in_path[op]})
        state.latency += static_cast<double>(plan_.path_latency_ps[path]) * 1e-12;
    }
    return changed;
  }

  bool flows(OpId op) const { return ops_[op].started && !ops_[op].done && ops_[op].latency == 0; }

  bool loads(OpId op, std::uint32_t link) const {
    for (std::int32_t port : {plan_.op_out_port[op], plan_.op_in_port[op]})
      if (port >= 0 && plan_.port_link[static_cast<std::size_t>(port)] == link) return true;
    for (std::uint32_t path : {plan_.op_out_path[op], plan_.op_in_path[op]})
      for (std::uint64_t i = plan_.path_link_first[path]; i < plan_.path_link_first[path + 1]; ++i)
        if (plan_.path_link[i] == link) return true;
    return false;
  }

  // Progressive filling: the link with the least share per unfixed flow fixes its flows, and so on.
  void share() {
    std::vector<bool> fixed(n_, false);
    std::vector<double> room(plan_.link_kind.size());
    for (std::uint32_t link = 0; link < room.size(); ++link)
      room[link] = static_cast<double>(link_achieved_rate(plan_, link));
    while (true) {
      double least = kNever;
      std::uint32_t tightest = 0;
      for (std::uint32_t link = 0; link < room.size(); ++link) {
        int flowing = 0;
        for (OpId op = 0; op < n_; ++op)
          if (flows(op) && !fixed[op] && loads(op, link)) ++flowing;
        if (flowing > 0 && room[link] / flowing < least) {
          least = room[link] / flowing;
          tightest = link;
        }
      }
      if (least == kNever) return;
      for (OpId op = 0; op < n_; ++op) {
        if (!flows(op) || fixed[op] || !loads(op, tightest)) continue;
        fixed[op] = true;
        ops_[op].rate = least;
        for (std::uint32_t link = 0; link < room.size(); ++link)
          if (loads(op, link)) room[link] -= least;
      }
    }
  }

  double time_left(OpId op) const {
    const State& state = ops_[op];
    if (!state.started || state.done) return kNever;
    return state.latency > 0 ? state.latency : state.left / state.rate;
  }

  double next_event() const {
    double step = kNever;
    for (OpId op = 0; op < n_; ++op) step = std::min(step, time_left(op));
    return step;
  }

  void advance(double step) {
    now_ += step;
    for (OpId op = 0; op < n_; ++op) {
      State& state = ops_[op];
      if (!state.started || state.done) continue;
      const bool due = time_left(op) <= step * (1 + 1e-12);
      if (state.latency > 0) {
        state.latency = due ? 0 : state.latency - step;
      } else if (due) {
        state.done = true;
        state.finish = now_;
      } else {
        state.left -= state.rate * step;
      }
    }
  }

  const Plan& plan_;
  OpId n_;
  std::vector<State> ops_;
  double now_ = 0;
};

}  // namespace transload
