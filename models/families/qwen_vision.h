// The vision tower of Qwen3.5 and later: a ViT with learned positions and a merger that projects
// groups of patches into the language model. Most jobs freeze it.
#pragma once

#include <cstdint>
#include <optional>

#include "common/yaml.h"
#include "models/families/builder.h"

namespace transload {

struct QwenVision {
  std::int64_t hidden = 0;
  std::int64_t width = 0;  // of its feed-forward layers
  std::int64_t blocks = 0;
  std::int64_t channels = 0;  // of the picture
  std::int64_t patch = 0;
  std::int64_t temporal_patch = 0;
  std::int64_t merge = 0;  // patches along each side that are merged to one token
  std::int64_t positions = 0;
  std::int64_t out = 0;  // hidden size of the language model
};

// The map `vision_config`; none: the model is text only.
std::optional<QwenVision> read_qwen_vision(YamlMap& hyper, std::int64_t language_hidden);
void add_qwen_vision(ParameterBuilder& add, const QwenVision& vision);

}  // namespace transload
