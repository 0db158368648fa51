// Does a model fit an engine's parallel sizes, and in how many pieces is a parameter cut?
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/engines/assemble.h"

namespace transload {

// Smallest multiple that is at least `value`; `multiple` 0: the value itself.
std::int64_t round_up(std::int64_t value, std::int64_t multiple);

// Distinct pieces in which the parts of a rule's group hold a parameter: as many as there are
// parts, fewer where heads are held by several ranks, 1 where the rule does not cut.
std::int64_t pieces_of(const EngineLayout& layout, const Model& model, const ShardingRule& rule);

// InputError at SIDE.parallel.KEY with the figure of the model that does not divide.
void require_fits(const EngineLayout& layout, const Model& model,
                  std::span<const LogicalTensor> tensors);

bool is_quantisation_scale(std::string_view published_name);

}  // namespace transload
