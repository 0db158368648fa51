// Stream edges: hops of a collective that move a piece on as soon as it has landed.
//
// A downstream hop starts with its upstreams, its first byte flows when the first piece of each has
// landed, and it ends no earlier than they do. Plans without stream edges pay nothing for this.
#pragma once

#include <vector>

#include "simulator/replay/operation_cost.h"

namespace transload {

class Streams {
 public:
  Streams(const Plan& plan, const OperationCosts& costs);

  // When the first piece of every upstream of `op` has landed; 0 without upstreams.
  double first_pieces_landed_s(OpId op) const;
  // Notes that the first byte of `op` flows at `flow_s`.
  void flows(OpId op, double flow_s);

  // `op` has moved its last byte. True if it may end; false if an upstream has not ended yet, in
  // which case `ended` of that upstream releases it.
  bool drained(OpId op);
  // Notes that `op` has ended and appends the downstream hops that waited for just that.
  void ended(OpId op, std::vector<OpId>& released);

 private:
  bool upstreams_ended(OpId op) const;

  const Plan& plan_;
  bool any_;
  std::vector<double> piece_s_;  // time of one piece at the operation's rate
  std::vector<double> first_landed_s_;
  std::vector<std::uint8_t> ended_;
  std::vector<std::uint8_t> held_;
  Successors downstream_;
};

}  // namespace transload
