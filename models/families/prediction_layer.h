// The prediction layer of DeepSeek-V3 and GLM-4.5: a decoder block behind a projection of the
// previous hidden state and the next token's embedding, numbered on from the decoder layers.
#pragma once

#include <cstdint>

#include "common/yaml.h"
#include "models/families/builder.h"
#include "models/model.h"

namespace transload {

// num_nextn_predict_layers. With any, `mtp_stores_copies` says whether the checkpoint repeats the
// embedding and the output layer in them: no key of config.json does, and checkpoints of one family
// differ (GLM-4.5 has them, GLM-4.6 not), so it is never guessed. Returns that.
inline bool read_prediction_layers(YamlMap& hyper, Model& model) {
  model.mtp_layers = hyper_parameter_or(hyper, "num_nextn_predict_layers", 0, 0, kMaxMtpLayers);
  return model.mtp_layers > 0 && hyper.required("mtp_stores_copies").boolean();
}

// `add_block` appends the attention and the feed-forward part of one layer.
template <typename AddBlock>
void add_prediction_layers(ParameterBuilder& add, const Model& model, std::int64_t hidden,
                           bool copies, const AddBlock& add_block) {
  for (std::int64_t layer = 0; layer < model.mtp_layers; ++layer) {
    add.enter_layer(model.layers + layer, ModelPart::kMtp);
    if (copies)
      add.add_copy("embed_tokens.weight", {model.vocabulary, hidden}, ParameterKind::kEmbedding);
    add.add("enorm.weight", {hidden}, ParameterKind::kNorm);
    add.add("hnorm.weight", {hidden}, ParameterKind::kNorm);
    add.add("eh_proj.weight", {hidden, 2 * hidden}, ParameterKind::kMtpProjection);
    add_block(model.layers + layer);
    add.add("shared_head.norm.weight", {hidden}, ParameterKind::kNorm);
    if (copies)
      add.add_copy("shared_head.head.weight", {model.vocabulary, hidden}, ParameterKind::kOutput);
  }
}

}  // namespace transload
