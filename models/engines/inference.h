// What the inference engines have in common: replicas, pipeline stages, experts over the ranks of a
// stage.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/engines/assemble.h"
#include "models/engines/engines.h"

namespace transload {

// An engine's ranks as [outer, stage, inner], the last fastest. A stage is outer x inner ranks.
struct EngineShape {
  std::int64_t outer = 1;
  std::int64_t stages = 1;
  std::int64_t inner = 1;
  std::int64_t ranks() const { return outer * stages * inner; }
  std::int64_t stage_ranks() const { return outer * inner; }
};

// How experts lie over the ranks of a stage: in `members` expert-parallel members of `parts` ranks
// that cut each expert; consecutive ranks are parts of one member, or different members.
struct ExpertShape {
  std::int64_t members = 1;
  std::int64_t parts = 1;
  bool members_fastest = false;
};

// The engine-independent part of a layout: stages, members, homes of experts, ways (all `tp`).
// InputError: sizes below 1 or above the number of ranks, cp or etp, ranks that are no multiple of
// an engine, a pipeline or expert table that does not fit.
EngineLayout inference_layout(std::string_view engine, const Model& model,
                              std::span<const LogicalTensor> tensors,
                              const InferenceOptions& options, const EngineShape& shape,
                              const ExpertShape& experts, const PipelineLayout& default_layers,
                              std::span<const Rank> ranks, std::string_view side);

// Sizes within 1..ranks, and the sizes that inference engines do not have.
void require_inference_sizes(std::string_view engine, const InferenceOptions& options,
                             std::span<const Rank> ranks, std::string_view side);

// Marks kinds as unknown, with the reason.
void set_unknown(EngineLayout& layout, std::span<const ParameterKind> kinds,
                 std::string_view reason = {});
// Everything of a DeepSeek-V4 model is unknown: none of these engines' rules for it are in the
// facts.
void refuse_deepseek_v4(EngineLayout& layout, std::span<const LogicalTensor> tensors);

}  // namespace transload
