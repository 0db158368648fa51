// One side of a tensor of a tensor job (contract: docs/jobs.md): who holds what, and where it lies.
// Internal to planner/job.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/recipe.h"
#include "common/yaml.h"
#include "models/sharding.h"

namespace transload {

// What a side may refer to.
struct SideContext {
  const std::vector<std::int64_t>& shape;
  const std::vector<std::string>& dims;  // names of the dimensions; empty: none were given
  DType dtype;
  std::int64_t last_rank;
  const std::string& base_folder;  // of files that a side names
};

struct ParsedSide {
  Sharding sharding;
  std::optional<std::string> buffer;  // memory.buffer
  std::optional<StoredType> type;     // dtype; without it the tensor's
};

// The value of a `dtype` key that may be blockwise. InputError: no type, or none that is planned.
StoredType parse_side_type(const YamlValue& value);

// InputError naming the field for everything that is wrong with the text alone; what only the
// layout can tell is refused when it is made.
ParsedSide parse_side(const YamlValue& value, const SideContext& context);

}  // namespace transload
