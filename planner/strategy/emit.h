// From routes to operations: chunks, global order, issue groups, staging slots, edges.
//
// Common to all point-to-point strategies, so that what is compared is who sends what to whom and
// not how well somebody queued it.
#pragma once

#include <cstdint>

#include "planner/strategy/chunks.h"
#include "planner/strategy/class_runs.h"
#include "planner/strategy/routes.h"

namespace transload {

// Ports that land for others and forward for them are full on both sides, and then need more choice
// (measured: DeepSeek-V3 128 to 128 GPUs 0.9 % over the bound with 16, 1.2 % with 8).
inline constexpr std::uint32_t kForwardingWindow = 16;

// NCCL's own pipeline moves pieces of this order (512 KiB to 4 MiB); a piece takes 20 us at 50
// GB/s, as long as a launch.
inline constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;

struct EmitOptions {
  Discipline discipline = Discipline::kWindows;
  std::uint32_t window = 16;
  bool auto_window = false;  // at least kForwardingWindow where NICs forward
  std::uint32_t colours = 16;
  bool auto_colours = false;  // `colours` is the most; short jobs have shorter groups
  std::uint32_t operations_per_group = 1024;  // issue limit of NCCL (Megatron-LM#7189: 24,000 hung)
  std::int64_t chunk_bytes = 0;               // 0: auto
  bool stream_forwards = false;  // NICs forward a chunk while it lands, in pieces of kPieceBytes
  bool even_order = false;       // under windows: even_order.h instead of the list schedule
  std::int64_t staging_bytes = std::int64_t{4} << 30;
};

// What was settled on: over the staging limit the chunk shrinks to 4 MiB, then window or colours
// to 2.
struct EmitResult {
  std::int64_t chunk_bytes = 0;
  std::uint32_t window = 0;
  std::uint32_t colours = 0;
};

// Adds a bundle per demand class and all operations. InputError where even the smallest shape does
// not fit the staging limit, naming rank, need and limit.
EmitResult emit_routes(PlanBuilder& builder, const ReshardProblem& problem, const Demand& demand,
                       const Fabric& fabric, const RouteSet& routes, const EmitOptions& options);

}  // namespace transload
