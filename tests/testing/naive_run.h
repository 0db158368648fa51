// Runs a small plan on real bytes, element by element, in a random order that the issue rule
// allows.
//
// The slowest executor there can be, and the plainest: what the checker says of a plan is held
// against it. An operation reads its source either when it starts or when it finishes and writes
// when it finishes, so that a missing edge shows as wrong bytes. Destination memory is not zero at
// the beginning; zero fills are written first.
#pragma once

#include <random>
#include <string>

#include "planner/schedule/plan_file.h"

namespace transload::testing {

// Empty if at the end every destination element is right, every fill is zero and every other byte
// of the destinations as it was; else what went wrong.
std::string run_naively(const Plan& plan, std::mt19937_64& random);

}  // namespace transload::testing
