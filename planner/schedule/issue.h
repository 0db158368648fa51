// The issue rule: which operations may start, given which have started and finished.
//
// The same in every executor and in the simulator, so it lives with the schedule. `windows`: a port
// posts its operations in key order and has at most its window posted and unfinished; an operation
// starts when it is posted at all its ports, its `after` edges have finished and its `stream`
// upstreams have started. `groups`: transfers are posted by rank instead: a rank issues its group i
// when all of its group i-1 has finished and everything on this rank that group i's transfers wait
// for has finished; copies and host work keep their port lists. `unbounded`: every operation is
// posted at once.
//
// Why it cannot deadlock: keys rise along every edge and every list, so the unfinished operation
// with the least key is at the head of all its lists.
//
// Where several processes run one plan (planner/schedule/hosting.h), each keeps the state of its
// own ranks: their ports, their groups, their halves of transfers.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/schedule/access.h"
#include "planner/schedule/hosting.h"

namespace transload {

class IssueState {
 public:
  // Called once per (operation, port) in posting order; may be empty. The simulator and the engine
  // use it to stamp `posted_s`. Under `groups` a transfer's posting at its out and in port are
  // separate calls.
  using PostedCallback = std::function<void(OpId, std::int32_t port)>;

  // With `hosting`, which must outlive it: of the ranks hosted here only.
  explicit IssueState(const Plan& plan, PostedCallback posted = {},
                      const Hosting* hosting = nullptr);

  // Appends to `ready` what may start at the beginning; call once.
  void begin(std::vector<OpId>& ready);
  // Report that an operation has started (its stream successors may follow) or finished.
  // An operation is reported started before it is reported finished. Appends to `ready`, in key
  // order of discovery, every operation that may now start; each operation is appended exactly once
  // overall.
  void started(OpId op, std::vector<OpId>& ready);
  void finished(OpId op, std::vector<OpId>& ready);

  // Report that an operation that is not seen here, but waited for, has finished elsewhere.
  void finished_elsewhere(OpId op, std::vector<OpId>& ready);
  // Who must be told that `op` has finished; empty without hosting.
  std::vector<std::int32_t> to_notify(OpId op) const;

  std::size_t unfinished() const { return unfinished_; }
  // After a run that stalled: the unfinished operation with the least key, for error messages.
  OpId least_unfinished() const;

 private:
  void post_port(std::size_t port, std::vector<OpId>& ready);
  void post_group(std::size_t slot, std::vector<OpId>& ready);
  void release(OpId op, std::vector<OpId>& ready);
  bool grouped(OpId op) const;
  bool hosts(std::int32_t rank) const { return hosting_ == nullptr || hosting_->hosts(rank); }
  bool sees(OpId op) const { return hosting_ == nullptr || hosting_->sees(plan_, op); }
  bool waits_here(OpId op, OpId before) const {
    return hosting_ == nullptr || hosting_->waits_here(plan_, op, before);
  }
  std::uint32_t missing(OpId op) const;
  // The rank whose side of the operation a port is on.
  std::int32_t rank_at(OpId op, std::size_t port) const {
    return plan_.op_out_port[op] == static_cast<std::int32_t>(port) ? plan_.op_source[op]
                                                                    : plan_.op_destination[op];
  }
  void build_groups();

  const Plan& plan_;
  PostedCallback posted_;
  const Hosting* hosting_;
  Discipline discipline_;
  PortLists lists_;
  Successors after_;
  Successors stream_;
  std::vector<std::uint32_t> port_cursor_;     // next to post
  std::vector<std::uint32_t> port_in_flight_;  // posted and unfinished
  std::vector<std::uint32_t> waiting_;  // postings + after + stream still missing, per operation
  std::vector<std::uint8_t> done_;
  std::size_t unfinished_ = 0;
  // groups: (rank, group) pairs that have transfers, rank by rank in group order.
  std::vector<std::uint64_t> rank_group_first_;  // R + 1
  std::vector<std::uint64_t> group_op_first_;    // per (rank, group), + 1
  std::vector<OpId> group_op_;
  std::vector<std::uint32_t> group_unfinished_;  // transfers not finished
  std::vector<std::uint32_t> group_blocked_;  // local predecessors not finished, + 1 for group i-1
  std::vector<std::uint64_t>
      local_group_first_;  // CSR: operation -> (rank, group) entries it unblocks
  std::vector<std::uint32_t> local_group_;
  std::vector<std::uint32_t> op_group_at_source_;
  std::vector<std::uint32_t> op_group_at_destination_;
};

}  // namespace transload
