// vLLM's rules. Facts from its linear.py, vocab_parallel_embedding.py, fused_moe/layer.py and
// models/deepseek_v2.py (stored file versions, not one pinned commit).
#include <fmt/format.h>

#include <algorithm>

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

// kExpert rows are cut over tp only without expert parallelism; with it experts stay whole.
constexpr RuleTable kVllmRules = {{
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
    {kMtpProjection, kDense, kWhole, kNothing},
}};
static_assert(in_kind_order(kVllmRules));

// vLLM pads the vocabulary to this many rows, whatever tp is.
constexpr std::int64_t kVocabularyRows = 64;

// Last word of a sharding's key: which of the two forms the words before it describe.
constexpr std::int64_t kDenseKey = 0;
constexpr std::int64_t kWholeExpertKey = 1;

std::int64_t padded_vocabulary(std::int64_t rows) {
  return (rows + kVocabularyRows - 1) / kVocabularyRows * kVocabularyRows;
}

// All ranks as [replica, dp, tp], row-major; an engine is one replica.
struct EngineMesh {
  std::int64_t replicas;
  std::int64_t dp;
  std::int64_t tp;
  bool whole_experts;  // expert parallelism over the engine's dp * tp ranks
  std::int64_t engine_ranks() const { return dp * tp; }
};

EngineMesh engine_mesh(const ParallelSizes& sizes, std::span<const Rank> ranks,
                       std::string_view side) {
  const NamedSize named[] = {{"tp", sizes.tp}, {"ep", sizes.ep}, {"dp", sizes.dp}};
  // dp may be left to follow from ep.
  require_sizes(std::span(named).first(sizes.dp == 0 ? 2 : 3), ranks, side);
  if (sizes.pp != 1)
    fail_at(side, "parallel.pp",
            fmt::format("this version plans vllm with pp 1 only, found {}", sizes.pp));
  for (const NamedSize& size : {NamedSize{"cp", sizes.cp}, NamedSize{"etp", sizes.etp}})
    if (size.value != 1)
      fail_at(side, fmt::format("parallel.{}", size.name),
              fmt::format("vllm has no {}; expected 1, found {}", size.name, size.value));

  EngineMesh mesh{};
  mesh.tp = sizes.tp;
  mesh.dp = sizes.dp != 0 ? sizes.dp : std::max<std::int64_t>(1, sizes.ep / sizes.tp);
  if (sizes.ep != 1 && sizes.ep != mesh.engine_ranks())
    fail_at(
        side, "parallel.ep",
        fmt::format("vllm spreads experts over a whole engine: expected 1 or tp {} * dp {} = {}, "
                    "found {}",
                    mesh.tp, mesh.dp, mesh.engine_ranks(), sizes.ep));
  mesh.whole_experts = sizes.ep > 1;
  const auto world = static_cast<std::int64_t>(ranks.size());
  if (world % mesh.engine_ranks() != 0)
    fail_at(side, "gpus",
            fmt::format("{} ranks are not a multiple of the {} ranks of an engine (tp {} * dp {})",
                        world, mesh.engine_ranks(), mesh.tp, mesh.dp));
  mesh.replicas = world / mesh.engine_ranks();
  return mesh;
}

void require_kv_heads_fit(const ModelFigure& figure, const Model& model, std::int64_t tp,
                          std::string_view side) {
  if (tp <= figure.value) return require_divides({"tp", tp}, figure, model, side);
  if (tp % figure.value != 0)
    fail_at(side, "parallel.tp",
            fmt::format("{} is above and not a multiple of {}, so they cannot be replicated evenly",
                        tp, describe(figure, model)));
}

