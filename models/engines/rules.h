// How the engines' rule tables are written and checked.
//
// A table has one row per kind of parameter: which ranks share it out among themselves, along which
// dimension, and which figure of the model must divide by the parallel size for the cut to fall
// between heads or channels. Tables are data; models/engines/assemble.cc interprets them. A run
// copies its engine's table and changes the rows that its own settings change.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/model.h"
#include "models/sharding.h"

namespace transload {

// Which ranks of a pipeline stage share the parameter out. Each group has its own number of parts
// (data-parallel attention cuts attention in fewer than feed-forward layers). kUnknown: the facts
// we have do not say what the engine does, so it is refused.
enum class RuleGroup : std::uint8_t {
  kAttention,
  kMlp,
  kShared,
  kEmbedding,
  kOutput,
  kExpert,
  kUnknown,
};

inline constexpr std::size_t kRuleGroupCount = static_cast<std::size_t>(RuleGroup::kUnknown) + 1;

// kFirst: whole, on the first of the ranks that share the group only.
enum class RuleCut : std::int8_t {
  kFirst = -2,
  kWhole = AxisPlacement::kReplicate,
  kRows = 0,
  kColumns = 1,
};

// What a cut must not split. In the order in which a misfit is reported: heads first, because they
// are what people choose tp by.
enum class RuleUnit : std::uint8_t {
  kNothing,
  kQueryHeads,
  kKvHeads,
  kMambaHeads,
  kMambaGroups,
  kGdnKeyHeads,
  kGdnValueHeads,
  kKdaHeads,
  kWidth,  // channels of a feed-forward layer or a shared expert
  kExpertWidth,
  kHidden,
  kVocabulary,
};

struct ShardingRule {
  ParameterKind kind;
  RuleGroup group;
  RuleCut cut;
  RuleUnit unit;
};

using RuleTable = std::array<ShardingRule, kParameterKindCount>;

// Row i is about kind i, so that a rule is found by index and none can be forgotten.
constexpr bool in_kind_order(const RuleTable& table) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (static_cast<std::size_t>(table[i].kind) != i) return false;
  return true;
}

constexpr const ShardingRule& rule_of(const RuleTable& table, ParameterKind kind) {
  return table[static_cast<std::size_t>(kind)];
}

// Marks kinds as unknown for this run.
void forget_rules(RuleTable& table, std::span<const ParameterKind> kinds);

// One figure of the model that a cut has to respect: 32 query heads, 768 expert channels.
struct ModelFigure {
  RuleUnit unit = RuleUnit::kNothing;
  std::int64_t value = 0;
  RuleGroup group = RuleGroup::kAttention;
};

// Heads or groups that the model has; 0 for units that are read from a tensor's shape.
std::int64_t unit_count(RuleUnit unit, const Model& model);

// The distinct figures behind the model's parameters, ordered by unit.
std::vector<ModelFigure> model_figures(const RuleTable& table, const Model& model,
                                       std::span<const LogicalTensor> tensors);
std::string describe(const ModelFigure& figure, const Model& model);

// InputError at "SIDE.KEY", e.g. "source.parallel.tp".
[[noreturn]] void fail_at(std::string_view side, std::string_view key, const std::string& problem);

struct NamedSize {
  std::string_view name;  // key below `parallel`
  std::int64_t value;
};

// Each size within 1..ranks: products of a few of them then stay within 64 bits.
void require_sizes(std::span<const NamedSize> sizes, std::span<const Rank> ranks,
                   std::string_view side);
void require_divides(const NamedSize& size, const ModelFigure& figure, const Model& model,
                     std::string_view side);

}  // namespace transload
