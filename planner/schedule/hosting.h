// Which process hosts which ranks when several processes run one plan, and what each of them can
// see of it.
//
// A process sees the operations of its own ranks. A transfer between two processes is seen by both
// and done by both in halves, which meet on the wire. An edge between two operations that share a
// process is kept by that process alone; an edge between operations that share none is kept by a
// notice, from the process where the first ends to the process of the second's source.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/schedule/access.h"

namespace transload {

class Hosting {
 public:
  // `process_of[r]` is the process of rank r. One entry for every rank of the plan.
  Hosting(std::vector<std::int32_t> process_of, std::int32_t self);

  // The participants of a plan, in order, shared out evenly over `processes`; ranks that take no
  // part belong to process 0. InputError if there are fewer participants than processes.
  static Hosting blocks(const Plan& plan, std::int32_t processes, std::int32_t self);

  std::int32_t self() const { return self_; }
  std::int32_t processes() const { return processes_; }
  std::int32_t process_of(std::int32_t rank) const {
    return process_of_[static_cast<std::size_t>(rank)];
  }
  bool hosts(std::int32_t rank) const { return process_of(rank) == self_; }
  // One of the operation's ranks is hosted here.
  bool sees(const Plan& plan, OpId op) const {
    return hosts(plan.op_source[op]) || hosts(plan.op_destination[op]);
  }
  // The operation moves bytes from one process to another.
  bool crosses(const Plan& plan, OpId op) const {
    return process_of(plan.op_source[op]) != process_of(plan.op_destination[op]);
  }
  bool share_a_process(const Plan& plan, OpId a, OpId b) const;
  // Must `op`, which is seen here, wait here for `before`?
  bool waits_here(const Plan& plan, OpId op, OpId before) const;
  // The processes that must be told when `op` has finished, ascending; empty unless `op` ends here.
  std::vector<std::int32_t> to_notify(const Plan& plan, OpId op,
                                      std::span<const OpId> successors) const;

 private:
  std::vector<std::int32_t> process_of_;
  std::int32_t self_;
  std::int32_t processes_ = 0;
};

}  // namespace transload
