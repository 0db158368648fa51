// What several commands say about a plan, and in which words.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "planner/schedule/plan_file.h"

namespace transload {

std::size_t participants(const Plan& plan);  // ranks that have shards or operations
std::size_t destinations(const Plan& plan);  // ranks that have destination shards
std::size_t transfers(const Plan& plan);

// Bytes of a rank's shards of one side.
std::uint64_t side_bytes(const Plan& plan, std::size_t rank, Side side);

// "transload v0": the strategy as people are shown it.
std::string strategy_title(const std::string& strategy);

// "8x8: transload v0 on dgx-h100, discipline groups, planned for nccl".
std::string heading_of(const Plan& plan);

// "2.6 s (src_once; 2.5 s at line rates)".
std::string bound_text(const PlanHeader& header);

// refit over bound; nothing where the bound is 0.
std::optional<double> ratio_to_bound(const PlanHeader& header, double refit_s);
// "1.034", or "-".
std::string ratio_text(std::optional<double> ratio);

}  // namespace transload
