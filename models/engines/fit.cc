#include "models/engines/fit.h"

#include <fmt/format.h>

#include <algorithm>

namespace transload {
namespace {

void require_kv_heads_fit(const EngineLayout& layout, const ModelFigure& figure, const Model& model,
                          const NamedSize& ways) {
  if (ways.value <= figure.value) return require_divides(ways, figure, model, layout.side);
  if (ways.value % figure.value != 0)
    fail_at(
        layout.side, fmt::format("parallel.{}", ways.name),
        fmt::format("{} is above and not a multiple of {}, so they cannot be {} evenly", ways.value,
                    describe(figure, model), layout.replicates_heads ? "replicated" : "cut"));
}

}  // namespace

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return multiple == 0 ? value : (value + multiple - 1) / multiple * multiple;
}

std::int64_t pieces_of(const EngineLayout& layout, const Model& model, const ShardingRule& rule) {
  if (rule.cut != RuleCut::kRows && rule.cut != RuleCut::kColumns) return 1;
  const std::int64_t ways = layout.ways[static_cast<std::size_t>(rule.group)];
  if (!layout.replicates_heads) return ways;
  if (rule.unit == RuleUnit::kKvHeads) return std::min(ways, model.kv_heads);
  if (rule.unit == RuleUnit::kMambaGroups && model.mamba_groups == 1) return 1;
  return ways;
}

void require_fits(const EngineLayout& layout, const Model& model,
                  std::span<const LogicalTensor> tensors) {
  for (const ModelFigure& figure : model_figures(layout.rules, model, tensors)) {
    const auto group = static_cast<std::size_t>(figure.group);
    const NamedSize ways{layout.keys[group], layout.ways[group]};
    if (figure.unit == RuleUnit::kKvHeads) {
      require_kv_heads_fit(layout, figure, model, ways);
    } else if (figure.unit == RuleUnit::kVocabulary) {
      const std::int64_t padded =
          round_up(figure.value, figure.group == RuleGroup::kEmbedding ? layout.embedding_multiple
                                                                       : layout.output_multiple);
      if (padded % ways.value != 0)
        fail_at(layout.side, fmt::format("parallel.{}", ways.name),
                fmt::format("{} does not divide {}{}", ways.value, describe(figure, model),
                            padded == figure.value ? "" : fmt::format(", padded to {}", padded)));
    } else if (figure.unit == RuleUnit::kMambaGroups && figure.value == 1 &&
               layout.replicates_heads) {
      continue;
    } else {
      require_divides(ways, figure, model, layout.side);
    }
  }
}

bool is_quantisation_scale(std::string_view name) {
  return name.ends_with("weight_scale_inv") || name.ends_with("weight_scale") ||
         name.ends_with("_scales") || name.ends_with("_blocks") ||
         name.ends_with("weight_packed") || name.ends_with("weight.scale");
}

}  // namespace transload
