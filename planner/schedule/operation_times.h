// What an operation costs by itself, in integers: bytes on its links, launches and latency.
//
// The planner chooses among schedules by how long they take, and every machine must choose the
// same: so these are whole picoseconds and bytes. simulator/replay/operation_cost.h says the same
// in seconds, for predictions that people read; a test holds the two together.
#pragma once

#include <cstdint>

#include "planner/schedule/access.h"

namespace transload {

// Bytes that the links of the operation carry. Copies: payload twice (read and write) over the
// efficiency that their run length reaches; converts: what they read and write, over that and the
// rate of conversions. 0 for fences and host work. Rounded down, at least 1 where there is payload.
std::int64_t wire_bytes(const Plan& plan, OpId op);

// Delay between launch and first byte that overlaps with other operations: the larger latency of
// the two ports and that of the paths; host work: its duration. Picoseconds.
std::int64_t latency_ps(const Plan& plan, OpId op);

// How long the operation holds its lane at one of its ranks. The receiver of a one-sided write
// launches nothing.
std::int64_t lane_occupancy_ps(const Plan& plan, OpId op, bool at_source);

// Achieved bytes/s of the slowest link of a copy, convert or transfer; 0 where none of them costs
// time.
std::int64_t slowest_link_rate(const Plan& plan, OpId op);

}  // namespace transload
