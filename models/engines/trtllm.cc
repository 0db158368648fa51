// TensorRT-LLM's rules (its PyTorch path). Facts from _torch/modules/linear.py, embedding.py,
// fused_moe, modeling_deepseekv3.py and mapping.py (stored file versions, not one pinned commit).
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "models/engines/engines.h"
#include "models/engines/inference.h"
#include "models/engines/usual_rules.h"

namespace transload {
namespace {

using enum ParameterKind;
using enum RuleCut;
using enum RuleUnit;
using RuleGroup::kAttention;

// Interpreted by assemble.cc. Unknown: not in the facts we have.
constexpr ParameterKind kAlsoUnknown[] = {kQueryNormFull, kKeyNormFull};
constexpr RuleTable kTrtllmRules =
    without_rules(without_rules(usual_rules(), kSharedUnknown), kAlsoUnknown);
static_assert(in_kind_order(kTrtllmRules));

enum Buffer : std::uint8_t { kQkv, kGateUp, kW31, kW2, kQkvDown, kKvUp, kSharedGateUp };

constexpr FusedBuffer kTrtllmBuffers[] = {
    {.name = "qkv_proj.{}", .alternate_by = kQueryHeads},
    {.name = "gate_up_proj.{}"},
    {.name = "w3_w1_{}", .sharing = BufferSharing::kSlots, .alternation = Alternation::kUnknown},
    {.name = "w2_{}", .sharing = BufferSharing::kSlots},
    {.name = "kv_a_proj_with_mqa.{}"},
    {.name = "kv_b_proj.{}",
     .destination_class = DestinationClass::kShadow,
     .conversion = "k_b_proj_trans and v_b_proj are derived from it after load"},
    {.name = "gate_up_proj.{}"},
};

constexpr FusedPart kTrtllmParts[] = {
    {kAttentionQ, kQkv, 0},          {kAttentionGate, kQkv, 0},     {kAttentionK, kQkv, 1},
    {kAttentionV, kQkv, 2},          {kMlpGate, kGateUp, 0},        {kMlpUp, kGateUp, 1},
    {kSharedGate, kSharedGateUp, 0}, {kSharedUp, kSharedGateUp, 1}, {kExpertUp, kW31, 0},
    {kExpertGate, kW31, 1},          {kExpertDown, kW2, 0},         {kMlaQueryDown, kQkvDown, 0},
    {kMlaKvDown, kQkvDown, 1},       {kMlaKvUp, kKvUp, 0},
};

}  // namespace

ShardedModel shard_trtllm(const Model& model, std::span<const LogicalTensor> tensors,
                          const InferenceOptions& options, std::span<const Rank> ranks,
                          std::string_view side) {
  require_inference_sizes("trtllm", options, ranks, side);
  const ParallelSizes& sizes = options.sizes;
  const std::int64_t dp = std::max<std::int64_t>(1, sizes.dp);
  if (dp != 1 && dp != sizes.tp)
    fail_at(side, "parallel.dp",
            fmt::format("attention is data-parallel over all of tp or not at all: expected 1 or "
                        "{}, found {}",
                        sizes.tp, dp));
  if (sizes.tp % sizes.ep != 0)
    fail_at(side, "parallel.ep", fmt::format("{} does not divide tp {}", sizes.ep, sizes.tp));
  if (options.experts.empty() && model.experts % sizes.ep != 0)
    fail_at(side, "parallel.ep",
            fmt::format("{} does not divide {} routed experts of {}", sizes.ep, model.experts,
                        model.name));
  EngineLayout layout = inference_layout(
      "trtllm", model, tensors, options, {.outer = 1, .stages = sizes.pp, .inner = sizes.tp},
      {.members = sizes.ep, .parts = sizes.tp / sizes.ep, .members_fastest = true},
      trtllm_layers(model.layers, sizes.pp), ranks, side);
  layout.rules = kTrtllmRules;
  refuse_deepseek_v4(layout, tensors);
  layout.predictions_unknown = "how trtllm keeps prediction layers is not known";
  layout.copies_known = false;
  if (dp > 1) {
    constexpr ParameterKind kFeedForward[] = {kMlpGate,    kMlpUp,    kMlpDown,
                                              kSharedGate, kSharedUp, kSharedDown};
    set_unknown(layout, kFeedForward,
                "how trtllm cuts dense feed-forward layers and shared experts under data-parallel "
                "attention is not known");
    for (const RuleGroup group : {kAttention, RuleGroup::kEmbedding, RuleGroup::kOutput})
      layout.ways[static_cast<std::size_t>(group)] = 1;
  }
  layout.embedding_multiple = layout.ways[static_cast<std::size_t>(RuleGroup::kEmbedding)];
  layout.output_multiple = layout.ways[static_cast<std::size_t>(RuleGroup::kOutput)];
  layout.buffers = kTrtllmBuffers;
  layout.parts = kTrtllmParts;
  return assemble(layout, model, tensors);
}

}  // namespace transload
