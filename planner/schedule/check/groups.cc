#include <fmt/format.h>

#include <algorithm>

#include "planner/schedule/check/checks.h"

// Works the plan off under the rule of planner/schedule/issue.h for `groups`, every operation
// finishing as soon as it may start. All conditions of that rule only ever become true, so if this
// run ends, every run ends, and if it stalls, every run stalls: the contracted graph (one node per
// rank and group, one per operation) has a cycle. A stream hop needs its upstream started; what has
// started also finishes, so "finished" stands for both here.
//
// An issue node waits for: the same rank's previous group with transfers; every local `after`
// predecessor of its transfers. A transfer waits for both its issue nodes and all its edges; a copy
// or host operation for its edges and its place in its port's list (window included).

namespace transload {
namespace {

constexpr std::uint32_t kNoNode = UINT32_MAX;

struct IssueNode {
  std::int32_t rank = 0;
  std::int32_t group = 0;
  std::uint32_t missing = 0;     // things that the node still waits for
  std::uint32_t unfinished = 0;  // its transfers
  std::uint64_t begin = 0;       // its transfers, in GroupRun::transfers_
  std::uint64_t end = 0;
  bool last_of_rank = true;
};

class GroupRun {
 public:
  explicit GroupRun(const Plan& plan)
      : plan_(plan),
        missing_(plan.operations(), 0),
        node_at_source_(plan.operations(), kNoNode),
        node_at_destination_(plan.operations(), kNoNode),
        done_(plan.operations(), 0) {
    lay_out_nodes();
    lay_out_waits();
    lay_out_ports();
  }

  // Operations that never finish, least id first; empty if the plan can be worked off.
  std::vector<OpId> stalled() {
    for (std::size_t port = 0; port < plan_.ports(); ++port) post(port);
    for (std::uint32_t node = 0; node < nodes_.size(); ++node)
      if (nodes_[node].missing == 0) issue(node);
    for (OpId op = 0; op < plan_.operations(); ++op)
      if (missing_[op] == 0 && unposted(op)) ready_.push_back(op);
    while (!ready_.empty()) {
      const OpId op = ready_.back();
      ready_.pop_back();
      finish(op);
    }
    std::vector<OpId> left;
    for (OpId op = 0; op < plan_.operations(); ++op)
      if (!done_[op]) left.push_back(op);
    return left;
  }

  // In words, what holds the operation back first.
  std::string blocker(OpId op) const {
    for (const auto* edges : {&plan_.op_after, &plan_.op_stream}) {
      const auto& first = edges == &plan_.op_after ? plan_.op_after_first : plan_.op_stream_first;
      for (std::uint64_t i = first[op]; i < first[op + 1]; ++i)
        if (!done_[(*edges)[i]]) return fmt::format("operation {}", (*edges)[i]);
    }
    for (const std::uint32_t node : {node_at_source_[op], node_at_destination_[op]})
      if (node != kNoNode && nodes_[node].missing > 0)
        return fmt::format("the issue of group {} on rank {}", nodes_[node].group,
                           nodes_[node].rank);
    return "its port";
  }

 private:
  bool is_transfer(OpId op) const { return op_kind(plan_, op) == OpKind::kTransfer; }
  bool unposted(OpId op) const { return !is_transfer(op) && plan_.op_out_port[op] < 0; }

  void lay_out_nodes() {
    std::vector<OpId> ops;
    for (std::size_t rank = 0; rank < plan_.ranks(); ++rank) {
      const auto r = static_cast<std::int32_t>(rank);
      ops.clear();
      for (const OpId op : program(plan_, r))
        if (is_transfer(op)) ops.push_back(op);
      std::stable_sort(ops.begin(), ops.end(),
                       [&](OpId a, OpId b) { return plan_.op_group[a] < plan_.op_group[b]; });
      for (std::size_t i = 0; i < ops.size(); ++i) {
        const OpId op = ops[i];
        const bool first_of_rank = i == 0;
        if (first_of_rank || plan_.op_group[ops[i - 1]] != plan_.op_group[op]) {
          if (!first_of_rank) nodes_.back().last_of_rank = false;
          nodes_.push_back({r, plan_.op_group[op], first_of_rank ? 0u : 1u, 0, transfers_.size(),
                            transfers_.size(), true});
        }
        transfers_.push_back(op);
        ++nodes_.back().end;
        ++nodes_.back().unfinished;
        auto& node = plan_.op_source[op] == r ? node_at_source_ : node_at_destination_;
        node[op] = static_cast<std::uint32_t>(nodes_.size() - 1);
      }
    }
  }

  bool runs_on(OpId op, std::int32_t rank) const {
    return plan_.op_source[op] == rank || plan_.op_destination[op] == rank;
  }

  // For every edge: what it releases when its predecessor finishes. Calls visit(predecessor, op,
  // node): node is an issue node that the edge holds back, or kNoNode for the operation itself.
  template <class Visit>
  void for_each_wait(Visit&& visit) const {
    for (OpId op = 0; op < plan_.operations(); ++op) {
      for (const OpId before : op_after(plan_, op)) {
        visit(before, op, kNoNode);
        if (!is_transfer(op)) continue;
        if (runs_on(before, plan_.op_source[op])) visit(before, op, node_at_source_[op]);
        if (runs_on(before, plan_.op_destination[op])) visit(before, op, node_at_destination_[op]);
      }
      for (const OpId upstream : op_stream(plan_, op)) visit(upstream, op, kNoNode);
    }
  }

