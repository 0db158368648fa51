#include "planner/strategy/m2n/m2n.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/check.h"
#include "common/units.h"
#include "planner/strategy/m2n/emission.h"
#include "planner/strategy/m2n/limits.h"
#include "planner/strategy/shard_rows.h"

namespace transload {
namespace {

// In the order of M2nMode.
constexpr std::array<std::string_view, 4> kModes = {"default", "parent-node-aware",
                                                    "parent-uniform", "direct"};

struct Planned {
  std::vector<M2nTensor> tensors;
  std::vector<M2nMoves> moves;  // by tensor
  std::vector<Unsupported> refused;
};

Planned plan_moves(const Job& job, const StrategyChoice& strategy) {
  Planned planned;
  RefusalList refused;
  std::vector<std::int32_t> domain_of_rank;
  for (const Gpu& gpu : job.topology.gpus) domain_of_rank.push_back(gpu.domain);
  planned.tensors = m2n_tensors(job.problem, refused);
  const M2nMode mode = m2n_mode(strategy.mode);
  M2nLimits limits;
  limits.slot_bytes = strategy.bucket_bytes.value_or(limits.slot_bytes);
  for (const M2nTensor& tensor : planned.tensors) {
    planned.moves.push_back(m2n_moves(tensor, mode, domain_of_rank));
    add_exceeded_limits(tensor, planned.moves.back(), limits, refused);
  }
  planned.refused = refused.take();
  return planned;
}

// Most bytes of staging on any rank.
std::uint64_t staging_bytes(const Plan& plan) {
  std::uint64_t most = 0;
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank) {
    std::uint64_t bytes = 0;
    for (std::size_t c = rank * kSlotClasses; c < (rank + 1) * kSlotClasses; ++c)
      bytes += plan.staging_slots[c] * plan.staging_slot_bytes[c];
    most = std::max(most, bytes);
  }
  return most;
}

Plan emit(const Job& job, const StrategyChoice& strategy, std::uint32_t slots, PlanHeader header) {
  Planned planned = plan_moves(job, strategy);
  PlanBuilder builder;
  const Fabric fabric = add_fabric(builder, job.topology, job.problem);
  add_tensors_and_shards(builder, job.problem);
  const std::vector<M2nCall> calls =
      m2n_calls(std::move(planned.tensors), std::move(planned.moves), slots);
  M2nEmission emission(builder, job.problem, fabric, header.discipline);
  const M2nEmitOptions options{job.options.chunk_bytes.value_or(0), slots};
  const M2nEmitResult result = m2n_mode(strategy.mode) == M2nMode::kDirect
                                   ? emit_direct(emission, calls, options)
                                   : emit_pack(emission, calls, options);
  header.strategy_notes = fmt::format(
      "mode {}, {}", strategy.mode.empty() ? kModes[0] : strategy.mode, header.strategy_notes);
  header.window = result.window;
  header.colours_per_group = 1;
  header.operations_per_group = 0;  // puts of a kernel are no NCCL operations
  header.chunk_bytes = static_cast<std::uint64_t>(result.chunk_bytes);
  header.assumptions.push_back(
      "m2n barrier = 0 s (assumed: M2N's kernels begin and end with a barrier of all ranks, whose "
      "time nobody has published)");
  return builder.seal(header);
}

}  // namespace

M2nMode m2n_mode(std::string_view name) {
  if (name.empty()) return M2nMode::kDefault;
  const auto found = std::find(kModes.begin(), kModes.end(), name);
  TRANSLOAD_CHECK(found != kModes.end(), "modes are validated when they are read");
  return static_cast<M2nMode>(found - kModes.begin());
}

std::vector<Unsupported> refuse_m2n(const Job& job, const PlanningInput&,
                                    const StrategyChoice& strategy) {
  return plan_moves(job, strategy).refused;
}

Plan plan_m2n(const Job& job, const PlanningInput&, const StrategyChoice& strategy,
              PlanHeader header) {
  const std::int64_t limit = job.options.staging_bytes.value_or(INT64_MAX);
  // Fewer slots in flight until the staging fits.
  for (std::uint32_t slots = M2nLimits{}.slots;; --slots) {
    Plan plan = emit(job, strategy, slots, header);
    const std::uint64_t bytes = staging_bytes(plan);
    if (bytes <= static_cast<std::uint64_t>(limit)) return plan;
    if (slots == 1)
      throw InputError(fmt::format(
          "options.staging_bytes: m2n needs at least {} of staging on a rank, the limit is {}",
          format_bytes(static_cast<double>(bytes)), format_bytes(static_cast<double>(limit))));
  }
}

}  // namespace transload
