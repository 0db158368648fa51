// DeepSeek-V4: all heads share one wide key-value head, the output projection is grouped, most
// layers compress their keys, and hyper-connections carry several residual streams.
#include <fmt/format.h>

#include <vector>

#include "models/families/builder.h"
#include "models/families/families.h"

namespace transload {
namespace {

constexpr std::int64_t kMaxRatio = 1 << 16;
constexpr std::int64_t kMaxStreams = 64;
// At this ratio compressed blocks overlap, so two sets of weights exist, and keys are chosen by an
// indexer.
constexpr std::int64_t kOverlappingRatio = 4;

struct Shape {
  std::int64_t hidden;
  std::int64_t heads;
  std::int64_t head_dim;
  std::int64_t q_rank;
  std::int64_t o_rank;  // of one group
  std::int64_t o_groups;
  std::int64_t expert_width;
  std::int64_t shared_width;
  std::int64_t experts_per_token;
  std::int64_t hash_layers;  // the first ones choose experts by a table of token ids
  std::int64_t streams;      // of hyper-connections
  std::int64_t index_heads;
  std::int64_t index_dim;
  std::vector<std::int64_t> compress_ratios;  // per layer, prediction layers included; 0: none
};

std::vector<std::int64_t> read_ratios(YamlMap& hyper, const Model& model) {
  const YamlValue value = hyper.required("compress_ratios");
  std::vector<std::int64_t> ratios;
  for (const YamlValue& item : value.list()) ratios.push_back(item.integer_in(0, kMaxRatio));
  const std::int64_t layers = model.layers + model.mtp_layers;
  if (static_cast<std::int64_t>(ratios.size()) != layers)
    value.fail(fmt::format("{} ratios for {} layers and {} prediction layers", ratios.size(),
                           model.layers, model.mtp_layers));
  return ratios;
}

Shape read_shape(YamlMap& hyper, Model& model) {
  Shape shape{};
  shape.hidden = read_sizes(hyper, model);
  shape.heads = model.query_heads = hyper_parameter(hyper, "num_attention_heads", kMaxHeads);
  model.kv_heads = hyper_parameter(hyper, "num_key_value_heads", 1, 1);
  shape.head_dim = model.head_dim = hyper_parameter(hyper, "head_dim", kMaxHeadDim);
  shape.q_rank = hyper_parameter(hyper, "q_lora_rank", kMaxWidth);
  shape.o_rank = hyper_parameter(hyper, "o_lora_rank", kMaxWidth);
  shape.o_groups = hyper_parameter(hyper, "o_groups", kMaxHeads);
  if (shape.heads % shape.o_groups != 0)
    hyper.required("o_groups")
        .fail(fmt::format("{} groups do not divide the {} heads", shape.o_groups, shape.heads));
  model.experts = hyper_parameter(hyper, "n_routed_experts", kMaxExperts);
  shape.expert_width = hyper_parameter(hyper, "moe_intermediate_size", kMaxWidth);
  shape.shared_width =
      hyper_parameter(hyper, "n_shared_experts", 0, kMaxSharedExperts) * shape.expert_width;
  shape.experts_per_token = hyper_parameter(hyper, "num_experts_per_tok", kMaxExperts);
  shape.hash_layers = hyper_parameter(hyper, "num_hash_layers", 0, kMaxLayers);
  shape.streams = hyper_parameter(hyper, "hc_mult", kMaxStreams);
  shape.index_heads = hyper_parameter(hyper, "index_n_heads", kMaxHeads);
  shape.index_dim = hyper_parameter(hyper, "index_head_dim", kMaxHeadDim);
  model.mtp_layers = hyper_parameter_or(hyper, "num_nextn_predict_layers", 0, 0, kMaxMtpLayers);
  shape.compress_ratios = read_ratios(hyper, model);
  return shape;
}

void add_compressor(ParameterBuilder& add, const std::string& name, std::int64_t hidden,
                    std::int64_t width, std::int64_t ratio) {
  using enum ParameterKind;
  const std::int64_t rows = ratio == kOverlappingRatio ? 2 * width : width;
  add.add(name + ".wkv.weight", {rows, hidden}, kIndexer);
  add.add(name + ".wgate.weight", {rows, hidden}, kIndexer);
  add.add_fp32(name + ".ape", {ratio, rows}, kIndexer);
  add.add(name + ".norm.weight", {width}, kIndexer);
}

void add_attention(ParameterBuilder& add, const Shape& shape, std::int64_t ratio) {
  using enum ParameterKind;
  const std::int64_t width = shape.heads * shape.head_dim;
  const std::int64_t out_rank = shape.o_groups * shape.o_rank;
  add.add("attn.wq_a.weight", {shape.q_rank, shape.hidden}, kMlaQueryDown);
  add.add("attn.q_norm.weight", {shape.q_rank}, kNorm);
  add.add("attn.wq_b.weight", {width, shape.q_rank}, kMlaQueryUp);
  add.add("attn.wkv.weight", {shape.head_dim, shape.hidden}, kMlaKvDown);
  add.add("attn.kv_norm.weight", {shape.head_dim}, kNorm);
  add.add("attn.wo_a.weight", {out_rank, width / shape.o_groups}, kGroupedOutDown);
  add.add("attn.wo_b.weight", {shape.hidden, out_rank}, kGroupedOutUp);
  add.add_fp32("attn.attn_sink", {shape.heads}, kSinks);
  if (ratio > 0) add_compressor(add, "attn.compressor", shape.hidden, shape.head_dim, ratio);
  if (ratio != kOverlappingRatio) return;
  add.add("attn.indexer.wq_b.weight", {shape.index_heads * shape.index_dim, shape.q_rank},
          kIndexer);
  add.add("attn.indexer.weights_proj.weight", {shape.index_heads, shape.hidden}, kIndexer);
  add_compressor(add, "attn.indexer.compressor", shape.hidden, shape.index_dim, ratio);
}

// `outputs` values per token are computed from all streams.
void add_hyper_connection(ParameterBuilder& add, const std::string& name, const Shape& shape,
                          std::int64_t outputs, std::int64_t scales) {
  using enum ParameterKind;
  add.add_fp32(name + "_fn", {outputs, shape.streams * shape.hidden}, kHyperConnection);
  add.add_fp32(name + "_base", {outputs}, kHyperConnection);
  add.add_fp32(name + "_scale", {scales}, kHyperConnection);
}

void add_head_connection(ParameterBuilder& add, const Shape& shape) {
  add_hyper_connection(add, "hc_head", shape, shape.streams, 1);
}

void add_layer(ParameterBuilder& add, const Shape& shape, const Model& model, std::int64_t layer) {
  using enum ParameterKind;
  add.add("attn_norm.weight", {shape.hidden}, kNorm);
  add_attention(add, shape, shape.compress_ratios[static_cast<std::size_t>(layer)]);
  add.add("ffn_norm.weight", {shape.hidden}, kNorm);
  add.add("ffn.gate.weight", {model.experts, shape.hidden}, kRouter);
  if (layer < shape.hash_layers && layer < model.layers)
    add.add_table("ffn.gate.tid2eid", {model.vocabulary, shape.experts_per_token}, kRouterBias);
  else
    add.add_fp32("ffn.gate.bias", {model.experts}, kRouterBias);
  add.add_experts("ffn.experts", model.experts, shape.hidden, shape.expert_width, kNumbered);
  if (shape.shared_width > 0)
    add.add_mlp("ffn.shared_experts", shape.hidden, shape.shared_width, MlpUse::kShared, kNumbered);
  // One value per stream into the layer and one out of it, and a mixing matrix.
  const std::int64_t outputs = (2 + shape.streams) * shape.streams;
  add_hyper_connection(add, "hc_attn", shape, outputs, 3);
  add_hyper_connection(add, "hc_ffn", shape, outputs, 3);
}

void add_prediction_layer(ParameterBuilder& add, const Shape& shape, const Model& model,
                          std::int64_t number) {
  using enum ParameterKind;
  const std::int64_t hidden = shape.hidden;
  add.enter(fmt::format("mtp.{}.", number), model.layers + number, ModelPart::kMtp);
  add.add("e_proj.weight", {hidden, hidden}, kMtpProjection);
  add.add("h_proj.weight", {hidden, hidden}, kMtpProjection);
  add.add("enorm.weight", {hidden}, kNorm);
  add.add("hnorm.weight", {hidden}, kNorm);
  add_layer(add, shape, model, model.layers + number);
  add.add("norm.weight", {hidden}, kNorm);
  add_head_connection(add, shape);
}

}  // namespace

void build_deepseek_v4(YamlMap& hyper, Model& model) {
  const Shape shape = read_shape(hyper, model);
  reserve_parameters(hyper, model, model.layers + model.mtp_layers);

  // Names have no "model." in front.
  ParameterBuilder add(model, "layers.");
  add.add("embed.weight", {model.vocabulary, shape.hidden}, ParameterKind::kEmbedding);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    add.enter_layer(layer, ModelPart::kMain);
    add_layer(add, shape, model, layer);
  }
  add_model_end(add, model, shape.hidden, "norm.weight", "head.weight");
  add_head_connection(add, shape);
  for (std::int64_t number = 0; number < model.mtp_layers; ++number)
    add_prediction_layer(add, shape, model, number);
}

}  // namespace transload
