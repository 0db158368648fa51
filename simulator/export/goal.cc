#include "simulator/export/goal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include "planner/schedule/text.h"
#include "simulator/replay/operation_cost.h"

namespace transload {
namespace {

constexpr double kNanoseconds = 1e9;

// An edge between operations that share no rank: a message of one byte carries it.
struct Signal {
  OpId from = 0;
  OpId to = 0;
  std::uint64_t tag = 0;
};

class GoalWriter {
 public:
  GoalWriter(const Plan& plan, std::ostream& out)
      : plan_(plan), out_(out), costs_(operation_costs(plan)) {
    number_nics();
    find_window_edges();
    find_signals();
  }

  void write() {
    out_ << "// " << one_line(plan_.header().job_name + ", " + plan_.header().strategy)
         << ": times in nanoseconds\nnum_ranks " << plan_.ranks() << "\n";
    for (std::size_t rank = 0; rank < plan_.ranks(); ++rank) {
      text_ = fmt::format("\nrank {} {{\n", rank);
      write_rank(static_cast<std::int32_t>(rank));
      out_ << text_ << "}\n";
    }
  }

 private:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }

  bool at(OpId op, std::int32_t rank) const {
    return plan_.op_source[op] == rank || plan_.op_destination[op] == rank;
  }

  bool over_network(OpId op) const {
    const std::int32_t port = plan_.op_out_port[op];
    return port >= 0 && static_cast<PortKind>(plan_.port_kind[static_cast<std::size_t>(port)]) ==
                            PortKind::kNicOut;
  }

  // NICs of a rank by number, in the order of its ports.
  void number_nics() {
    nic_of_port_.assign(plan_.ports(), 0);
    std::vector<std::array<std::uint32_t, 2>> next(plan_.ranks(), {0, 0});
    for (std::size_t port = 0; port < plan_.ports(); ++port) {
      const auto kind = static_cast<PortKind>(plan_.port_kind[port]);
      if (kind != PortKind::kNicOut && kind != PortKind::kNicIn) continue;
      nic_of_port_[port] =
          next[static_cast<std::size_t>(plan_.port_rank[port])][kind == PortKind::kNicIn]++;
    }
  }

  bool has_window(PortKind kind) const {
    const PlanHeader& header = plan_.header();
    const bool copies =
        kind == PortKind::kPack || kind == PortKind::kUnpack || kind == PortKind::kHost;
    const bool receives = kind == PortKind::kNicIn || kind == PortKind::kNvlinkIn;
    if (copies) return header.discipline != Discipline::kUnbounded;
    return header.discipline == Discipline::kWindows && !(receives && header.one_sided);
  }

  // The operation that has to end before an operation is posted, at either of its ports.
  void find_window_edges() {
    before_out_.assign(plan_.operations(), kNoOperation);
    before_in_.assign(plan_.operations(), kNoOperation);
    const PortLists lists = port_lists(plan_);
    for (std::size_t port = 0; port < plan_.ports(); ++port) {
      const auto kind = static_cast<PortKind>(plan_.port_kind[port]);
      if (!has_window(kind)) continue;
      const auto ops = lists.of(port);
      for (std::size_t i = plan_.port_window[port]; i < ops.size(); ++i) {
        const OpId op = ops[i];
        const bool sends = plan_.op_out_port[op] == static_cast<std::int32_t>(port);
        (sends ? before_out_ : before_in_)[op] = ops[i - plan_.port_window[port]];
      }
    }
  }

  void find_signals() {
    for (OpId op = 0; op < plan_.operations(); ++op)
      for (const OpId before : op_after(plan_, op))
        if (!at(before, plan_.op_source[op]) && !at(before, plan_.op_destination[op]))
          signals_.push_back({before, op, plan_.operations() + signals_.size()});
  }

  double alone_s(OpId op) const {
    return std::max(lane_occupancy_s(plan_, op, true), lane_occupancy_s(plan_, op, false)) +
           costs_.latency_s[op] + costs_.pure_s[op];
  }

  std::int64_t nanoseconds(OpId op) const {
    return op_kind(plan_, op) == OpKind::kFence ? 0 : std::llround(alone_s(op) * kNanoseconds);
  }

  int lane(OpId op, bool at_source) const {
    if (op_kind(plan_, op) == OpKind::kFence) return static_cast<int>(Lane::kHost);
    return static_cast<int>(lane_of(plan_, op, at_source));
  }

