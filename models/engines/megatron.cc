// Megatron-core's rules. Facts from Megatron-LM@d98e8a6 and NVIDIA-NeMo/Megatron-Bridge@067f987.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "models/engines/assemble.h"
#include "models/engines/engines.h"
#include "models/engines/usual_rules.h"

namespace transload {
namespace {

using enum ParameterKind;
using enum RuleCut;
using enum RuleUnit;
using RuleGroup::kExpert;

// Interpreted by assemble.cc.
constexpr ParameterKind kNotKnown[] = {kVision};
constexpr RuleTable kMegatronRules = without_rules(usual_rules(), kNotKnown);
static_assert(in_kind_order(kMegatronRules));

enum Buffer : std::uint8_t {
  kQkv,
  kFc1,
  kSharedFc1,
  kExpertFc1,
  kInProj,
  kMambaConv,
  kGdnInProj,
  kGdnConv,
  kGdnOutNorm,
};

constexpr FusedBuffer kMegatronBuffers[] = {
    {.name = "self_attention.linear_qkv.{}", .alternate_by = kKvHeads},
    {.name = "mlp.linear_fc1.{}"},
    {.name = "mlp.shared_experts.linear_fc1.{}"},
    {.name = "mlp.experts.linear_fc1.{}", .sharing = BufferSharing::kPerExpert},
    {.name = "mixer.in_proj.{}"},
    {.name = "mixer.conv1d.{}"},
    {.name = "self_attention.in_proj.{}"},
    {.name = "self_attention.conv1d.{}"},
    {.name = "self_attention.out_norm.weight",
     .destination_class = DestinationClass::kShadow,
     .conversion = "Megatron stores this norm minus 1 (zero-centred)"},
};

// A query group of linear_qkv is [its q heads; their gates; k; v]; everywhere else each rank's
// parts follow one another.
constexpr FusedPart kMegatronParts[] = {
    {kAttentionQ, kQkv, 0},
    {kAttentionGate, kQkv, 0},
    {kAttentionK, kQkv, 0},
    {kAttentionV, kQkv, 0},
    {kMlpGate, kFc1, 0},
    {kMlpUp, kFc1, 1},
    {kSharedGate, kSharedFc1, 0},
    {kSharedUp, kSharedFc1, 1},
    {kExpertGate, kExpertFc1, 0},
    {kExpertUp, kExpertFc1, 1},
    {kExpertGateBias, kExpertFc1, 0},
    {kExpertUpBias, kExpertFc1, 1},
    {kMambaZ, kInProj, 0},
    {kMambaX, kInProj, 1},
    {kMambaB, kInProj, 2},
    {kMambaC, kInProj, 3},
    {kMambaDt, kInProj, 4},
    {kMambaConvX, kMambaConv, 0},
    {kMambaConvB, kMambaConv, 1},
    {kMambaConvC, kMambaConv, 2},
    {kGdnQ, kGdnInProj, 0},
    {kGdnK, kGdnInProj, 1},
    {kGdnV, kGdnInProj, 2},
    {kGdnZ, kGdnInProj, 3},
    {kGdnB, kGdnInProj, 4},
    {kGdnA, kGdnInProj, 5},
    {kGdnConvQ, kGdnConv, 0},
    {kGdnConvK, kGdnConv, 1},
    {kGdnConvV, kGdnConv, 2},
    {kGdnNorm, kGdnOutNorm, 0},
};

// The ranks of one pipeline stage, seen twice: [dp, cp, tp] for dense weights, [edp, ep, etp] for
// routed experts, both row-major.
struct StageMesh {
  std::int64_t size;
  std::int64_t tp, cp, dp;
  std::int64_t etp, ep, edp;
};

StageMesh stage_mesh(const ParallelSizes& sizes, std::span<const Rank> ranks,
                     std::string_view side) {
  const NamedSize named[] = {{"tp", sizes.tp}, {"pp", sizes.pp},   {"ep", sizes.ep},
                             {"cp", sizes.cp}, {"etp", sizes.etp}, {"dp", sizes.dp}};
  // dp may be left to follow from the rest.
  require_sizes(std::span(named).first(sizes.dp == 0 ? 5 : 6), ranks, side);
  const auto world = static_cast<std::int64_t>(ranks.size());
  const auto misfit = [&](std::int64_t count, const char* of, std::int64_t product,
                          const std::string& factors) {
    fail_at(side, "gpus",
            fmt::format("{} ranks{} are not a multiple of {} = {}", count, of, factors, product));
  };
  if (world % sizes.pp != 0) misfit(world, "", sizes.pp, "pp");
  StageMesh mesh{};
  mesh.size = world / sizes.pp;
  mesh.tp = sizes.tp;
  mesh.cp = sizes.cp;
  mesh.etp = sizes.etp;
  mesh.ep = sizes.ep;
  if (mesh.size % (mesh.tp * mesh.cp) != 0)
    misfit(mesh.size, " of a stage", mesh.tp * mesh.cp,
           fmt::format("tp {} * cp {}", mesh.tp, mesh.cp));
  if (mesh.size % (mesh.ep * mesh.etp) != 0)
    misfit(mesh.size, " of a stage", mesh.ep * mesh.etp,
           fmt::format("ep {} * etp {}", mesh.ep, mesh.etp));
  mesh.dp = mesh.size / (mesh.tp * mesh.cp);
  mesh.edp = mesh.size / (mesh.ep * mesh.etp);
  if (sizes.dp != 0 && sizes.dp != mesh.dp)
    fail_at(side, "parallel.dp",
            fmt::format("{} does not fit: {} ranks over pp {} * tp {} * cp {} leave dp {}",
                        sizes.dp, world, sizes.pp, mesh.tp, mesh.cp, mesh.dp));
  return mesh;
}

void require_experts_divide(const Model& model, const StageMesh& mesh, std::string_view side) {
  if (model.experts % mesh.ep != 0)
    fail_at(side, "parallel.ep",
            fmt::format("{} does not divide {} routed experts of {}", mesh.ep, model.experts,
                        model.name));
}

// Limits of single architectures.
void require_kda_limits(const Model& model, const MegatronOptions& options, std::string_view side) {
  if (model.kda_heads == 0) return;
  if (options.virtual_stages > 1)
    fail_at(side, "parallel.vpp",
            fmt::format("{} has delta-attention layers, which Megatron runs without virtual "
                        "pipelining; expected 1",
                        model.name));
  if (options.sizes.cp > 1)
    fail_at(side, "parallel.cp",
            fmt::format("{} has delta-attention layers, which Megatron runs without context "
                        "parallelism; expected 1",
                        model.name));
}

// Where only some layers have an indexer (GLM-5.2) the others reuse the choice of the one before,
// which must be on the same stage. DeepSeek-V4's indexers have no wk and nobody reuses their
// choice.
void require_indexer_starts(const Model& model, std::span<const LogicalTensor> tensors,
                            const PipelineStages& stages, std::string_view side) {
  std::vector<bool> indexed(stages.of_layer.size(), false);
  for (const LogicalTensor& tensor : tensors)
    if (tensor.kind == kIndexer && tensor.layer >= 0 && tensor.layer < model.layers &&
        module_name(tensor.name) == "wk")
      indexed[static_cast<std::size_t>(tensor.layer)] = true;
  if (std::none_of(indexed.begin(), indexed.end(), [](bool has) { return has; })) return;
  for (std::size_t layer = 1; layer < indexed.size(); ++layer)
    if (stages.of_layer[layer] != stages.of_layer[layer - 1] && !indexed[layer])
      fail_at(side, "pp_layout",
              fmt::format("stage {} starts with layer {}, which has no indexer of its own; a stage "
                          "of {} must start on a layer that has one",
                          stages.of_layer[layer], layer, model.name));
}

// Dense data-parallel groups: equal stage, context and tensor coordinate ([dp, cp, tp], row-major).
std::vector<RankGroups> rank_groups(const StageMesh& mesh, std::span<const Rank> ranks) {
  std::vector<RankGroups> groups;
  groups.reserve(ranks.size());
  const std::int64_t inner = mesh.cp * mesh.tp;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::int64_t stage = static_cast<std::int64_t>(i) / mesh.size;
    const std::int64_t within = static_cast<std::int64_t>(i) % mesh.size % inner;
    groups.push_back({ranks[i], static_cast<std::int32_t>(stage),
                      static_cast<std::int32_t>(stage * inner + within)});
  }
  std::sort(groups.begin(), groups.end(),
            [](const RankGroups& a, const RankGroups& b) { return a.rank < b.rank; });
  return groups;
}

std::vector<std::vector<std::uint32_t>> expert_members(const StageMesh& mesh) {
  std::vector<std::vector<std::uint32_t>> members(static_cast<std::size_t>(mesh.ep));
  for (std::int64_t edp = 0; edp < mesh.edp; ++edp)
    for (std::int64_t ep = 0; ep < mesh.ep; ++ep)
      for (std::int64_t etp = 0; etp < mesh.etp; ++etp)
        members[static_cast<std::size_t>(ep)].push_back(
            static_cast<std::uint32_t>((edp * mesh.ep + ep) * mesh.etp + etp));
  return members;
}

// The embedding also sits with the output layer that shares its weight, and with every prediction
// layer.
std::vector<std::int32_t> embedding_stages(const Model& model, const PipelineStages& stages) {
  std::vector<std::int32_t> on = {stages.embedding};
  const auto add = [&](std::int32_t stage) {
    if (std::find(on.begin(), on.end(), stage) == on.end()) on.push_back(stage);
  };
  if (model.tied_embeddings) add(stages.output);
  if (model.mtp_layers > 0 && stages.of_prediction.empty()) add(stages.output);
  for (const std::int32_t stage : stages.of_prediction) add(stage);
  return on;
}

}  // namespace

