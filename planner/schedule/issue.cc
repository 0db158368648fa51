#include "planner/schedule/issue.h"

#include <algorithm>

#include "common/check.h"

namespace transload {

IssueState::IssueState(const Plan& plan, PostedCallback posted, const Hosting* hosting)
    : plan_(plan),
      posted_(std::move(posted)),
      hosting_(hosting),
      discipline_(plan.header().discipline),
      lists_(port_lists(plan)),
      after_(after_successors(plan)),
      stream_(stream_successors(plan)),
      port_cursor_(plan.ports(), 0),
      port_in_flight_(plan.ports(), 0),
      waiting_(plan.operations(), 0),
      done_(plan.operations(), 0) {
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (!sees(op)) continue;
    waiting_[op] = missing(op);
    ++unfinished_;
  }
  if (discipline_ == Discipline::kGroups) build_groups();
}

// How much must happen here before the operation may start: postings and predecessors.
std::uint32_t IssueState::missing(OpId op) const {
  std::uint32_t count = 0;
  if (plan_.op_out_port[op] >= 0 && hosts(plan_.op_source[op])) ++count;
  if (plan_.op_in_port[op] >= 0 && hosts(plan_.op_destination[op])) ++count;
  for (const std::span<const OpId> edges : {op_after(plan_, op), op_stream(plan_, op)})
    for (const OpId before : edges)
      if (waits_here(op, before)) ++count;
  return count;
}

bool IssueState::grouped(OpId op) const {
  return discipline_ == Discipline::kGroups && op_kind(plan_, op) == OpKind::kTransfer;
}

// Lays out, rank by rank, the groups that have transfers, and who unblocks each.
void IssueState::build_groups() {
  struct Entry {
    std::int32_t group;
    OpId op;
  };
  op_group_at_source_.assign(plan_.operations(), 0);
  op_group_at_destination_.assign(plan_.operations(), 0);
  rank_group_first_.push_back(0);
  group_op_first_.push_back(0);
  std::vector<Entry> entries;
  for (std::size_t rank = 0; rank < plan_.ranks(); ++rank) {
    entries.clear();
    if (hosts(static_cast<std::int32_t>(rank)))
      for (OpId op : program(plan_, static_cast<std::int32_t>(rank)))
        if (grouped(op)) entries.push_back({plan_.op_group[op], op});
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.group < b.group; });
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const OpId op = entries[i].op;
      if (i == 0 || entries[i].group != entries[i - 1].group) {
        group_unfinished_.push_back(0);
        group_blocked_.push_back(i == 0 ? 0 : 1);
        group_op_first_.push_back(group_op_.size());
      }
      const auto slot = static_cast<std::uint32_t>(group_unfinished_.size() - 1);
      const bool at_source = plan_.op_source[op] == static_cast<std::int32_t>(rank);
      (at_source ? op_group_at_source_ : op_group_at_destination_)[op] = slot;
      group_op_.push_back(op);
      group_op_first_.back() = group_op_.size();
      ++group_unfinished_[slot];
    }
    rank_group_first_.push_back(group_unfinished_.size());
  }

  // Predecessors on a rank hold back the group that this rank issues the transfer in.
  const auto for_each_local_edge = [&](auto&& visit) {
    for (OpId op = 0; op < plan_.operations(); ++op) {
      if (!grouped(op) || !sees(op)) continue;
      for (OpId before : op_after(plan_, op)) {
        const auto touches = [&](std::int32_t rank) {
          return hosts(rank) &&
                 (plan_.op_source[before] == rank || plan_.op_destination[before] == rank);
        };
        if (touches(plan_.op_source[op])) visit(before, op_group_at_source_[op]);
        if (touches(plan_.op_destination[op])) visit(before, op_group_at_destination_[op]);
      }
    }
  };
  local_group_first_.assign(plan_.operations() + 1, 0);
  for_each_local_edge([&](OpId before, std::uint32_t slot) {
    ++local_group_first_[before + 1];
    ++group_blocked_[slot];
  });
  for (std::size_t op = 0; op < plan_.operations(); ++op)
    local_group_first_[op + 1] += local_group_first_[op];
  local_group_.resize(local_group_first_.back());
  std::vector<std::uint64_t> next(local_group_first_.begin(), local_group_first_.end() - 1);
  for_each_local_edge(
      [&](OpId before, std::uint32_t slot) { local_group_[next[before]++] = slot; });
}

