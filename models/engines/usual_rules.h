// How a kind of parameter is cut where an engine cuts it in the usual way, and how an engine's own
// table says what it does otherwise. The rows are Megatron-core's (Megatron-LM@d98e8a6).
#pragma once

#include <initializer_list>
#include <span>

#include "models/engines/rules.h"

namespace transload {

constexpr RuleTable usual_rules() {
  using enum ParameterKind;
  using enum RuleCut;
  using enum RuleUnit;
  using RuleGroup::kAttention;
  using RuleGroup::kExpert;
  using RuleGroup::kMlp;
  using RuleGroup::kShared;
  using RuleGroup::kUnknown;
  return {{
      {kEmbedding, RuleGroup::kEmbedding, kRows, kVocabulary},
      {kOutput, RuleGroup::kOutput, kRows, kVocabulary},
      {kNorm, kAttention, kWhole, kNothing},
      {kHeadNorm, kAttention, kWhole, kNothing},
      {kAttentionQ, kAttention, kRows, kQueryHeads},
      {kAttentionGate, kAttention, kRows, kQueryHeads},
      {kAttentionK, kAttention, kRows, kKvHeads},
      {kAttentionV, kAttention, kRows, kKvHeads},
      {kAttentionO, kAttention, kColumns, kQueryHeads},
      {kAttentionOBias, kAttention, kWhole, kNothing},
      {kQueryNormFull, kAttention, kRows, kQueryHeads},
      {kKeyNormFull, kAttention, kRows, kKvHeads},
      {kSinks, kAttention, kRows, kQueryHeads},
      {kMlaQueryDown, kAttention, kWhole, kNothing},
      {kMlaKvDown, kAttention, kWhole, kNothing},
      {kMlaQueryUp, kAttention, kRows, kQueryHeads},
      {kMlaKvUp, kAttention, kRows, kQueryHeads},
      {kMlaGate, kAttention, kRows, kQueryHeads},
      {kIndexer, kAttention, kWhole, kNothing},
      {kRouter, kAttention, kWhole, kNothing},
      {kRouterBias, kAttention, kWhole, kNothing},
      {kMlpGate, kMlp, kRows, kWidth},
      {kMlpUp, kMlp, kRows, kWidth},
      {kMlpDown, kMlp, kColumns, kWidth},
      {kSharedGate, kShared, kRows, kWidth},
      {kSharedUp, kShared, kRows, kWidth},
      {kSharedDown, kShared, kColumns, kWidth},
      {kSharedExpertGate, kAttention, kWhole, kNothing},
      {kExpertGate, kExpert, kRows, kExpertWidth},
      {kExpertUp, kExpert, kRows, kExpertWidth},
      {kExpertDown, kExpert, kColumns, kExpertWidth},
      {kExpertGateBias, kExpert, kRows, kExpertWidth},
      {kExpertUpBias, kExpert, kRows, kExpertWidth},
      {kExpertDownBias, kExpert, kWhole, kNothing},
      {kLatentProjection, kAttention, kWhole, kNothing},
      {kMambaZ, kAttention, kRows, kMambaHeads},
      {kMambaX, kAttention, kRows, kMambaHeads},
      {kMambaB, kAttention, kRows, kMambaGroups},
      {kMambaC, kAttention, kRows, kMambaGroups},
      {kMambaDt, kAttention, kRows, kMambaHeads},
      {kMambaConvX, kAttention, kRows, kMambaHeads},
      {kMambaConvB, kAttention, kRows, kMambaGroups},
      {kMambaConvC, kAttention, kRows, kMambaGroups},
      {kMambaHead, kAttention, kRows, kMambaHeads},
      {kMambaALog, kAttention, kRows, kMambaHeads},
      {kMambaNorm, kAttention, kRows, kMambaHeads},
      {kMambaOut, kAttention, kColumns, kMambaHeads},
      {kGdnQ, kAttention, kRows, kGdnKeyHeads},
      {kGdnK, kAttention, kRows, kGdnKeyHeads},
      {kGdnV, kAttention, kRows, kGdnValueHeads},
      {kGdnZ, kAttention, kRows, kGdnValueHeads},
      {kGdnB, kAttention, kRows, kGdnValueHeads},
      {kGdnA, kAttention, kRows, kGdnValueHeads},
      {kGdnConvQ, kAttention, kRows, kGdnKeyHeads},
      {kGdnConvK, kAttention, kRows, kGdnKeyHeads},
      {kGdnConvV, kAttention, kRows, kGdnValueHeads},
      {kGdnHead, kAttention, kRows, kGdnValueHeads},
      {kGdnALog, kAttention, kRows, kGdnValueHeads},
      {kGdnNorm, kAttention, kWhole, kNothing},
      {kGdnOut, kAttention, kColumns, kGdnValueHeads},
      {kKdaRows, kAttention, kRows, kKdaHeads},
      {kKdaOut, kAttention, kColumns, kKdaHeads},
      {kGroupedOutDown, kAttention, kWhole, kNothing},
      {kGroupedOutUp, kAttention, kColumns, kHidden},
      {kHyperConnection, kAttention, kWhole, kNothing},
      {kMtpProjection, kAttention, kRows, kHidden},
      {kVision, kUnknown, kWhole, kNothing},
  }};
}

// The table with other rows for some kinds.
constexpr RuleTable with_rows(RuleTable table, std::initializer_list<ShardingRule> rows) {
  for (const ShardingRule& row : rows) table[static_cast<std::size_t>(row.kind)] = row;
  return table;
}

// The table of an engine that does something nobody has published with some kinds.
constexpr RuleTable without_rules(RuleTable table, std::span<const ParameterKind> kinds) {
  for (const ParameterKind kind : kinds)
    table[static_cast<std::size_t>(kind)].group = RuleGroup::kUnknown;
  return table;
}

// What neither SGLang nor TensorRT-LLM has published in the facts that we have: experts' biases and
// latent projections, Mamba, delta nets, DeepSeek-V4, prediction layers, vision.
inline constexpr ParameterKind kSharedUnknown[] = {ParameterKind::kMlaGate,
                                                   ParameterKind::kExpertGateBias,
                                                   ParameterKind::kExpertUpBias,
                                                   ParameterKind::kExpertDownBias,
                                                   ParameterKind::kLatentProjection,
                                                   ParameterKind::kMambaZ,
                                                   ParameterKind::kMambaX,
                                                   ParameterKind::kMambaB,
                                                   ParameterKind::kMambaC,
                                                   ParameterKind::kMambaDt,
                                                   ParameterKind::kMambaConvX,
                                                   ParameterKind::kMambaConvB,
                                                   ParameterKind::kMambaConvC,
                                                   ParameterKind::kMambaHead,
                                                   ParameterKind::kMambaALog,
                                                   ParameterKind::kMambaNorm,
                                                   ParameterKind::kGdnQ,
                                                   ParameterKind::kGdnK,
                                                   ParameterKind::kGdnV,
                                                   ParameterKind::kGdnZ,
                                                   ParameterKind::kGdnB,
                                                   ParameterKind::kGdnA,
                                                   ParameterKind::kGdnConvQ,
                                                   ParameterKind::kGdnConvK,
                                                   ParameterKind::kGdnConvV,
                                                   ParameterKind::kGdnHead,
                                                   ParameterKind::kGdnALog,
                                                   ParameterKind::kGdnNorm,
                                                   ParameterKind::kGdnOut,
                                                   ParameterKind::kKdaRows,
                                                   ParameterKind::kKdaOut,
                                                   ParameterKind::kGroupedOutDown,
                                                   ParameterKind::kGroupedOutUp,
                                                   ParameterKind::kHyperConnection,
                                                   ParameterKind::kMtpProjection,
                                                   ParameterKind::kVision};

}  // namespace transload