void require_model_fits(const Model& model, const EngineMesh& mesh, std::string_view side) {
  for (const ModelFigure& figure : model_figures(kVllmRules, model)) {
    switch (figure.unit) {
      case kKvHeads:
        require_kv_heads_fit(figure, model, mesh.tp, side);
        break;
      case kExpertWidth:
        if (!mesh.whole_experts) require_divides({"tp", mesh.tp}, figure, model, side);
        break;
      case kVocabulary: {
        const std::int64_t padded = padded_vocabulary(figure.value);
        if (padded % mesh.tp != 0)
          fail_at(side, "parallel.tp",
                  fmt::format("{} does not divide {}, padded to {}", mesh.tp,
                              describe(figure, model), padded));
        break;
      }
      default:
        require_divides({"tp", mesh.tp}, figure, model, side);
    }
  }
}

// vLLM's linear placement: contiguous, the first experts % ranks of them hold one more.
std::int64_t ep_rank_of(std::int64_t expert, std::int64_t experts, std::int64_t ep_ranks) {
  const std::int64_t base = experts / ep_ranks;
  const std::int64_t longer = experts % ep_ranks;
  const std::int64_t in_longer = longer * (base + 1);
  if (expert < in_longer) return expert / (base + 1);
  return longer + (expert - in_longer) / base;
}

Sharding whole_expert(const EngineMesh& mesh, std::span<const Rank> ranks, std::int64_t ep_rank) {
  std::vector<Rank> holders;
  for (std::int64_t replica = 0; replica < mesh.replicas; ++replica)
    holders.push_back(ranks[static_cast<std::size_t>(replica * mesh.engine_ranks() + ep_rank)]);
  return mesh_sharding({{"replica", mesh.replicas}}, std::move(holders), 0);
}

// `parts`: how many different slices the tp ranks hold; consecutive ranks hold copies of one slice
// where they are more than that (KV heads).
Sharding dense_sharding(const EngineMesh& mesh, std::span<const Rank> ranks, int cut,
                        std::int64_t parts, std::int64_t padded) {
  std::vector<PlacedAxis> axes = {{"replica", mesh.replicas}, {"dp", mesh.dp}};
  if (parts == mesh.tp) {
    axes.push_back({"tp", mesh.tp, cut});
  } else {
    axes.push_back({"kv_head", parts, cut});
    axes.push_back({"kv_copy", mesh.tp / parts});
  }
  return mesh_sharding(axes, {ranks.begin(), ranks.end()}, padded);
}

}  // namespace

ShardedModel shard_vllm(const Model& model, const ParallelSizes& sizes, std::span<const Rank> ranks,
                        std::string_view side) {
  const EngineMesh mesh = engine_mesh(sizes, ranks, side);
  require_model_fits(model, mesh, side);

  ShardingTable table;
  ShardedModel result;
  result.sharding_of.reserve(model.parameters.size());
  for (const Parameter& parameter : model.parameters) {
    const ShardingRule& rule = rule_of(kVllmRules, parameter.kind);
    if (rule.group == kExpert && mesh.whole_experts) {
      TRANSLOAD_CHECK(parameter.expert >= 0 && parameter.expert < model.experts,
                      "an expert's matrix knows its expert");
      const std::int64_t ep_rank = ep_rank_of(parameter.expert, model.experts, mesh.engine_ranks());
      result.sharding_of.push_back(table.index_of(
          {ep_rank, 0, 0, kWholeExpertKey}, [&] { return whole_expert(mesh, ranks, ep_rank); }));
      continue;
    }
    std::int64_t parts = mesh.tp;
    if (rule.unit == kKvHeads) parts = std::min(mesh.tp, model.kv_heads);
    // A cut in one part is none; seen so, it shares the sharding of what is whole.
    const int cut = static_cast<int>(parts > 1 ? rule.cut : kWhole);
    if (cut == AxisPlacement::kReplicate) parts = mesh.tp;
    std::int64_t padded = 0;
    if (rule.unit == kVocabulary && parts > 1) {
      padded = padded_vocabulary(parameter.shape[0]);
      if (padded == parameter.shape[0]) padded = 0;
    }
    result.sharding_of.push_back(table.index_of({cut, parts, padded, kDenseKey}, [&] {
      return dense_sharding(mesh, ranks, cut, parts, padded);
    }));
  }
  result.shardings = table.take();
  return result;
}

}  // namespace transload
