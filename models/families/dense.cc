// Dense decoders: Llama 2 and 3, Qwen2, Qwen3. They differ in biases and head norms alone.
#include "models/families/attention.h"
#include "models/families/builder.h"
#include "models/families/families.h"

namespace transload {
namespace {

struct DenseStyle {
  HeadDimRule head_dim;
  HeadNorms norms;
  bool qkv_bias;  // unless attention_bias says that there are biases, o's among them
};

void build_dense(YamlMap& hyper, Model& model, const DenseStyle& style) {
  const std::int64_t hidden = read_sizes(hyper, model);
  // Small models of these families are tied and large ones are not, so it has to be said.
  hyper.required("tie_word_embeddings");
  const std::int64_t width = hyper_parameter(hyper, "intermediate_size", kMaxWidth);
  GroupedQueryAttention attention =
      read_grouped_query_attention(hyper, model, hidden, style.head_dim);
  attention.norms = style.norms;
  attention.o_bias = hyper_flag_or(hyper, "attention_bias", false);
  attention.qkv_bias = style.qkv_bias || attention.o_bias;
  expect_flag(hyper, "mlp_bias", false);

  reserve_parameters(hyper, model, 0);
  ParameterBuilder add(model);
  add.add("model.embed_tokens.weight", {model.vocabulary, hidden}, ParameterKind::kEmbedding);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    add.enter_layer(layer, ModelPart::kMain);
    add_grouped_query_block(add, attention);
    add.add_mlp("mlp", hidden, width, MlpUse::kDense);
  }
  add_model_end(add, model, hidden);
}

}  // namespace

void build_llama(YamlMap& hyper, Model& model) {
  build_dense(hyper, model, {HeadDimRule::kHiddenPerHead, HeadNorms::kNone, false});
}

void build_qwen2(YamlMap& hyper, Model& model) {
  build_dense(hyper, model, {HeadDimRule::kHiddenPerHead, HeadNorms::kNone, true});
}

void build_qwen3(YamlMap& hyper, Model& model) {
  build_dense(hyper, model, {HeadDimRule::kStated, HeadNorms::kPerHead, false});
}

}  // namespace transload
