// What an operation costs by itself, before anything is shared: bytes on its links, and its pure
// delays.
//
// Both the replay (SimGrid) and the closed-form estimate start from these columns, so that the two
// differ in contention only. Seconds and bytes as double: this is the first place behind the
// planner where numbers stop being integers.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/schedule/access.h"

namespace transload {

inline constexpr OpId kNoOperation = UINT32_MAX;

struct OperationCosts {
  // Bytes that the links carry. Copies: payload twice (read and write) over the run-length
  // efficiency; converts: what they read and write, over that and the rate of conversions. 0 for
  // fences, host work, and where every link of the operation costs no time.
  std::vector<double> wire_bytes;
  // wire_bytes at the achieved rate of the slowest of the operation's links: its time alone.
  std::vector<double> pure_s;
  // Delay that overlaps with other operations: the larger latency of its ports and that of its
  // paths; host work: its duration.
  std::vector<double> latency_s;
};

OperationCosts operation_costs(const Plan& plan);

// SimGrid counts payload in whole units: this many to a byte, so that copies with odd efficiencies
// stay exact in the smallest jobs; 1 where the largest operation would no longer fit.
double payload_units_per_byte(const OperationCosts& costs);

// Fraction of the HBM rate that a copy with runs of `run_bytes` reaches on this GPU model: linear
// between the table's points, flat outside them; 1 for run_bytes 0 (contiguous) and for models
// without a table.
double copy_efficiency(const Plan& plan, std::int32_t gpu_model, std::uint32_t run_bytes);

// Rate of a convert's kernel in terms of the achieved rate of its HBM link; 1 where the GPU model
// states none.
double convert_efficiency(const Plan& plan, OpId op);

// Achieved rate of the slowest link of a copy or transfer, bytes/s; 0 where none of them costs
// time.
double operation_rate(const Plan& plan, OpId op);

// Seconds that the operation holds its lane at one of its ranks. The receiver of a one-sided write
// launches nothing, so its lane stays free.
double lane_occupancy_s(const Plan& plan, OpId op, bool at_source);

inline bool is_transfer(const Plan& plan, OpId op) {
  return op_kind(plan, op) == OpKind::kTransfer;
}

}  // namespace transload
