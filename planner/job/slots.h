// Expert tables of a side: which index of dimension 0 lies in which slot of which rank. Internal to
// planner/job.
#pragma once

#include "planner/job/side.h"

namespace transload {

// `experts: {rank: [ids]}` and `expert_to_rank: [ranks]` or `{file: F}`, which stand instead of a
// mesh. False where the side has neither.
bool parse_rank_slots(YamlMap& side, Sharding& sharding, const SideContext& context);

// `experts: [ids]` beside a mesh that cuts the list.
void parse_slot_list(YamlMap& side, Sharding& sharding, const SideContext& context);

// A map's key that is a rank.
Rank rank_key(const std::string& key, const YamlValue& value, std::int64_t last_rank);

// zero | keep.
PaddingFill parse_fill(const YamlValue& value);

}  // namespace transload
