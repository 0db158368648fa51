// Switches that a file lists with their children, as Slurm and topograph do, made into the
// switches of an ImportedFabric: parents for children, and tiers counted from the leaves.
#pragma once

#include <string>
#include <vector>

#include "topologies/import/findings.h"

namespace transload {

struct NamedSwitch {
  std::string name;
  std::vector<std::string> children;  // names of switches
  int line = 0;                       // where the file says so
};

// What no file of fabrics alone can say; one sentence for `asked`.
extern const char* const kAskForNodes;
extern const char* const kAskForLinkRates;

// One ImportedSwitch for each entry, in its order. A switch without children is tier 1, another one
// tier above its highest child; rates are 0 (not stated). Throws InputError for a name that stands
// twice, a child that is not listed, a child listed twice by one switch, and rings.
std::vector<ImportedSwitch> build_switch_tree(const std::vector<NamedSwitch>& listed,
                                              const std::string& file);

// A sentence where switches hang together in several trees: hosts of different ones have no path.
// Empty where there is one tree.
std::string separate_trees(const std::vector<ImportedSwitch>& switches);

}  // namespace transload
