// The constants of gather-broadcast, read from planner/strategy/gather-broadcast.yaml. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace transload {

struct GatherConstants {
  double bucket_memory_ratio = 0;
  std::int64_t bucket_limit = 0;
  std::int64_t bucket_default = 0;
  std::int64_t broadcast_rails = 1;
  std::int64_t export_per_tensor_ps = 0;
  std::int64_t load_per_tensor_ps = 0;
  std::int64_t piece = 0;
  std::vector<std::string> assumptions;  // fitted and assumed ones, in words
};

GatherConstants load_gather_constants();

}  // namespace transload
