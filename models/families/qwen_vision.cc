#include "models/families/qwen_vision.h"

#include <fmt/format.h>

namespace transload {
namespace {

constexpr std::int64_t kMaxPatch = 1 << 10;
constexpr std::int64_t kMaxPositions = 1 << 20;

// A linear layer [out, in] with its bias.
void add_linear(ParameterBuilder& add, const std::string& name, std::int64_t out, std::int64_t in) {
  add.add(name + ".weight", {out, in}, ParameterKind::kVision);
  add.add(name + ".bias", {out}, ParameterKind::kVision);
}

void add_layer_norm(ParameterBuilder& add, const std::string& name, std::int64_t width) {
  add.add(name + ".weight", {width}, ParameterKind::kVision);
  add.add(name + ".bias", {width}, ParameterKind::kVision);
}

}  // namespace

std::optional<QwenVision> read_qwen_vision(YamlMap& hyper, std::int64_t language_hidden) {
  const auto value = given(hyper, "vision_config");
  if (!value) return std::nullopt;
  YamlMap map = value->map();
  QwenVision vision;
  vision.hidden = hyper_parameter(map, "hidden_size", kMaxHidden);
  vision.width = hyper_parameter(map, "intermediate_size", kMaxWidth);
  vision.blocks = hyper_parameter(map, "depth", kMaxLayers);
  vision.channels = hyper_parameter(map, "in_channels", kMaxPatch);
  vision.patch = hyper_parameter(map, "patch_size", kMaxPatch);
  vision.temporal_patch = hyper_parameter(map, "temporal_patch_size", kMaxPatch);
  vision.merge = hyper_parameter(map, "spatial_merge_size", kMaxKernel);
  vision.positions = hyper_parameter(map, "num_position_embeddings", kMaxPositions);
  vision.out = hyper_parameter(map, "out_hidden_size", kMaxHidden);
  if (vision.out != language_hidden)
    map.required("out_hidden_size")
        .fail(fmt::format("{} is not the hidden size {} of the language model", vision.out,
                          language_hidden));
  return vision;
}

void add_qwen_vision(ParameterBuilder& add, const QwenVision& vision) {
  add.enter("model.visual.", -1, ModelPart::kVision);
  add.add("patch_embed.proj.weight",
          {vision.hidden, vision.channels, vision.temporal_patch, vision.patch, vision.patch},
          ParameterKind::kVision);
  add.add("patch_embed.proj.bias", {vision.hidden}, ParameterKind::kVision);
  add.add("pos_embed.weight", {vision.positions, vision.hidden}, ParameterKind::kVision);
  for (std::int64_t block = 0; block < vision.blocks; ++block) {
    const std::string name = fmt::format("blocks.{}.", block);
    add_layer_norm(add, name + "norm1", vision.hidden);
    add_layer_norm(add, name + "norm2", vision.hidden);
    add_linear(add, name + "attn.qkv", 3 * vision.hidden, vision.hidden);
    add_linear(add, name + "attn.proj", vision.hidden, vision.hidden);
    add_linear(add, name + "mlp.linear_fc1", vision.width, vision.hidden);
    add_linear(add, name + "mlp.linear_fc2", vision.hidden, vision.width);
  }
  const std::int64_t merged = vision.hidden * vision.merge * vision.merge;
  add_layer_norm(add, "merger.norm", vision.hidden);
  add_linear(add, "merger.linear_fc1", merged, merged);
  add_linear(add, "merger.linear_fc2", vision.out, merged);
  add.leave_layers();
}

}  // namespace transload
