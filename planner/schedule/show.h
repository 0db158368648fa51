// `transload show`: the operations of a plan in global order, as JSON or one line each.
#pragma once

#include <cstddef>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "planner/schedule/op_facts.h"
#include "planner/schedule/plan_file.h"

namespace transload {

struct ShowFilter : OpSelection {
  std::size_t limit = std::numeric_limits<std::size_t>::max();  // operations listed at most
};

// Keys: operations[], count (operations that the filter selects, listed or not), truncated (more
// were selected than listed). An operation has id, kind, source_rank, destination_rank, bytes,
// link, role, step (the role in the plan's own, finer words: pack, unpack, export, load, ...),
// ports[] (names), hop, key, group and bundle (null where there is none), chunk, tensors[] (names;
// of more than 8 the first 8 and "... N more"), after[] and stream[] (ids). InputError if the rank
// does not exist or no tensor has such a name.
nlohmann::json show_plan(const Plan& plan, const ShowFilter& filter);

// The same as an aligned table: a heading, one line per operation, and a last line that says how
// many were left out, if any.
std::string show_text(const Plan& plan, const ShowFilter& filter);

}  // namespace transload
