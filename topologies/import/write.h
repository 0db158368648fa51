// An imported cluster as a topology file in the explicit form.
#pragma once

#include <string>
#include <vector>

#include "topologies/import/cluster.h"

namespace transload {

// What has to be answered before the cluster can be written, each with the key of `--set`.
std::vector<std::string> missing_answers(const ImportedCluster& cluster,
                                         const ImportAnswers& answers);

struct WrittenTopology {
  std::string yaml;
  std::vector<std::string> left_out;  // hosts that are not like the others, one sentence each
};

// Switches of one layer (those that a switch below reaches alike) become one, with the sum of their
// cables as its up-link; up-links as wide as what hangs below are left out. Throws InputError that
// lists what is missing, and for GPUs of two models in one node.
WrittenTopology write_topology(const ImportedCluster& cluster, const ImportAnswers& answers);

}  // namespace transload
