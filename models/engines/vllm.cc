// vLLM's rules. Facts from its linear.py, vocab_parallel_embedding.py, fused_moe/layer.py and
// config.py, models/deepseek_v2.py, gpt_oss.py, mamba_mixer2.py, distributed/utils.py (stored file
// versions, not one pinned commit).
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
using RuleGroup::kExpert;
using RuleGroup::kShared;

// Interpreted by assemble.cc. Unknown: not in the facts we have.
constexpr ParameterKind kNotKnown[] = {kMlaGate,      kKdaRows,         kKdaOut, kGroupedOutDown,
                                       kGroupedOutUp, kHyperConnection, kVision};
constexpr RuleTable kVllmRules =
    without_rules(with_rows(usual_rules(), {{kExpertDownBias, kExpert, kFirst, kNothing},
                                            {kMtpProjection, kAttention, kWhole, kNothing}}),
                  kNotKnown);
static_assert(in_kind_order(kVllmRules));

enum Buffer : std::uint8_t {
  kQkv,
  kGateUp,
  kW13,
  kW2,
  kQkvDown,
  kKvUp,
  kWkWeights,
  kInProj,
  kConv,
  kA,
  kGdnQkvz,
  kGdnBa,
  kGdnConv,
  kSharedGateUp
};

constexpr FusedBuffer kVllmBuffers[] = {
    {.name = "qkv_proj.{}", .alternate_by = kQueryHeads},
    {.name = "gate_up_proj.{}"},
    // gpt-oss keeps the alternating gate and up rows of its checkpoint.
    {.name = "w13_{}", .sharing = BufferSharing::kSlots, .alternation = Alternation::kKept},
    {.name = "w2_{}", .sharing = BufferSharing::kSlots},
    {.name = "fused_qkv_a_proj.{}"},
    {.name = "kv_b_proj.{}",
     .destination_class = DestinationClass::kShadow,
     .conversion = "absorbed into W_UK_T and W_UV after load"},
    {.name = "wk_weights_proj.{}"},
    {.name = "in_proj.{}"},
    {.name = "conv1d.{}"},
    {.name = "A",
     .destination_class = DestinationClass::kShadow,
     .conversion = "vLLM keeps -exp(A_log)"},
    {.name = "in_proj_qkvz.{}"},
    {.name = "in_proj_ba.{}"},
    {.name = "conv1d.{}"},
    {.name = "gate_up_proj.{}"},
};

constexpr FusedPart kVllmParts[] = {
    {kAttentionQ, kQkv, 0},
    {kAttentionGate, kQkv, 0},
    {kAttentionK, kQkv, 1},
    {kAttentionV, kQkv, 2},
    {kMlpGate, kGateUp, 0},
    {kMlpUp, kGateUp, 1},
    {kSharedGate, kSharedGateUp, 0},
    {kSharedUp, kSharedGateUp, 1},
    {kExpertGate, kW13, 0},
    {kExpertUp, kW13, 1},
    {kExpertGateBias, kW13, 0},
    {kExpertUpBias, kW13, 1},
    {kExpertDown, kW2, 0},
    {kExpertDownBias, kW2, 0},
    {kMlaQueryDown, kQkvDown, 0},
    {kMlaKvDown, kQkvDown, 1},
    {kMlaKvUp, kKvUp, 0},
    {kIndexer, kWkWeights, 0, "wk"},
    {kIndexer, kWkWeights, 1, "weights_proj"},
    {kMambaZ, kInProj, 0},
    {kMambaX, kInProj, 1},
    {kMambaB, kInProj, 2},
    {kMambaC, kInProj, 3},
    {kMambaDt, kInProj, 4},
    {kMambaConvX, kConv, 0},
    {kMambaConvB, kConv, 1},
    {kMambaConvC, kConv, 2},
    {kMambaALog, kA, 0},
    {kGdnQ, kGdnQkvz, 0},
    {kGdnK, kGdnQkvz, 1},
    {kGdnV, kGdnQkvz, 2},
    {kGdnZ, kGdnQkvz, 3},
    {kGdnB, kGdnBa, 0},
    {kGdnA, kGdnBa, 1},
    {kGdnConvQ, kGdnConv, 0},
    {kGdnConvK, kGdnConv, 1},
    {kGdnConvV, kGdnConv, 2},
};

constexpr Renaming kRenamings[] = {
    {"", "backbone.", "model."},
    {"gpt_oss", ".self_attn.qkv_proj.", ".attn.qkv."},
};

// vLLM pads the vocabulary to this many rows, whatever tp is.
constexpr std::int64_t kVocabularyRows = 64;

std::int64_t data_parallel(const VllmOptions& options, std::string_view side) {
  const ParallelSizes& sizes = options.sizes;
  const std::int64_t dp = sizes.dp != 0 ? sizes.dp : std::max<std::int64_t>(1, sizes.ep / sizes.tp);
  if (sizes.ep != 1 && sizes.ep != sizes.tp * dp)
    fail_at(
        side, "parallel.ep",
        fmt::format("vllm spreads experts over a whole engine: expected 1 or tp {} * dp {} = {}, "
                    "found {}",
                    sizes.tp, dp, sizes.tp * dp, sizes.ep));
  return dp;
}

// wk arrives quantised in FP8 checkpoints and is stored de-quantised beside weights_proj.
void list_dequantised(std::span<const LogicalTensor> tensors, ShardedModel& sharded) {
  for (std::uint32_t index = 0; index < tensors.size(); ++index)
    if (tensors[index].kind == kIndexer && dtype_bits(tensors[index].dtype) == 8)
      sharded.conversions.push_back({index, "de-quantised into wk_weights_proj"});
}

}  // namespace

ShardedModel shard_vllm(const Model& model, std::span<const LogicalTensor> tensors,
                        const VllmOptions& options, std::span<const Rank> ranks,
                        std::string_view side) {
  require_inference_sizes("vllm", options, ranks, side);
  const ParallelSizes& sizes = options.sizes;
  const std::int64_t dp = data_parallel(options, side);
  const bool whole_experts = sizes.ep > 1;
  // Without expert parallelism the experts are cut over all dp * tp ranks.
  const ExpertShape experts{.members = whole_experts ? sizes.ep : 1,
                            .parts = whole_experts ? 1 : dp * sizes.tp};
  EngineLayout layout = inference_layout("vllm", model, tensors, options,
                                         {.outer = dp, .stages = sizes.pp, .inner = sizes.tp},
                                         experts, vllm_layers(model.layers, sizes.pp), ranks, side);
  layout.rules = kVllmRules;
  refuse_deepseek_v4(layout, tensors);
  if (sizes.pp > 1)
    layout.predictions_unknown =
        "where vllm keeps prediction layers under pipeline parallelism is "
        "not known";
  if (options.sequence_parallel_moe) layout.ways[static_cast<std::size_t>(kShared)] = 1;
  layout.buffers = kVllmBuffers;
  layout.parts = kVllmParts;
  layout.renamings = kRenamings;
  layout.embedding_multiple = layout.output_multiple = kVocabularyRows;
  ShardedModel sharded = assemble(layout, model, tensors);
  list_dequantised(tensors, sharded);
  return sharded;
}

}  // namespace transload
