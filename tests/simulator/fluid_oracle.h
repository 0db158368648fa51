// A second, independent simulator for small plans: progressive filling and a literal issue rule.
//
// It knows nothing of SimGrid, IssueState, the conductor or our own network; every step asks the
// definitions anew for every operation, in whatever time that takes. What one operation costs alone
// (operation_cost.h) it takes as given: that is arithmetic with golden tests of its own.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "planner/schedule/access.h"
#include "simulator/replay/operation_cost.h"

namespace transload {

class FluidOracle {
 public:
  explicit FluidOracle(const Plan& plan)
      : plan_(plan),
        costs_(operation_costs(plan)),
        n_(static_cast<OpId>(plan.operations())),
        ops_(n_),
        lane_free_s_(plan.ranks() * kLanes, 0) {
    for (OpId op = 0; op < n_; ++op) {
      ops_[op].left = costs_.wire_bytes[op];
      if (ops_[op].left > 0) ops_[op].links = links_of(op);
    }
  }

  // Finish times; -1 for operations that never finish.
  std::vector<double> run() {
    while (true) {
      while (end() || start()) {
      }
      share();
      const double next_s = next_event_s();
      if (next_s == kNever) break;
      advance(next_s);
    }
    std::vector<double> finish(n_);
    for (OpId op = 0; op < n_; ++op) finish[op] = ops_[op].done ? ops_[op].finish_s : -1;
    return finish;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  static constexpr double kSameInstant = 1e-11;  // relative

  struct State {
    bool posted_out = false;
    bool posted_in = false;
    bool started = false;
    bool flowing = false;
    bool drained = false;
    bool done = false;
    double flow_s = 0;          // first byte
    double first_landed_s = 0;  // first piece of a stream
    double left = 0;            // bytes on the wire
    double rate = 0;
    double finish_s = 0;
    std::vector<std::uint32_t> links;
  };

  std::vector<std::uint32_t> links_of(OpId op) const {
    std::vector<std::uint32_t> links;
    for (std::int32_t port : {plan_.op_out_port[op], plan_.op_in_port[op]})
      if (port >= 0) links.push_back(plan_.port_link[static_cast<std::size_t>(port)]);
    for (std::uint32_t path : {plan_.op_out_path[op], plan_.op_in_path[op]})
      for (std::uint64_t i = plan_.path_link_first[path]; i < plan_.path_link_first[path + 1]; ++i)
        links.push_back(plan_.path_link[i]);
    std::erase_if(links, [&](std::uint32_t link) { return link_achieved_rate(plan_, link) == 0; });
    return links;
  }

  bool transfer(OpId op) const {
    return plan_.op_kind[op] == static_cast<std::uint8_t>(OpKind::kTransfer);
  }
  bool grouped(OpId op) const {
    return plan_.header().discipline == Discipline::kGroups && transfer(op);
  }
  bool on_rank(OpId op, std::int32_t rank) const {
    return plan_.op_source[op] == rank || plan_.op_destination[op] == rank;
  }

  bool bounded(std::int32_t port) const {
    const auto kind = static_cast<PortKind>(plan_.port_kind[static_cast<std::size_t>(port)]);
    const bool receives = kind == PortKind::kNicIn || kind == PortKind::kNvlinkIn;
    return plan_.header().discipline != Discipline::kUnbounded &&
           !(plan_.header().one_sided && receives);
  }

  // windows: everything before it in the port's list is posted, and the window has room.
  bool may_post(OpId op, std::int32_t port) const {
    std::uint32_t in_flight = 0;
    for (OpId other = 0; other < n_; ++other) {
      const bool out = plan_.op_out_port[other] == port;
      const bool in = plan_.op_in_port[other] == port;
      if ((!out && !in) || grouped(other)) continue;
      const bool posted = out ? ops_[other].posted_out : ops_[other].posted_in;
      if (other < op && !posted) return false;
      if (posted && !ops_[other].done) ++in_flight;
    }
    return !bounded(port) || in_flight < plan_.port_window[static_cast<std::size_t>(port)];
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
      const std::int32_t out = plan_.op_out_port[op];
      const std::int32_t in = plan_.op_in_port[op];
      if (out >= 0 && !state.posted_out &&
          (grouped(op) ? may_issue(op, plan_.op_source[op]) : may_post(op, out)))
        changed = state.posted_out = true;
      if (in >= 0 && !state.posted_in &&
          (grouped(op) ? may_issue(op, plan_.op_destination[op]) : may_post(op, in)))
        changed = state.posted_in = true;
    }
    return changed;
  }

