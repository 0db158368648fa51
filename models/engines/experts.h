// Where an engine keeps each routed expert: which expert-parallel member, in which local slot.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "models/sharding.h"

namespace transload {

// One copy of an expert.
struct ExpertHome {
  std::uint32_t member = 0;  // expert-parallel rank
  std::uint32_t slot = 0;    // among the member's experts
  friend bool operator==(const ExpertHome&, const ExpertHome&) = default;
  friend bool operator<(const ExpertHome& a, const ExpertHome& b) {
    return std::tie(a.member, a.slot) < std::tie(b.member, b.slot);
  }
};

// Homes by expert number.
using ExpertHomes = std::vector<std::vector<ExpertHome>>;

// A live placement table: logical expert of every physical slot, slots cut evenly over the members.
struct ExpertTable {
  std::vector<std::int64_t> all_layers;                        // empty: `of_layer` has all
  std::map<std::int32_t, std::vector<std::int64_t>> of_layer;  // decoder layer -> slots
  bool empty() const { return all_layers.empty() && of_layer.empty(); }
};

// Contiguous ranges; where members do not divide experts, the first members hold one more.
ExpertHomes linear_experts(std::int64_t experts, std::int64_t members);
// Expert e on member e mod members.
ExpertHomes round_robin_experts(std::int64_t experts, std::int64_t members);
// InputError at SIDE.expert_table, naming the slot or the expert: slots that members do not divide,
// an id that is no expert, an expert without a slot, two copies of one expert on one member.
ExpertHomes table_experts(const std::vector<std::int64_t>& slots, std::int64_t experts,
                          std::int64_t members, std::string_view side);

}  // namespace transload
