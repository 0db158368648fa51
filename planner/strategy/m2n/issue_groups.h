// Issue groups for operations that are emitted in an order that respects their edges.
//
// A rank issues its groups one after the other, so what stands in one group should start at about
// the same time. Every transfer is given an estimated start, as if its ports served one transfer
// after the other, and goes into the group of that time; or into the first group after everything
// it waits for, if that is later. Group numbers thus rise along every path of edges, and ranks that
// issue their groups in ascending order cannot wait in a circle. Internal to planner/strategy/m2n.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/schedule/plan.h"

namespace transload {

class IssueGroups {
 public:
  // `port_rates`: achieved bytes/s, which must outlive this; `exist`: without it nothing has a
  // group.
  IssueGroups(std::span<const std::int64_t> port_rates, bool exist)
      : port_rates_(port_rates), exist_(exist), free_ps_(port_rates.size(), 0) {}

  bool exist() const { return exist_; }
  // The time that one group stands for; at least 1 picosecond.
  void set_span_ps(std::int64_t span_ps) { span_ps_ = span_ps; }

  // The group of a transfer that waits for `before`, or kNone; it is the next operation.
  std::int32_t place(std::int32_t out_port, std::int32_t in_port, std::int64_t bytes,
                     std::span<const OpId> before);
  // The next operation is no transfer.
  void pass(std::span<const OpId> before);

 private:
  // Of an operation: the latest group on any path of edges to it, and its estimated end.
  struct Place {
    std::int32_t group = kNone;
    std::int64_t end_ps = 0;
  };
  Place latest(std::span<const OpId> before) const;

  std::span<const std::int64_t> port_rates_;
  bool exist_;
  std::int64_t span_ps_ = 1;
  std::vector<std::int64_t> free_ps_;  // by port
  std::vector<Place> places_;          // by operation
};

}  // namespace transload
