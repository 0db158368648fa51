// Source weights that lie in the host's memory (offloaded trainers, checkpoints that a host holds).
//
// Copies that read source weights, and NVLink transfers that do, then come over the GPU's link to
// the host. Network transfers do not: the NIC reads the host's memory by itself, over a link of its
// own that is at least as wide as it.
#pragma once

#include <cstdint>
#include <span>

#include "planner/schedule/plan_file.h"

namespace transload {

// `host_rate`: what copies between host and GPU of each rank achieve, bytes/s; one per rank of the
// plan. InputError for a rank that reads source weights and whose rate is 0 (not known).
Plan with_host_sources(const Plan& plan, std::span<const std::int64_t> host_rate);

}  // namespace transload
