// Whether a refit fits in the GPUs' memory beside what lives there already.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/schedule/plan_file.h"
#include "simulator/sizing/cluster_facts.h"

namespace transload {

// What ranks of one side keep to themselves: a share of their memory, or bytes.
struct Reserve {
  double share = 0;
  std::uint64_t bytes = 0;
};

// "0.85", "60%", "40GB". InputError, beginning with `what`, for anything else.
Reserve parse_reserve(const std::string& text, const std::string& what);

struct MemoryOptions {
  // Of trainers, besides their weights: nothing is known of it unless it is given.
  std::optional<Reserve> source;
  // Of engines, their weights included. Nothing: what the engine's default settings take.
  std::optional<Reserve> destination;
  bool sources_on_host = false;  // source weights take no GPU memory
};

struct RankMemory {
  std::int32_t rank = 0;
  std::uint64_t peak_bytes = 0;      // weights of both sides and staging
  std::uint64_t reserved_bytes = 0;  // what the engine or trainer keeps
  std::uint64_t needed_bytes = 0;    // both together; an engine's weights count once
  std::uint64_t memory_bytes = 0;    // 0: unknown
};

struct MemoryUse {
  std::vector<RankMemory> ranks;  // that take part
  std::optional<bool> fits;       // nothing where a rank's memory is unknown
  std::vector<std::string> assumptions;
};

// A rank that is on both sides (colocated) sleeps on one while the other works: engines' defaults
// do not apply to it, only what `options` says.
MemoryUse memory_use(const Plan& plan, const ClusterFacts& facts,
                     const MemoryOptions& options = {});

}  // namespace transload
