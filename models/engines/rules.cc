#include "models/engines/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "common/check.h"
#include "common/error.h"

namespace transload {
namespace {

std::int64_t figure_value(const ShardingRule& rule, const Model& model,
                          const LogicalTensor& parameter) {
  if (const std::int64_t count = unit_count(rule.unit, model)) return count;
  const auto dim = static_cast<std::size_t>(rule.cut);
  TRANSLOAD_CHECK(dim < parameter.shape.size(), "a rule cuts a dimension that the parameter has");
  return parameter.shape[dim];
}

const char* unit_name(RuleUnit unit) {
  switch (unit) {
    case RuleUnit::kNothing:
      return "";
    case RuleUnit::kQueryHeads:
      return "query heads";
    case RuleUnit::kKvHeads:
      return "KV heads";
    case RuleUnit::kMambaHeads:
      return "Mamba heads";
    case RuleUnit::kMambaGroups:
      return "Mamba groups";
    case RuleUnit::kGdnKeyHeads:
      return "delta-net key heads";
    case RuleUnit::kGdnValueHeads:
      return "delta-net value heads";
    case RuleUnit::kKdaHeads:
      return "KDA heads";
    case RuleUnit::kWidth:
      return "feed-forward channels";
    case RuleUnit::kExpertWidth:
      return "expert channels";
    case RuleUnit::kHidden:
      return "hidden channels";
    case RuleUnit::kVocabulary:
      return "vocabulary rows";
  }
  return "";
}

}  // namespace

void forget_rules(RuleTable& table, std::span<const ParameterKind> kinds) {
  for (const ParameterKind kind : kinds)
    table[static_cast<std::size_t>(kind)].group = RuleGroup::kUnknown;
}

std::int64_t unit_count(RuleUnit unit, const Model& model) {
  switch (unit) {
    case RuleUnit::kQueryHeads:
      return model.query_heads;
    case RuleUnit::kKvHeads:
      return model.kv_heads;
    case RuleUnit::kMambaHeads:
      return model.mamba_heads;
    case RuleUnit::kMambaGroups:
      return model.mamba_groups;
    case RuleUnit::kGdnKeyHeads:
      return model.gdn_key_heads;
    case RuleUnit::kGdnValueHeads:
      return model.gdn_value_heads;
    case RuleUnit::kKdaHeads:
      return model.kda_heads;
    default:
      return 0;
  }
}

std::vector<ModelFigure> model_figures(const RuleTable& table, const Model& model,
                                       std::span<const LogicalTensor> tensors) {
  std::vector<ModelFigure> figures;
  for (const LogicalTensor& parameter : tensors) {
    const ShardingRule& rule = rule_of(table, parameter.kind);
    if (rule.unit == RuleUnit::kNothing || rule.group == RuleGroup::kUnknown) continue;
    const std::int64_t value = figure_value(rule, model, parameter);
    const bool known = std::any_of(figures.begin(), figures.end(), [&](const ModelFigure& figure) {
      return figure.unit == rule.unit && figure.value == value && figure.group == rule.group;
    });
    if (!known) figures.push_back({rule.unit, value, rule.group});
  }
  std::sort(figures.begin(), figures.end(), [](const ModelFigure& a, const ModelFigure& b) {
    return std::tie(a.unit, a.value, a.group) < std::tie(b.unit, b.value, b.group);
  });
  return figures;
}

std::string describe(const ModelFigure& figure, const Model& model) {
  return fmt::format("{} {} of {}", figure.value, unit_name(figure.unit), model.name);
}

void fail_at(std::string_view side, std::string_view key, const std::string& problem) {
  throw InputError({"", 0, fmt::format("{}.{}", side, key)}, problem);
}

void require_sizes(std::span<const NamedSize> sizes, std::span<const Rank> ranks,
                   std::string_view side) {
  TRANSLOAD_CHECK(ranks.size() <= std::numeric_limits<Rank>::max(), "ranks fit their own type");
  const auto world = static_cast<std::int64_t>(ranks.size());
  if (world == 0) fail_at(side, "gpus", "no ranks; expected at least one");
  for (const NamedSize& size : sizes) {
    const std::string key = fmt::format("parallel.{}", size.name);
    if (size.value < 1) fail_at(side, key, fmt::format("{} is below 1", size.value));
    if (size.value > world)
      fail_at(side, key,
              fmt::format("{} is more than the {} ranks of {}.gpus", size.value, world, side));
  }
}

void require_divides(const NamedSize& size, const ModelFigure& figure, const Model& model,
                     std::string_view side) {
  if (figure.value % size.value != 0)
    fail_at(side, fmt::format("parallel.{}", size.name),
            fmt::format("{} does not divide {}", size.value, describe(figure, model)));
}

}  // namespace transload