void IssueState::release(OpId op, std::vector<OpId>& ready) {
  TRANSLOAD_CHECK(waiting_[op] > 0, "an operation is released once per thing it waits for");
  if (--waiting_[op] == 0) ready.push_back(op);
}

void IssueState::post_port(std::size_t port, std::vector<OpId>& ready) {
  const std::span<const OpId> list = lists_.of(port);
  const auto kind = static_cast<PortKind>(plan_.port_kind[port]);
  // One-sided writes: the receiver is passive and holds nothing back.
  const bool passive =
      plan_.header().one_sided && (kind == PortKind::kNicIn || kind == PortKind::kNvlinkIn);
  const std::uint32_t window =
      discipline_ == Discipline::kUnbounded || passive ? UINT32_MAX : plan_.port_window[port];
  while (port_cursor_[port] < list.size() && port_in_flight_[port] < window) {
    const OpId op = list[port_cursor_[port]++];
    if (grouped(op)) continue;                // posted by its ranks' groups
    if (!hosts(rank_at(op, port))) continue;  // a NIC that processes share: each posts its own
    ++port_in_flight_[port];
    if (posted_) posted_(op, static_cast<std::int32_t>(port));
    release(op, ready);
  }
}

void IssueState::post_group(std::size_t slot, std::vector<OpId>& ready) {
  for (std::uint64_t i = group_op_first_[slot]; i < group_op_first_[slot + 1]; ++i) {
    const OpId op = group_op_[i];
    const bool at_source = op_group_at_source_[op] == slot;
    const std::int32_t port = at_source ? plan_.op_out_port[op] : plan_.op_in_port[op];
    if (posted_) posted_(op, port);
    release(op, ready);
  }
}

void IssueState::begin(std::vector<OpId>& ready) {
  for (OpId op = 0; op < plan_.operations(); ++op)
    if (waiting_[op] == 0 && sees(op)) ready.push_back(op);
  for (std::size_t port = 0; port < plan_.ports(); ++port) post_port(port, ready);
  for (std::size_t slot = 0; slot < group_blocked_.size(); ++slot)
    if (group_blocked_[slot] == 0) post_group(slot, ready);
}

void IssueState::started(OpId op, std::vector<OpId>& ready) {
  for (OpId next : stream_.of(op))
    if (waits_here(next, op)) release(next, ready);
}

void IssueState::finished_elsewhere(OpId op, std::vector<OpId>& ready) {
  for (OpId next : after_.of(op))
    if (waits_here(next, op)) release(next, ready);
}

std::vector<std::int32_t> IssueState::to_notify(OpId op) const {
  if (hosting_ == nullptr) return {};
  return hosting_->to_notify(plan_, op, after_.of(op));
}

void IssueState::finished(OpId op, std::vector<OpId>& ready) {
  TRANSLOAD_CHECK(!done_[op], "an operation finishes once");
  done_[op] = 1;
  --unfinished_;
  for (OpId next : after_.of(op))
    if (waits_here(next, op)) release(next, ready);
  if (discipline_ == Discipline::kGroups) {
    const auto unblock = [&](std::size_t slot) {
      if (--group_blocked_[slot] == 0) post_group(slot, ready);
    };
    for (std::uint64_t i = local_group_first_[op]; i < local_group_first_[op + 1]; ++i)
      unblock(local_group_[i]);
    if (grouped(op)) {
      const auto leave = [&](std::int32_t rank, std::size_t slot) {
        if (!hosts(rank)) return;
        const bool last_of_rank = slot + 1 == rank_group_first_[static_cast<std::size_t>(rank) + 1];
        if (--group_unfinished_[slot] == 0 && !last_of_rank) unblock(slot + 1);
      };
      leave(plan_.op_source[op], op_group_at_source_[op]);
      leave(plan_.op_destination[op], op_group_at_destination_[op]);
      return;
    }
  }
  for (std::int32_t port : {plan_.op_out_port[op], plan_.op_in_port[op]}) {
    if (port < 0 || !hosts(rank_at(op, static_cast<std::size_t>(port)))) continue;
    --port_in_flight_[static_cast<std::size_t>(port)];
    post_port(static_cast<std::size_t>(port), ready);
  }
}

OpId IssueState::least_unfinished() const {
  for (OpId op = 0; op < done_.size(); ++op)
    if (!done_[op] && sees(op)) return op;
  return static_cast<OpId>(done_.size());
}

}  // namespace transload
