// Random tensor jobs as YAML text, for property tests: every placement form (strided, ordered,
// explicit sizes, padded, slots), transposed and fused storage, tied names, up to four dimensions,
// uneven and empty shards, replicas, colocated and disjoint sides, small odd topologies.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace transload::testing {

struct RandomJobLimits {
  int max_ranks = 16;
  int max_dims = 4;
  int max_tensors = 4;
  int max_extent = 9;
};

// The same generator state gives the same text. Chunks, buckets and windows are tiny, so that small
// tensors still have many chunks.
std::string random_job(std::mt19937_64& random, const RandomJobLimits& limits = {});

// A whole number from low to high, inclusive.
std::int64_t pick(std::mt19937_64& random, std::int64_t low, std::int64_t high);

}  // namespace transload::testing
