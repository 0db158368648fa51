// The problem's tensors, buffers and shards as rows of a plan.
//
// Tens of thousands of tensors lie in stacks of equal buffers, so a plan stores ranges: one buffer
// row stands for many equal buffers, one shard row for one box of many tensors.
#pragma once

#include "planner/layout/problem.h"
#include "planner/schedule/builder.h"

namespace transload {

// Adds the tensors, and for every rank the buffers, shards and zero fills of both sides. Shared
// buffers are as long as what lies in them, or as declared.
void add_tensors_and_shards(PlanBuilder& builder, const ReshardProblem& problem);

}  // namespace transload