  void write_operation(OpId op, std::int32_t rank) {
    const std::int32_t source = plan_.op_source[op];
    const std::int32_t destination = plan_.op_destination[op];
    if (op_kind(plan_, op) != OpKind::kTransfer) {
      line("l{}: calc {} cpu {}", op, nanoseconds(op), lane(op, true));
      return;
    }
    const bool sends = rank == source;
    const bool network = over_network(op);
    const std::uint64_t bytes = network ? std::max<std::uint64_t>(1, plan_.op_bytes[op]) : 1;
    const std::int32_t port = sends ? plan_.op_out_port[op] : plan_.op_in_port[op];
    const std::uint32_t nic =
        network && port >= 0 ? nic_of_port_[static_cast<std::size_t>(port)] : 0;
    if (sends && !network) line("l{}: calc {} cpu {}", op, nanoseconds(op), lane(op, true));
    const char* name = sends && !network ? "m" : "l";
    if (sends)
      line("{}{}: send {}b to {} tag {} cpu {} nic {}", name, op, bytes, destination, op,
           lane(op, true), nic);
    else
      line("{}{}: recv {}b from {} tag {} cpu {} nic {}", name, op, bytes, source, op,
           lane(op, false), nic);
    if (sends && !network) line("m{} requires l{}", op, op);
  }

  void write_edges(OpId op, std::int32_t rank) {
    for (const OpId before : op_after(plan_, op))
      if (at(before, rank)) line("l{} requires l{}", op, before);
    for (const OpId before : op_stream(plan_, op))
      if (at(before, rank)) line("l{} irequires l{}", op, before);
    if (plan_.op_source[op] == rank) write_window_edge(op, before_out_[op], rank);
    if (plan_.op_destination[op] == rank) write_window_edge(op, before_in_[op], rank);
  }

  void write_window_edge(OpId op, OpId before, std::int32_t rank) {
    if (before != kNoOperation && at(before, rank)) line("l{} requires l{}", op, before);
  }

  // Issue groups: everything of one ends before anything of the next begins.
  void write_groups(std::int32_t rank) {
    if (plan_.header().discipline != Discipline::kGroups) return;
    std::vector<std::pair<std::int32_t, OpId>> members;
    for (const OpId op : program(plan_, rank))
      if (plan_.op_group[op] >= 0) members.emplace_back(plan_.op_group[op], op);
    std::stable_sort(members.begin(), members.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::size_t begin = 0;
    std::int32_t previous = kNone;
    while (begin < members.size()) {
      const std::int32_t group = members[begin].first;
      std::size_t end = begin;
      while (end < members.size() && members[end].first == group) ++end;
      line("g{}: calc 0", group);
      for (std::size_t i = begin; i < end; ++i) {
        line("g{} requires l{}", group, members[i].second);
        if (previous >= 0) line("l{} requires g{}", members[i].second, previous);
      }
      previous = group;
      begin = end;
    }
  }

  void write_signals(std::int32_t rank) {
    for (const Signal& signal : signals_) {
      const std::int32_t from = plan_.op_destination[signal.from];
      const std::int32_t to = plan_.op_source[signal.to];
      if (from == rank) {
        line("s{}: send 1b to {} tag {}", signal.tag, to, signal.tag);
        line("s{} requires l{}", signal.tag, signal.from);
      }
      if (to == rank) {
        line("s{}: recv 1b from {} tag {}", signal.tag, from, signal.tag);
        line("l{} requires s{}", signal.to, signal.tag);
      }
    }
  }

  void write_rank(std::int32_t rank) {
    const auto ops = program(plan_, rank);
    for (const OpId op : ops) write_operation(op, rank);
    for (const OpId op : ops) write_edges(op, rank);
    write_groups(rank);
    if (!signals_.empty()) write_signals(rank);
  }

  const Plan& plan_;
  std::ostream& out_;
  OperationCosts costs_;
  std::string text_;
  std::vector<std::uint32_t> nic_of_port_;
  std::vector<OpId> before_out_;
  std::vector<OpId> before_in_;
  std::vector<Signal> signals_;
};

}  // namespace

void write_goal(const Plan& plan, std::ostream& out) { GoalWriter(plan, out).write(); }

}  // namespace transload
