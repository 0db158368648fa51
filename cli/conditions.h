// The cluster's condition during a refit: NICs that are down or slow, other traffic, weights that
// lie in host memory. Flags of commands that predict.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/subject.h"

namespace transload {

struct ConditionFlags {
  std::optional<std::string> fault;
  std::optional<double> background;  // share of each NIC
  std::string source_memory = "gpu";
};
void add_condition_flags(CLI::App* command, ConditionFlags& flags);

// What the conditions came to, in words, for people and for JSON.
using ConditionNotes = std::vector<std::string>;

// Changes the topology of a job, so that it is planned, and its bound computed, for these
// conditions. InputError for flags that make no sense.
ConditionNotes apply_conditions(const ConditionFlags& flags, Job& job);

// The plan of `subject` under the conditions: a job's is made for them, a plan file's meets them as
// it is.
struct ConditionedPlan {
  Plan plan;
  ConditionNotes notes;
  bool cached = false;  // found in the plan cache
};
ConditionedPlan plan_under(Subject subject, const PlanningFlags& planning,
                           const ConditionFlags& flags);

// Moves the plan's source weights into host memory, if the flags say so.
Plan with_source_memory(Plan plan, const Topology& topology, const ConditionFlags& flags);

}  // namespace transload
