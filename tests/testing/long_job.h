// Random tensor jobs of some size as YAML text: what a schedule is worth can be measured on them.
// random_job.h has odd little ones, for what is right and wrong.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace transload::testing {

struct LongJobLimits {
  int max_ranks = 64;
  // Bytes of a tensor, drawn evenly on a logarithmic scale.
  std::int64_t min_bytes = std::int64_t{1} << 28;
  std::int64_t max_bytes = std::int64_t{1} << 36;
};

// One to three tensors between meshes of up to two axes, each replicated or cut, over nodes of one
// to eight GPUs that are one NVLink domain each, of one or two NIC rates; sides mostly disjoint.
// The same generator state gives the same text.
std::string long_job(std::mt19937_64& random, const LongJobLimits& limits = {});

}  // namespace transload::testing
