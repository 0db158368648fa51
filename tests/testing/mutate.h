// Random damage to plans, for tests that hold the checker against what a damaged plan really does.
#pragma once

#include <optional>
#include <random>
#include <string>

#include "planner/schedule/plan_file.h"

namespace transload::testing {

struct Mutation {
  PlanTables tables;        // to be sealed again with the plan's header
  std::string description;  // what was changed, for messages
};

// One random change of one kind: two slices swapped; an operation dropped (its edges with it,
// nothing rewired); the box of a slice or of a shard row moved by one along a dimension; two order
// keys swapped (keys alone, or the operations in the order too); the staging slot of an operation
// moved; a destination shard moved within its buffer; a zero fill moved or resized; a tensor said
// to be another name of another one. Nothing if the drawn kind does not apply to this plan.
// Deterministic for a given state of `random`.
std::optional<Mutation> mutate(const Plan& plan, std::mt19937_64& random);

}  // namespace transload::testing
