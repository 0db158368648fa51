// transload topology show and check: what a topology consists of, the ways through it, a picture.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"
#include "topologies/topology.h"

namespace transload {

struct TopologyShowArguments {
  std::string name;
  std::vector<std::string> parameters;  // key=value
  std::vector<std::string> path;        // two GPUs
  std::optional<std::string> format;
  std::optional<std::string> output;
};

int show_topology(Session& session, const TopologyShowArguments& arguments);

// Loads the file and looks at it as a whole: GPUs that nothing joins, NICs that no GPU uses, narrow
// up-links. Exit code 1 where GPUs cannot reach each other.
int check_topology(Session& session, const TopologyShowArguments& arguments);

}  // namespace transload
