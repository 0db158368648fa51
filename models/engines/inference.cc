#include "models/engines/inference.h"

#include <fmt/format.h>

#include <algorithm>

namespace transload {
namespace {

std::vector<std::vector<Rank>> stage_ranks(const EngineShape& shape, std::span<const Rank> ranks) {
  std::vector<std::vector<Rank>> stages(static_cast<std::size_t>(shape.stages));
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    const std::int64_t stage = static_cast<std::int64_t>(n) / shape.inner % shape.stages;
    stages[static_cast<std::size_t>(stage)].push_back(ranks[n]);
  }
  return stages;
}

std::vector<std::vector<std::uint32_t>> expert_members(const ExpertShape& experts,
                                                       std::int64_t stage_size,
                                                       std::int64_t ranks) {
  std::vector<std::vector<std::uint32_t>> members(static_cast<std::size_t>(experts.members));
  for (std::int64_t n = 0; n < ranks; ++n) {
    const std::int64_t in_stage = n % stage_size;
    const std::int64_t member = experts.members_fastest
                                    ? in_stage % experts.members
                                    : in_stage / experts.parts % experts.members;
    members[static_cast<std::size_t>(member)].push_back(static_cast<std::uint32_t>(n));
  }
  return members;
}

void place_experts(EngineLayout& layout, const Model& model, const InferenceOptions& options,
                   std::int64_t members) {
  if (options.experts.empty()) {
    layout.homes = options.round_robin ? round_robin_experts(model.experts, members)
                                       : linear_experts(model.experts, members);
    return;
  }
  if (members == 1)
    fail_at(layout.side, "expert_table", "experts are placed by a table only where ep is above 1");
  if (!options.experts.all_layers.empty())
    layout.homes = table_experts(options.experts.all_layers, model.experts, members, layout.side);
  else
    layout.homes = linear_experts(model.experts, members);
  for (const auto& [layer, slots] : options.experts.of_layer)
    layout.homes_of_layer[layer] = table_experts(slots, model.experts, members,
                                                 fmt::format("{}, layer {}", layout.side, layer));
}

// A table that names layers must name all that have experts.
void require_table_covers(const EngineLayout& layout, std::span<const LogicalTensor> tensors,
                          const ExpertTable& table) {
  if (table.of_layer.empty() || !table.all_layers.empty()) return;
  for (const LogicalTensor& tensor : tensors)
    if (tensor.expert >= 0 && !table.of_layer.contains(tensor.layer))
      fail_at(layout.side, "expert_table",
              fmt::format("layer {} has experts but no row in the table", tensor.layer));
}

}  // namespace

void require_inference_sizes(std::string_view engine, const InferenceOptions& options,
                             std::span<const Rank> ranks, std::string_view side) {
  const ParallelSizes& sizes = options.sizes;
  const NamedSize named[] = {
      {"tp", sizes.tp}, {"pp", sizes.pp}, {"ep", sizes.ep}, {"dp", sizes.dp}};
  // dp may be left to follow from the others.
  require_sizes(std::span(named).first(sizes.dp == 0 ? 3 : 4), ranks, side);
  for (const NamedSize& size : {NamedSize{"cp", sizes.cp}, NamedSize{"etp", sizes.etp}})
    if (size.value != 1)
      fail_at(side, fmt::format("parallel.{}", size.name),
              fmt::format("{} has no {}; expected 1, found {}", engine, size.name, size.value));
}

EngineLayout inference_layout(std::string_view engine, const Model& model,
                              std::span<const LogicalTensor> tensors,
                              const InferenceOptions& options, const EngineShape& shape,
                              const ExpertShape& experts, const PipelineLayout& default_layers,
                              std::span<const Rank> ranks, std::string_view side) {
  const auto world = static_cast<std::int64_t>(ranks.size());
  if (world % shape.ranks() != 0)
    fail_at(side, "gpus",
            fmt::format("{} ranks are not a multiple of the {} ranks of an engine", world,
                        shape.ranks()));
  EngineLayout layout;
  layout.engine = engine;
  layout.side = side;
  layout.engine_ranks = shape.ranks();
  layout.ways.fill(options.sizes.tp);
  layout.keys.fill("tp");
  layout.ways[static_cast<std::size_t>(RuleGroup::kExpert)] = experts.parts;
  layout.stage_ranks = stage_ranks(shape, ranks);
  layout.stages = stages_of_counts(options.layers.empty() ? default_layers : options.layers,
                                   shape.stages, model.layers, 1, side);
  layout.embedding_stages = {0};
  if (model.tied_embeddings && layout.stages.output != 0)
    layout.embedding_stages.push_back(layout.stages.output);
  layout.replicates_heads = true;
  layout.members = expert_members(experts, shape.stage_ranks(), world / shape.stages);
  place_experts(layout, model, options, experts.members);
  require_table_covers(layout, tensors, options.experts);
  return layout;
}

void set_unknown(EngineLayout& layout, std::span<const ParameterKind> kinds,
                 std::string_view reason) {
  forget_rules(layout.rules, kinds);
  if (reason.empty()) return;
  for (const ParameterKind kind : kinds) layout.why_unknown[kind] = reason;
}

void refuse_deepseek_v4(EngineLayout& layout, std::span<const LogicalTensor> tensors) {
  // Its grouped output projection is what no other architecture has.
  if (std::none_of(tensors.begin(), tensors.end(), [](const LogicalTensor& tensor) {
        return tensor.kind == ParameterKind::kGroupedOutUp;
      }))
    return;
  const std::string reason = fmt::format("how {} lays out DeepSeek-V4 is not known", layout.engine);
  for (ShardingRule& rule : layout.rules) {
    rule.group = RuleGroup::kUnknown;
    layout.why_unknown[rule.kind] = reason;
  }
}

}  // namespace transload
