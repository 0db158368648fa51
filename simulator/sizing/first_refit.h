// What the first refit costs beyond the later ones: connections to new peers and registration of
// memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/schedule/plan_file.h"

namespace transload {

struct FirstRefitCosts {
  double connect_s = 0;   // of the rank with the most peers
  double register_s = 0;  // of the rank that registers most
  std::size_t peers = 0;  // distinct ranks that it sends to or receives from
  std::uint64_t registered_bytes = 0;
  std::vector<std::string> assumptions;  // the constants, each with its source
};

// A rank connects to its peers one after the other, and registers its staging and, where operations
// send from or receive into weights themselves, the buffers of that side. Constants:
// simulator/sizing/constants.yaml.
FirstRefitCosts first_refit_costs(const Plan& plan);

}  // namespace transload
