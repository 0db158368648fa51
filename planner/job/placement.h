// Placements of a mesh in their written form: R, S(1), S(0, split_factor=4, reading=factor-first).
// Internal to planner/job.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/yaml.h"
#include "models/sharding.h"

namespace transload {

// One placement as written. YAML splits `[S(0, split_factor=2), R]` at every comma; words are put
// together again up to their closing bracket.
struct PlacementWord {
  std::string text;
  YamlValue value;  // where it stands
};
std::vector<PlacementWord> placement_words(const YamlValue& list);

// InputError: no placement, a dimension that the tensor has not, an unknown parameter, a partial
// value.
AxisPlacement parse_placement(const PlacementWord& word, std::size_t dims);

}  // namespace transload
