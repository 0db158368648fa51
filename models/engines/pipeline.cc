// Decoder layers over pipeline stages: Megatron's counts and the inference engines' defaults.
#include <fmt/format.h>

#include "models/engines/pipeline.h"
#include "models/engines/rules.h"

namespace transload {
namespace {

std::string describe_ends(std::int64_t first, std::int64_t last) {
  std::string text;
  if (first > 0) text += fmt::format(" first {}", first);
  if (last > 0) text += fmt::format("{} last {}", first > 0 ? "," : "", last);
  return text.empty() ? text : " with" + text;
}

// Stage of each layer where chunk i (of stage i % stages) has chunks[i] layers.
PipelineStages stages_of_chunks(const std::vector<std::int64_t>& chunks, std::int64_t stages) {
  PipelineStages result;
  result.count = stages;
  result.output = static_cast<std::int32_t>(stages - 1);
  for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk)
    result.of_layer.insert(result.of_layer.end(), static_cast<std::size_t>(chunks[chunk]),
                           static_cast<std::int32_t>(chunk % static_cast<std::size_t>(stages)));
  return result;
}

// The layers left over go to the stages first_longer, first_longer + 1, ...
PipelineLayout even_layers(std::int64_t layers, std::int64_t stages, std::int64_t first_longer) {
  PipelineLayout layout(static_cast<std::size_t>(stages), layers / stages);
  for (std::int64_t i = 0; i < layers % stages; ++i)
    ++layout[static_cast<std::size_t>(first_longer + i)];
  return layout;
}

}  // namespace

PipelineLayout pipeline_layout(std::int64_t layers, std::int64_t stages, std::int64_t first,
                               std::int64_t last, std::string_view side) {
  const auto refuse = [&](const std::string& problem) {
    fail_at(side, "pp_layout",
            fmt::format("{} layers over {} stages{}: {}", layers, stages,
                        describe_ends(first, last), problem));
  };
  if (stages < 1) fail_at(side, "parallel.pp", fmt::format("{} is below 1", stages));
  if (stages > layers)
    fail_at(side, "parallel.pp",
            fmt::format("{} stages are more than the {} layers; give the layers of each stage",
                        stages, layers));
  if (first < 0 || last < 0) refuse("first and last count layers; 0 means as the other stages");
  if (first > layers || last > layers) refuse("more layers on one stage than the model has");
  if (stages == 1) {
    // One stage is first and last at once, so either may name it.
    if ((first > 0 && first != layers) || (last > 0 && last != layers))
      refuse("the only stage holds all layers");
    return {layers};
  }
  const std::int64_t others = stages - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0);
  const std::int64_t rest = layers - first - last;
  if (others == 0) {
    if (rest != 0) refuse(fmt::format("first and last must add up to {}", layers));
    return {first, last};
  }
  if (rest < others) refuse("nothing is left for the other stages");
  if (rest % others != 0)
    refuse(
        fmt::format("{} layers do not divide over {} stages; choose first and last so that they "
                    "do, or give the "
                    "layers of each stage",
                    rest, others));
  PipelineLayout layout(static_cast<std::size_t>(stages), rest / others);
  if (first > 0) layout.front() = first;
  if (last > 0) layout.back() = last;
  return layout;
}

PipelineStages stages_of_counts(const PipelineLayout& layout, std::int64_t stages,
                                std::int64_t layers, std::int64_t virtual_stages,
                                std::string_view side) {
  if (static_cast<std::int64_t>(layout.size()) != stages)
    fail_at(side, "pp_layout",
            fmt::format("expected {} entries, one per stage, found {}", stages, layout.size()));
  std::int64_t left = layers;
  for (std::size_t stage = 0; stage < layout.size(); ++stage) {
    if (layout[stage] < 0 || layout[stage] > left)
      fail_at(side, "pp_layout",
              fmt::format("stage {} has {} layers; {} of the model's {} layers are left for it",
                          stage, layout[stage], left, layers));
    if (layout[stage] % virtual_stages != 0)
      fail_at(side, "parallel.vpp",
              fmt::format("{} does not divide the {} layers of stage {}", virtual_stages,
                          layout[stage], stage));
    left -= layout[stage];
  }
  if (left != 0)
    fail_at(side, "pp_layout",
            fmt::format("the stages hold {} layers; the model has {}", layers - left, layers));
  std::vector<std::int64_t> chunks;
  for (std::int64_t chunk = 0; chunk < virtual_stages; ++chunk)
    for (const std::int64_t count : layout) chunks.push_back(count / virtual_stages);
  return stages_of_chunks(chunks, stages);
}

PipelineStages stages_counting_ends(std::int64_t layers, std::int64_t stages,
                                    std::int64_t virtual_stages, bool embedding, bool loss,
                                    std::string_view side) {
  const std::int64_t counted = layers + (embedding ? 1 : 0) + (loss ? 1 : 0);
  const std::int64_t chunks = stages * virtual_stages;
  if (counted % chunks != 0)
    fail_at(side, "pp_layout",
            fmt::format("{} layers{}{} are {}, not a multiple of pp {} * vpp {}", layers,
                        embedding ? ", the embedding" : "", loss ? ", the loss" : "", counted,
                        stages, virtual_stages));
  std::vector<std::int64_t> counts(static_cast<std::size_t>(chunks), counted / chunks);
  if (embedding) --counts.front();
  if (loss) --counts.back();
  return stages_of_chunks(counts, stages);
}

PipelineLayout vllm_layers(std::int64_t layers, std::int64_t stages) {
  // At most stages - 1 are left over, so the last stage never gets one.
  return even_layers(layers, stages, stages - 1 - layers % stages);
}

PipelineLayout sglang_layers(std::int64_t layers, std::int64_t stages) {
  return even_layers(layers, stages, stages - layers % stages);
}

PipelineLayout trtllm_layers(std::int64_t layers, std::int64_t stages) {
  return even_layers(layers, stages, 0);
}

}  // namespace transload
