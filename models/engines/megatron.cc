// Megatron-core's rules. Facts from Megatron-LM@d98e8a6 and NVIDIA-NeMo/Megatron-Bridge@067f987.
#include <fmt/format.h>

#include "common/check.h"
#include "models/engines/engines.h"
#include "models/engines/mesh.h"
#include "models/engines/rules.h"

namespace transload {
namespace {

using enum ParameterKind;
using enum RuleGroup;
using enum RuleCut;
using enum RuleUnit;

// Megatron stores q, k, v of a query group interleaved, and gate beside up, in one fused weight.
// Here each is a tensor of its own; where tp divides the heads the ranks hold the same elements.
constexpr RuleTable kMegatronRules = {{
    {kEmbedding, kDense, kRows, kVocabulary},
    {kOutput, kDense, kRows, kVocabulary},
    {kNorm, kDense, kWhole, kNothing},
    {kHeadNorm, kDense, kWhole, kNothing},
    {kAttentionQ, kDense, kRows, kQueryHeads},
    {kAttentionKV, kDense, kRows, kKvHeads},
    {kAttentionO, kDense, kColumns, kQueryHeads},
    {kMlaDown, kDense, kWhole, kNothing},
    {kMlaUp, kDense, kRows, kQueryHeads},
    {kRouter, kDense, kWhole, kNothing},
    {kRouterBias, kDense, kWhole, kNothing},
    {kMlpGateUp, kDense, kRows, kWidth},
    {kMlpDown, kDense, kColumns, kWidth},
    {kExpertGateUp, kExpert, kRows, kExpertWidth},
    {kExpertDown, kExpert, kColumns, kExpertWidth},
    {kMtpProjection, kDense, kRows, kHidden},
}};
static_assert(in_kind_order(kMegatronRules));

// Megatron pads the vocabulary to this many rows per tensor-parallel rank.
constexpr std::int64_t kVocabularyRows = 128;

// In the key of a sharding, where an expert's would have its ep rank.
constexpr std::int64_t kNoExpert = -1;

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

void require_model_fits(const Model& model, const StageMesh& mesh, std::string_view side) {
  if (model.experts % mesh.ep != 0)
    fail_at(side, "parallel.ep",
            fmt::format("{} does not divide {} routed experts of {}", mesh.ep, model.experts,
                        model.name));
  for (const ModelFigure& figure : model_figures(kMegatronRules, model)) {
    if (figure.unit == kVocabulary) continue;  // padding makes every vocabulary fit
    const bool expert = figure.unit == kExpertWidth;
    require_divides({expert ? "etp" : "tp", expert ? mesh.etp : mesh.tp}, figure, model, side);
  }
}

// Stage of each decoder layer.
std::vector<std::int64_t> stages_of_layers(const Model& model, std::int64_t stages,
                                           const PipelineLayout& layout, std::string_view side) {
  if (static_cast<std::int64_t>(layout.size()) != stages)
    fail_at(side, "pp_layout",
            fmt::format("{} entries for pp {}; expected one per stage", layout.size(), stages));
  std::vector<std::int64_t> stage_of;
  for (std::size_t stage = 0; stage < layout.size(); ++stage) {
    const std::int64_t left = model.layers - static_cast<std::int64_t>(stage_of.size());
    if (layout[stage] < 0 || layout[stage] > left)
      fail_at(side, "pp_layout",
              fmt::format("stage {} has {} layers; {} of the {} layers of {} are left for it",
                          stage, layout[stage], left, model.layers, model.name));
    stage_of.insert(stage_of.end(), static_cast<std::size_t>(layout[stage]),
                    static_cast<std::int64_t>(stage));
  }
  if (static_cast<std::int64_t>(stage_of.size()) != model.layers)
    fail_at(side, "pp_layout",
            fmt::format("the stages hold {} layers; {} has {}", stage_of.size(), model.name,
                        model.layers));
  return stage_of;
}

std::int64_t stage_of(const Parameter& parameter, std::span<const std::int64_t> stage_of_layer,
                      std::int64_t stages) {
  if (parameter.part != ModelPart::kMain) return stages - 1;
  if (parameter.layer >= 0) return stage_of_layer[static_cast<std::size_t>(parameter.layer)];
  return parameter.kind == kEmbedding ? 0 : stages - 1;
}

Sharding dense_sharding(const StageMesh& mesh, std::span<const Rank> stage_ranks, int cut,
                        std::int64_t padded) {
  return mesh_sharding({{"dp", mesh.dp}, {"cp", mesh.cp}, {"tp", mesh.tp, cut}},
                       {stage_ranks.begin(), stage_ranks.end()}, padded);
}

Sharding expert_sharding(const StageMesh& mesh, std::span<const Rank> stage_ranks,
                         std::int64_t ep_rank, int cut) {
  std::vector<Rank> holders;
  for (std::int64_t edp = 0; edp < mesh.edp; ++edp)
    for (std::int64_t etp = 0; etp < mesh.etp; ++etp)
      holders.push_back(
          stage_ranks[static_cast<std::size_t>((edp * mesh.ep + ep_rank) * mesh.etp + etp)]);
  return mesh_sharding({{"edp", mesh.edp}, {"etp", mesh.etp, cut}}, std::move(holders), 0);
}

}  // namespace

ShardedModel shard_megatron(const Model& model, const ParallelSizes& sizes,
                            const PipelineLayout& layout, std::span<const Rank> ranks,
                            std::string_view side) {
  const StageMesh mesh = stage_mesh(sizes, ranks, side);
  const std::vector<std::int64_t> stage_of_layer = stages_of_layers(model, sizes.pp, layout, side);
  require_model_fits(model, mesh, side);

  ShardingTable table;
  ShardedModel result;
  result.sharding_of.reserve(model.parameters.size());
  for (const Parameter& parameter : model.parameters) {
    const ShardingRule& rule = rule_of(kMegatronRules, parameter.kind);
    const std::int64_t stage = stage_of(parameter, stage_of_layer, sizes.pp);
    const auto stage_ranks = ranks.subspan(static_cast<std::size_t>(stage * mesh.size),
                                           static_cast<std::size_t>(mesh.size));
    const std::int64_t ways = rule.group == kExpert ? mesh.etp : mesh.tp;
    // An axis of one rank cuts nothing; seen so, all kinds of a stage share one sharding.
    const int cut = static_cast<int>(ways > 1 ? rule.cut : kWhole);
    if (rule.group == kExpert) {
      TRANSLOAD_CHECK(parameter.expert >= 0 && parameter.expert < model.experts,
                      "an expert's matrix knows its expert");
      const std::int64_t ep_rank = parameter.expert / (model.experts / mesh.ep);
      result.sharding_of.push_back(table.index_of({stage, ep_rank, cut, 0}, [&] {
        return expert_sharding(mesh, stage_ranks, ep_rank, cut);
      }));
      continue;
    }
    std::int64_t padded = 0;
    if (rule.unit == kVocabulary && ways > 1) {
      const std::int64_t multiple = kVocabularyRows * mesh.tp;
      const std::int64_t rows = parameter.shape[0];
      padded = (rows + multiple - 1) / multiple * multiple;
      if (padded == rows) padded = 0;
    }
    result.sharding_of.push_back(table.index_of({stage, kNoExpert, cut, padded}, [&] {
      return dense_sharding(mesh, stage_ranks, cut, padded);
    }));
  }
  result.shardings = table.take();
  return result;
}

}  // namespace transload
