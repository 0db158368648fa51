// What a prediction needs to know of a job beyond its plan: which ranks are free or serve again
// together, whose engine it is, and between which the links' efficiencies lie.
//
// A plan moves bytes and knows none of this; whoever has the job fills it in. Everything here may
// be empty, and then the figures that rest on it are coarser or missing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/schedule/plan.h"

namespace transload {

// A pipeline stage of the trainer, or an engine (replica) of a destination pool.
struct RankSet {
  std::string name;    // "stage 3", "destination replica 0", "destination[1] replica 2"
  std::string engine;  // "vllm"; empty: not known
  std::vector<std::int32_t> ranks;
};

// Kinds of link whose efficiencies vary together: NICs with the switches above them, NVLinks,
// copies in memory.
enum class LinkFamily : std::uint8_t { kNic, kNvlink, kCopy, kOther };
LinkFamily family_of(LinkKind kind);
std::string_view name_of(LinkFamily family);  // as in a topology's `efficiency:`

// It holds for the links of the family whose efficiency in the plan is `likely_ppm`.
struct LinkRange {
  LinkFamily family = LinkFamily::kOther;
  std::int64_t low_ppm = 0;
  std::int64_t likely_ppm = 0;
  std::int64_t high_ppm = 0;
};

struct ClusterFacts {
  std::vector<RankSet> stages;    // of the source; empty where it has one
  std::vector<RankSet> replicas;  // pool by pool
  std::vector<LinkRange> ranges;
};

}  // namespace transload