  struct Wait {
    OpId op;
    std::uint32_t node;
  };

  void lay_out_waits() {
    wait_first_.assign(plan_.operations() + 1, 0);
    for_each_wait([&](OpId before, OpId op, std::uint32_t node) {
      ++wait_first_[before + 1];
      ++(node == kNoNode ? missing_[op] : nodes_[node].missing);
    });
    for (std::size_t i = 0; i < plan_.operations(); ++i) wait_first_[i + 1] += wait_first_[i];
    waits_.resize(wait_first_.back());
    std::vector<std::uint64_t> next(wait_first_.begin(), wait_first_.end() - 1);
    for_each_wait([&](OpId before, OpId op, std::uint32_t node) {
      waits_[next[before]++] = {op, node};
    });
    for (OpId op = 0; op < plan_.operations(); ++op)
      missing_[op] += is_transfer(op) ? 2u : plan_.op_out_port[op] >= 0 ? 1u : 0u;
  }

  void lay_out_ports() {
    port_first_.assign(plan_.ports() + 1, 0);
    const auto for_each_posted = [&](auto&& visit) {
      for (OpId op = 0; op < plan_.operations(); ++op)
        if (!is_transfer(op) && plan_.op_out_port[op] >= 0)
          visit(static_cast<std::size_t>(plan_.op_out_port[op]), op);
    };
    for_each_posted([&](std::size_t port, OpId) { ++port_first_[port + 1]; });
    for (std::size_t port = 0; port < plan_.ports(); ++port)
      port_first_[port + 1] += port_first_[port];
    port_ops_.resize(port_first_.back());
    port_next_.assign(port_first_.begin(), port_first_.end() - 1);
    for_each_posted([&](std::size_t port, OpId op) { port_ops_[port_next_[port]++] = op; });
    port_next_.assign(port_first_.begin(), port_first_.end() - 1);
    port_open_.assign(plan_.ports(), 0);
  }

  void release(OpId op) {
    if (--missing_[op] == 0) ready_.push_back(op);
  }

  void post(std::size_t port) {
    while (port_next_[port] < port_first_[port + 1] && port_open_[port] < plan_.port_window[port]) {
      ++port_open_[port];
      release(port_ops_[port_next_[port]++]);
    }
  }

  void issue(std::uint32_t node) {
    for (std::uint64_t i = nodes_[node].begin; i < nodes_[node].end; ++i) release(transfers_[i]);
  }

  void unblock(std::uint32_t node) {
    if (--nodes_[node].missing == 0) issue(node);
  }

  void finish(OpId op) {
    done_[op] = 1;
    for (std::uint64_t i = wait_first_[op]; i < wait_first_[op + 1]; ++i) {
      if (waits_[i].node == kNoNode)
        release(waits_[i].op);
      else
        unblock(waits_[i].node);
    }
    if (is_transfer(op)) {
      for (const std::uint32_t node : {node_at_source_[op], node_at_destination_[op]})
        if (--nodes_[node].unfinished == 0 && !nodes_[node].last_of_rank) unblock(node + 1);
    } else if (plan_.op_out_port[op] >= 0) {
      const auto port = static_cast<std::size_t>(plan_.op_out_port[op]);
      --port_open_[port];
      post(port);
    }
  }

  const Plan& plan_;
  std::vector<std::uint32_t> missing_;
  std::vector<std::uint32_t> node_at_source_;
  std::vector<std::uint32_t> node_at_destination_;
  std::vector<std::uint8_t> done_;
  std::vector<IssueNode> nodes_;
  std::vector<OpId> transfers_;
  std::vector<std::uint64_t> wait_first_;
  std::vector<Wait> waits_;
  std::vector<std::uint64_t> port_first_;
  std::vector<std::uint64_t> port_next_;
  std::vector<std::uint32_t> port_open_;
  std::vector<OpId> port_ops_;
  std::vector<OpId> ready_;
};

}  // namespace

void check_groups(const Plan& plan, Findings& findings) {
  if (plan.header().discipline != Discipline::kGroups) return;
  bool grouped = true;
  for (OpId op = 0; op < plan.operations() && !findings.full(); ++op) {
    if (op_kind(plan, op) != OpKind::kTransfer || plan.op_group[op] >= 0) continue;
    grouped = false;
    findings.add(kAcyclic, fmt::format("{} has no group, but the plan is issued in groups",
                                       describe_op(plan, op)));
  }
  if (!grouped || findings.full()) return;
  GroupRun run(plan);
  const std::vector<OpId> stalled = run.stalled();
  if (stalled.empty()) return;
  findings.add(kAcyclic,
               fmt::format("the groups deadlock: {} (group {}) waits forever for {}; {} operations "
                           "never finish",
                           describe_op(plan, stalled[0]), plan.op_group[stalled[0]],
                           run.blocker(stalled[0]), stalled.size()));
}

}  // namespace transload
