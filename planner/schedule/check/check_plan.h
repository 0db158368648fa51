// Proof that a plan is right: the invariants 1 to 4 of the schedule graph, shown on the tables
// alone.
//
// No data moves and nothing is simulated. Everything here is written apart from the strategies and
// from the issue rule's own code, so that a mistake there is not repeated here. The plan must have
// passed `validate_plan` (indices point inside their tables); what is left to decide is whether it
// moves the right bytes, once, without deadlock, in the memory that it names:
//
//   exactly-once  every destination byte is written once, by the right source byte, and no element
//                 lies where a refit leaves zeros
//   acyclic       edges, port lists and issue groups can be worked off under the issue rule
//   staging       no staging slot serves two chunks at one time
//   issue-limits  groups, windows and pieces keep to what the executor can issue
//
// Guarantee: in a plan that passes, every run that keeps the issue rule and the edges ends with
// exactly the source elements in every destination shard. The converse does not hold in two
// respects: rules about form (a bundle reaches a rank wholly or not at all; a chunk is read as it
// was written) refuse some plans that would work.
//
// Cost: O(n log n) in operations, slices and shard rows; about 2 s for 1.3 M operations on 512
// ranks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "planner/schedule/plan_file.h"

namespace transload {

struct Violation {
  std::string invariant;  // one of the four words above
  std::string text;       // names operations, rank, tensor, slot
};

struct CheckReport {
  bool ok = true;
  std::vector<Violation> violations;
  bool truncated = false;  // there are more than `max_violations`
};

CheckReport check_plan(const Plan& plan, std::size_t max_violations = 20);

}  // namespace transload
