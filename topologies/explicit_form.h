// Reads the explicit form of a topology: node groups, fabric, and what its links really do.
//
// Library entries are written in the same form with `$NAME` in the place of parameters, so there is
// one reader for both; it never knows which entry it reads.
#pragma once

#include <optional>
#include <string>

#include "common/yaml.h"
#include "topologies/sourced_value.h"
#include "topologies/topology.h"

namespace transload {

// What a job may state for any library entry, over the entry's own figures.
struct Overrides {
  std::optional<YamlValue> efficiency;
  std::optional<YamlValue> latency;
  std::optional<YamlValue> rate_scale;
  std::optional<YamlValue> site;
};

// `map` may have keys that were asked for before; all others have to belong to the form.
// Names of nodes and NICs are left empty: they are given once all parts are joined (name_parts).
Topology read_explicit_form(YamlMap map, const std::string& name, const Parameters& parameters = {},
                            const Overrides& overrides = {});

}  // namespace transload
