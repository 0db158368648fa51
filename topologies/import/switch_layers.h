// Switches that work as one: the layers of an imported fabric.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topologies/import/findings.h"

namespace transload {

struct SwitchLayer {
  std::string name;            // of the only switch, or "first+3" for four
  std::int32_t parent = -1;    // layer
  std::int64_t uplink = 0;     // bytes/s of all cables to the parent; 0: not stated
  bool uplink_stated = false;  // every cable has a rate
};

struct SwitchLayers {
  std::vector<SwitchLayer> layers;
  std::vector<std::int32_t> layer_of;  // by switch
};

// Switches that are parents of one switch are one layer: flows spread over them. Throws InputError
// where a layer comes out as its own ancestor.
SwitchLayers merge_layers(const std::vector<ImportedSwitch>& switches);

}  // namespace transload