ShardedModel shard_megatron(const Model& model, std::span<const LogicalTensor> tensors,
                            const MegatronOptions& options, std::span<const Rank> ranks,
                            std::string_view side) {
  const StageMesh mesh = stage_mesh(options.sizes, ranks, side);
  require_experts_divide(model, mesh, side);
  require_kda_limits(model, options, side);
  require_indexer_starts(model, tensors, options.stages, side);

  EngineLayout layout;
  layout.engine = "megatron";
  layout.side = side;
  layout.rules = kMegatronRules;
  if (mesh.etp > 1) {
    constexpr ParameterKind kBiases[] = {kExpertGateBias, kExpertUpBias, kExpertDownBias};
    forget_rules(layout.rules, kBiases);
    for (const ParameterKind kind : kBiases)
      layout.why_unknown[kind] = "how expert biases lie over etp is not known";
  }
  if (mesh.tp > model.kv_heads) {
    constexpr ParameterKind kNorms[] = {kKeyNormFull};
    forget_rules(layout.rules, kNorms);
    layout.why_unknown[kKeyNormFull] =
        "how a key norm over all heads lies where tp exceeds the KV "
        "heads is not known";
  }
  layout.buffers = kMegatronBuffers;
  layout.parts = kMegatronParts;
  layout.naming = BufferNaming::kMegatron;
  layout.ways.fill(mesh.tp);
  layout.keys.fill("tp");
  layout.ways[static_cast<std::size_t>(kExpert)] = mesh.etp;
  layout.keys[static_cast<std::size_t>(kExpert)] = "etp";
  for (std::int64_t stage = 0; stage < options.sizes.pp; ++stage) {
    const auto own = ranks.subspan(static_cast<std::size_t>(stage * mesh.size),
                                   static_cast<std::size_t>(mesh.size));
    layout.stage_ranks.emplace_back(own.begin(), own.end());
  }
  layout.stages = options.stages;
  layout.embedding_stages = embedding_stages(model, options.stages);
  layout.embedding_multiple = layout.output_multiple = options.vocabulary_divisor * mesh.tp;
  layout.members = expert_members(mesh);
  layout.homes = linear_experts(model.experts, mesh.ep);
  ShardedModel sharded = assemble(layout, model, tensors);
  sharded.rank_groups = rank_groups(mesh, ranks);
  return sharded;
}

}  // namespace transload
