// Qwen3 mixture of experts: Qwen3-30B-A3B, Qwen3-235B-A22B and their kin.
#include <algorithm>
#include <vector>

#include "models/families/attention.h"
#include "models/families/builder.h"
#include "models/families/families.h"

namespace transload {
namespace {

// Which layers have experts: every decoder_sparse_step-th one that mlp_only_layers does not name.
std::vector<bool> read_sparse_layers(YamlMap& hyper, const Model& model) {
  const std::int64_t step = hyper_parameter_or(hyper, "decoder_sparse_step", 1, 1, kMaxLayers);
  std::vector<bool> sparse(static_cast<std::size_t>(model.layers));
  for (std::size_t layer = 0; layer < sparse.size(); ++layer)
    sparse[layer] = (static_cast<std::int64_t>(layer) + 1) % step == 0;
  if (const auto dense = given(hyper, "mlp_only_layers"))
    for (const YamlValue& layer : dense->list())
      sparse[static_cast<std::size_t>(layer.integer_in(0, model.layers - 1))] = false;
  return sparse;
}

}  // namespace

void build_qwen3_moe(YamlMap& hyper, Model& model) {
  const std::int64_t hidden = read_sizes(hyper, model);
  model.experts = hyper_parameter(hyper, "num_experts", kMaxExperts);
  GroupedQueryAttention attention =
      read_grouped_query_attention(hyper, model, hidden, HeadDimRule::kStated);
  attention.norms = HeadNorms::kPerHead;
  attention.qkv_bias = attention.o_bias = hyper_flag_or(hyper, "attention_bias", false);
  const std::int64_t expert_width = hyper_parameter(hyper, "moe_intermediate_size", kMaxWidth);
  const std::vector<bool> sparse = read_sparse_layers(hyper, model);
  const std::int64_t sparse_layers = std::count(sparse.begin(), sparse.end(), true);
  std::int64_t dense_width = hyper_parameter_or(hyper, "intermediate_size", 0, 1, kMaxWidth);
  if (sparse_layers < model.layers)
    dense_width = hyper_parameter(hyper, "intermediate_size", kMaxWidth);

  reserve_parameters(hyper, model, sparse_layers);
  ParameterBuilder add(model);
  add.add("model.embed_tokens.weight", {model.vocabulary, hidden}, ParameterKind::kEmbedding);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    add.enter_layer(layer, ModelPart::kMain);
    add_grouped_query_block(add, attention);
    if (sparse[static_cast<std::size_t>(layer)]) {
      add.add("mlp.gate.weight", {model.experts, hidden}, ParameterKind::kRouter);
      add.add_experts("mlp.experts", model.experts, hidden, expert_width);
    } else {
      add.add_mlp("mlp", hidden, dense_width, MlpUse::kDense);
    }
  }
  add_model_end(add, model, hidden);
}

}  // namespace transload
