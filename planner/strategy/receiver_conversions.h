// Conversions on the receivers: what arrived in the source's type becomes what the destination
// stores. Internal to planner/strategy.
#pragma once

#include <cstdint>

#include "planner/demand/slice_offsets.h"
#include "planner/schedule/builder.h"
#include "planner/strategy/fabric.h"

namespace transload {

// Adds, behind all operations so far, the converts of everything that is made at its destination:
// per rank one operation for as many tensors as read about `read_bytes`. Each waits for all
// operations that wrote what it reads. Adds their bundles. Nothing to do where receivers convert
// nothing. `offsets`: of `demand`.
void emit_receiver_conversions(PlanBuilder& builder, const ReshardProblem& problem,
                               const Demand& demand, const SliceOffsets& offsets,
                               const Fabric& fabric, std::int64_t read_bytes);

}  // namespace transload
