// NeMo RL's bulk tensors: which they are, and who sends what of them to whom. Internal to
// nemo-hybrid.
//
// A bulk tensor is one reshard call, all experts of a layer together. Where engines hold replicas
// of a region, the region is cut along its first dimension (of experts: the expert) into a stripe
// per replica, each stripe comes from the holders in turn, and the replicas all-gather. Where that
// cannot be (no replicas, a first dimension that they do not divide, data that is contiguous on
// neither side) the first holder sends the whole region to the first replica, which broadcasts it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "planner/demand/demand.h"
#include "planner/strategy/routes.h"

namespace transload {

// Feed-forward weights by their HF name: gate, up and down projections, dense or of an expert, but
// not of shared experts or prediction layers.
bool is_nemo_bulk(std::string_view name);

// The expert of "...experts.N....": N; nothing for other names.
std::optional<std::int64_t> expert_of(std::string_view name);

// The problem with tensor groups that are all bulk or all not.
ReshardProblem with_pure_groups(const ReshardProblem& problem);

// The demand of the bulk tensors only. Groups are pure.
Demand bulk_demand(const ReshardProblem& problem, const Demand& demand);

RouteSet assign_bulk(const ReshardProblem& problem, const Demand& bulk, const Fabric& fabric);

}  // namespace transload
