// GLM-4.5, 4.6, 4.7 and GLM-4.5-Air.
#include "models/families/attention.h"
#include "models/families/builder.h"
#include "models/families/families.h"
#include "models/families/prediction_layer.h"
#include "models/families/sparse_mlp.h"

namespace transload {

void build_glm4_moe(YamlMap& hyper, Model& model) {
  const std::int64_t hidden = read_sizes(hyper, model);
  SparseMlp mlp = read_sparse_mlp(hyper, model, hidden, {"n_routed_experts", "n_shared_experts"});
  mlp.router_bias = "e_score_correction_bias";
  GroupedQueryAttention attention =
      read_grouped_query_attention(hyper, model, hidden, HeadDimRule::kStated);
  attention.qkv_bias = hyper.required("attention_bias").boolean();
  if (hyper.required("use_qk_norm").boolean()) attention.norms = HeadNorms::kPerHead;
  const bool copies = read_prediction_layers(hyper, model);
  reserve_parameters(hyper, model, model.layers - mlp.dense_layers + model.mtp_layers);

  ParameterBuilder add(model);
  const auto add_block = [&](std::int64_t layer) {
    add_grouped_query_block(add, attention);
    add_sparse_mlp(add, mlp, layer);
  };
  add.add("model.embed_tokens.weight", {model.vocabulary, hidden}, ParameterKind::kEmbedding);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    add.enter_layer(layer, ModelPart::kMain);
    add_block(layer);
  }
  add_model_end(add, model, hidden);
  add_prediction_layers(add, model, hidden, copies, add_block);
}

}  // namespace transload