  bool may_start(OpId op) const {
    const State& state = ops_[op];
    if (state.started || (plan_.op_out_port[op] >= 0 && !state.posted_out) ||
        (plan_.op_in_port[op] >= 0 && !state.posted_in))
      return false;
    for (OpId before : op_after(plan_, op))
      if (!ops_[before].done) return false;
    for (OpId upstream : op_stream(plan_, op))
      if (!ops_[upstream].started) return false;
    return true;
  }

  // The launch on one side: behind the earlier ones of its lane.
  double launched_s(OpId op, bool at_source) {
    const double occupancy_s = lane_occupancy_s(plan_, op, at_source);
    if (occupancy_s == 0) return now_s_;
    const auto rank =
        static_cast<std::size_t>(at_source ? plan_.op_source[op] : plan_.op_destination[op]);
    double& free_s =
        lane_free_s_[rank * kLanes + static_cast<std::size_t>(lane_of(plan_, op, at_source))];
    free_s = std::max(free_s, now_s_) + occupancy_s;
    return free_s;
  }

  // All that may start now do, by key.
  bool start() {
    while (post()) {
    }
    std::vector<OpId> starting;
    for (OpId op = 0; op < n_; ++op)
      if (may_start(op)) starting.push_back(op);
    for (OpId op : starting) {
      State& state = ops_[op];
      state.started = true;
      state.flow_s = now_s_;
      if (plan_.op_kind[op] == static_cast<std::uint8_t>(OpKind::kFence)) continue;
      state.flow_s = std::max(launched_s(op, true), launched_s(op, false));
      for (OpId upstream : op_stream(plan_, op))
        state.flow_s = std::max(state.flow_s, ops_[upstream].first_landed_s);
      state.flow_s += costs_.latency_s[op];
      if (plan_.op_bytes[op] > 0)
        state.first_landed_s =
            state.flow_s +
            costs_.pure_s[op] * std::min(1.0, static_cast<double>(plan_.header().piece_bytes) /
                                                  static_cast<double>(plan_.op_bytes[op]));
    }
    return !starting.empty();
  }

  // All that may end now do: drained, and their upstreams have ended.
  bool end() {
    bool changed = false;
    for (OpId op = 0; op < n_; ++op) {
      State& state = ops_[op];
      if (state.started && !state.drained && state.flow_s <= now_s_ * (1 + kSameInstant)) {
        state.flowing = state.left > 0;
        state.drained = !state.flowing;
      }
      if (!state.drained || state.done) continue;
      bool held = false;
      for (OpId upstream : op_stream(plan_, op)) held |= !ops_[upstream].done;
      if (held) continue;
      changed = state.done = true;
      state.finish_s = now_s_;
    }
    return changed;
  }

  // Progressive filling: the link with the least share per unfixed flow fixes its flows, and so on.
  void share() {
    std::vector<bool> fixed(n_, false);
    std::vector<double> room(plan_.link_kind.size());
    for (std::uint32_t link = 0; link < room.size(); ++link)
      room[link] = static_cast<double>(link_achieved_rate(plan_, link));
    while (true) {
      std::vector<int> flowing(room.size(), 0);
      for (OpId op = 0; op < n_; ++op)
        if (ops_[op].flowing && !fixed[op])
          for (std::uint32_t link : ops_[op].links) ++flowing[link];
      double least = kNever;
      std::uint32_t tightest = 0;
      for (std::uint32_t link = 0; link < room.size(); ++link) {
        if (flowing[link] == 0 || room[link] / flowing[link] >= least) continue;
        least = room[link] / flowing[link];
        tightest = link;
      }
      if (least == kNever) return;
      for (OpId op = 0; op < n_; ++op) {
        const auto& links = ops_[op].links;
        if (!ops_[op].flowing || fixed[op] ||
            std::find(links.begin(), links.end(), tightest) == links.end())
          continue;
        fixed[op] = true;
        ops_[op].rate = least;
        for (std::uint32_t link : links) room[link] -= least;
      }
    }
  }

  double event_s(OpId op) const {
    const State& state = ops_[op];
    if (!state.started || state.drained) return kNever;
    return state.flowing ? now_s_ + state.left / state.rate : state.flow_s;
  }

  double next_event_s() const {
    double next_s = kNever;
    for (OpId op = 0; op < n_; ++op) next_s = std::min(next_s, event_s(op));
    return next_s;
  }

  void advance(double to_s) {
    for (OpId op = 0; op < n_; ++op) {
      State& state = ops_[op];
      if (!state.flowing) continue;
      if (event_s(op) <= to_s * (1 + kSameInstant)) {
        state.flowing = false;
        state.left = 0;
        state.drained = true;
      } else {
        state.left -= state.rate * (to_s - now_s_);
      }
    }
    now_s_ = to_s;
  }

  const Plan& plan_;
  OperationCosts costs_;
  OpId n_;
  std::vector<State> ops_;
  std::vector<double> lane_free_s_;
  double now_s_ = 0;
};

}  // namespace transload
