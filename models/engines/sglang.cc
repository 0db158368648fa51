// SGLang's rules. Facts from its deepseek_v2.py, dp_attention.py and distributed/utils.py (stored
// file versions, not one pinned commit).
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
using RuleGroup::kMlp;

// Interpreted by assemble.cc. Unknown: not in the facts we have.
constexpr RuleTable kSglangRules = without_rules(usual_rules(), kSharedUnknown);
static_assert(in_kind_order(kSglangRules));

enum Buffer : std::uint8_t { kQkv, kGateUp, kW13, kW2, kQkvDown, kKvUp, kSharedGateUp };

constexpr FusedBuffer kSglangBuffers[] = {
    {.name = "qkv_proj.{}", .alternate_by = kQueryHeads},
    {.name = "gate_up_proj.{}"},
    {.name = "w13_{}", .sharing = BufferSharing::kSlots, .alternation = Alternation::kUnknown},
    {.name = "w2_{}", .sharing = BufferSharing::kSlots},
    {.name = "fused_qkv_a_proj_with_mqa.{}"},
    {.name = "kv_b_proj.{}",
     .destination_class = DestinationClass::kShadow,
     .conversion = "w_kc and w_vc are computed from it after load"},
    {.name = "gate_up_proj.{}"},
};

// The parts that are the same whatever the options.
constexpr FusedPart kSglangParts[] = {
    {kAttentionQ, kQkv, 0}, {kAttentionGate, kQkv, 0},    {kAttentionK, kQkv, 1},
    {kAttentionV, kQkv, 2}, {kMlpGate, kGateUp, 0},       {kMlpUp, kGateUp, 1},
    {kExpertDown, kW2, 0},  {kMlaQueryDown, kQkvDown, 0}, {kMlaKvDown, kQkvDown, 1},
    {kMlaKvUp, kKvUp, 0},
};

std::vector<FusedPart> parts_of(const SglangOptions& options) {
  std::vector<FusedPart> parts(std::begin(kSglangParts), std::end(kSglangParts));
  const std::uint8_t gate = options.up_first ? 1 : 0;
  const auto up = static_cast<std::uint8_t>(1 - gate);
  // Parts of a buffer stand in order of their sections.
  const auto add = [&](ParameterKind gate_kind, ParameterKind up_kind, std::uint8_t buffer,
                       std::uint8_t gate_section, std::uint8_t up_section) {
    const FusedPart both[] = {{gate_kind, buffer, gate_section}, {up_kind, buffer, up_section}};
    parts.push_back(both[gate_section < up_section ? 0 : 1]);
    parts.push_back(both[gate_section < up_section ? 1 : 0]);
  };
  add(kExpertGate, kExpertUp, kW13, gate, up);
  if (options.fused_shared_expert) {
    add(kSharedGate, kSharedUp, kW13, gate, up);
    parts.push_back({kSharedDown, kW2, 0});
  } else {
    add(kSharedGate, kSharedUp, kSharedGateUp, 0, 1);
  }
  return parts;
}

// As vLLM's, whose class SGLang took over.
constexpr std::int64_t kVocabularyRows = 64;

void require_divides_tp(std::string_view key, std::int64_t value, std::int64_t tp,
                        std::string_view side) {
  if (tp % value != 0)
    fail_at(side, fmt::format("parallel.{}", key),
            fmt::format("{} does not divide tp {}", value, tp));
}

// The shared expert becomes routed expert number E.
void fuse_shared_expert(EngineLayout& layout, const Model& model,
                        std::span<const LogicalTensor> tensors, const SglangOptions& options) {
  if (options.sizes.ep != 1)
    fail_at(layout.side, "fused_shared_expert",
            "SGLang fuses the shared expert only without expert parallelism; expected ep 1");
  std::int64_t routed_width = 0;
  for (const LogicalTensor& tensor : tensors)
    if (tensor.kind == kExpertUp) routed_width = tensor.shape[0];
  for (const LogicalTensor& tensor : tensors)
    if (tensor.kind == kSharedUp && tensor.shape[0] != routed_width)
      fail_at(layout.side, "fused_shared_expert",
              fmt::format("the shared expert of {} has {} channels, a routed one {}", model.name,
                          tensor.shape[0], routed_width));
  const auto set = [&](ParameterKind kind, RuleCut cut) {
    layout.rules[static_cast<std::size_t>(kind)] = {kind, kExpert, cut, kExpertWidth};
  };
  set(kSharedGate, kRows);
  set(kSharedUp, kRows);
  set(kSharedDown, kColumns);
  layout.homes.push_back({{0, static_cast<std::uint32_t>(model.experts)}});
}

}  // namespace

ShardedModel shard_sglang(const Model& model, std::span<const LogicalTensor> tensors,
                          const SglangOptions& options, std::span<const Rank> ranks,
                          std::string_view side) {
  require_inference_sizes("sglang", options, ranks, side);
  const ParallelSizes& sizes = options.sizes;
  const std::int64_t dp = std::max<std::int64_t>(1, sizes.dp);
  require_divides_tp("dp", dp, sizes.tp, side);
  require_divides_tp("ep", sizes.ep, sizes.tp, side);
  if (options.experts.empty() && model.experts % sizes.ep != 0)
    fail_at(side, "parallel.ep",
            fmt::format("{} does not divide {} routed experts of {}", sizes.ep, model.experts,
                        model.name));
  if (options.moe_dense_tp != 0)
    require_divides_tp("moe_dense_tp", options.moe_dense_tp, sizes.tp, side);
  EngineLayout layout = inference_layout("sglang", model, tensors, options,
                                         {.outer = 1, .stages = sizes.pp, .inner = sizes.tp},
                                         {.members = sizes.ep, .parts = sizes.tp / sizes.ep},
                                         sglang_layers(model.layers, sizes.pp), ranks, side);
  layout.rules = kSglangRules;
  refuse_deepseek_v4(layout, tensors);
  const auto ways = [&](RuleGroup group) -> std::int64_t& {
    return layout.ways[static_cast<std::size_t>(group)];
  };
  ways(kAttention) = sizes.tp / dp;
  ways(RuleGroup::kEmbedding) = sizes.tp / dp;
  if (options.dp_lm_head) ways(RuleGroup::kOutput) = sizes.tp / dp;
  if (options.moe_dense_tp != 0) ways(kMlp) = options.moe_dense_tp;
  layout.embedding_multiple = layout.output_multiple = kVocabularyRows;
  if (options.fused_shared_expert) fuse_shared_expert(layout, model, tensors, options);
  const std::vector<FusedPart> parts = parts_of(options);
  layout.buffers = kSglangBuffers;
  layout.parts = parts;
  return assemble(layout, model, tensors);
}

}  // namespace transload
