#include <array>
#include <string_view>

#include "common/check.h"
#include "models/model.h"

namespace transload {
namespace {

struct KindName {
  ParameterKind kind;
  std::string_view name;
};

constexpr std::array<KindName, kParameterKindCount> kNames = {{
    {ParameterKind::kEmbedding, "embedding"},
    {ParameterKind::kOutput, "output"},
    {ParameterKind::kNorm, "norm"},
    {ParameterKind::kHeadNorm, "head-norm"},
    {ParameterKind::kAttentionQ, "attention-q"},
    {ParameterKind::kAttentionGate, "attention-gate"},
    {ParameterKind::kAttentionK, "attention-k"},
    {ParameterKind::kAttentionV, "attention-v"},
    {ParameterKind::kAttentionO, "attention-o"},
    {ParameterKind::kAttentionOBias, "attention-o-bias"},
    {ParameterKind::kQueryNormFull, "query-norm-full"},
    {ParameterKind::kKeyNormFull, "key-norm-full"},
    {ParameterKind::kSinks, "sinks"},
    {ParameterKind::kMlaQueryDown, "mla-query-down"},
    {ParameterKind::kMlaKvDown, "mla-kv-down"},
    {ParameterKind::kMlaQueryUp, "mla-query-up"},
    {ParameterKind::kMlaKvUp, "mla-kv-up"},
    {ParameterKind::kMlaGate, "mla-gate"},
    {ParameterKind::kIndexer, "indexer"},
    {ParameterKind::kRouter, "router"},
    {ParameterKind::kRouterBias, "router-bias"},
    {ParameterKind::kMlpGate, "mlp-gate"},
    {ParameterKind::kMlpUp, "mlp-up"},
    {ParameterKind::kMlpDown, "mlp-down"},
    {ParameterKind::kSharedGate, "shared-gate"},
    {ParameterKind::kSharedUp, "shared-up"},
    {ParameterKind::kSharedDown, "shared-down"},
    {ParameterKind::kSharedExpertGate, "shared-expert-gate"},
    {ParameterKind::kExpertGate, "expert-gate"},
    {ParameterKind::kExpertUp, "expert-up"},
    {ParameterKind::kExpertDown, "expert-down"},
    {ParameterKind::kExpertGateBias, "expert-gate-bias"},
    {ParameterKind::kExpertUpBias, "expert-up-bias"},
    {ParameterKind::kExpertDownBias, "expert-down-bias"},
    {ParameterKind::kLatentProjection, "latent-projection"},
    {ParameterKind::kMambaZ, "mamba-z"},
    {ParameterKind::kMambaX, "mamba-x"},
    {ParameterKind::kMambaB, "mamba-b"},
    {ParameterKind::kMambaC, "mamba-c"},
    {ParameterKind::kMambaDt, "mamba-dt"},
    {ParameterKind::kMambaConvX, "mamba-conv-x"},
    {ParameterKind::kMambaConvB, "mamba-conv-b"},
    {ParameterKind::kMambaConvC, "mamba-conv-c"},
    {ParameterKind::kMambaHead, "mamba-head"},
    {ParameterKind::kMambaALog, "mamba-a-log"},
    {ParameterKind::kMambaNorm, "mamba-norm"},
    {ParameterKind::kMambaOut, "mamba-out"},
    {ParameterKind::kGdnQ, "gdn-q"},
    {ParameterKind::kGdnK, "gdn-k"},
    {ParameterKind::kGdnV, "gdn-v"},
    {ParameterKind::kGdnZ, "gdn-z"},
    {ParameterKind::kGdnB, "gdn-b"},
    {ParameterKind::kGdnA, "gdn-a"},
    {ParameterKind::kGdnConvQ, "gdn-conv-q"},
    {ParameterKind::kGdnConvK, "gdn-conv-k"},
    {ParameterKind::kGdnConvV, "gdn-conv-v"},
    {ParameterKind::kGdnHead, "gdn-head"},
    {ParameterKind::kGdnALog, "gdn-a-log"},
    {ParameterKind::kGdnNorm, "gdn-norm"},
    {ParameterKind::kGdnOut, "gdn-out"},
    {ParameterKind::kKdaRows, "kda-rows"},
    {ParameterKind::kKdaOut, "kda-out"},
    {ParameterKind::kGroupedOutDown, "grouped-out-down"},
    {ParameterKind::kGroupedOutUp, "grouped-out-up"},
    {ParameterKind::kHyperConnection, "hyper-connection"},
    {ParameterKind::kMtpProjection, "mtp-projection"},
    {ParameterKind::kVision, "vision"},
}};

constexpr bool in_kind_order() {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (static_cast<std::size_t>(kNames[i].kind) != i) return false;
  return true;
}
static_assert(in_kind_order(), "row i names kind i");

}  // namespace

std::string_view parameter_kind_name(ParameterKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  TRANSLOAD_CHECK(index < kNames.size(), "kind is one of the enumerators");
  return kNames[index].name;
}

}  // namespace transload
