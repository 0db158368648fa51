// Which pipeline stage holds which decoder layer, by the rules of each engine.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace transload {

// Decoder layers per pipeline stage.
using PipelineLayout = std::vector<std::int64_t>;

// Where everything that sits on a stage is. Stages are numbered as pipeline ranks: the chunks of
// virtual pipelining that one rank holds are one stage here.
struct PipelineStages {
  std::int64_t count = 1;
  std::vector<std::int32_t> of_layer;       // by decoder layer
  std::vector<std::int32_t> of_prediction;  // by prediction layer; empty: with the output layer
  std::int32_t embedding = 0;
  std::int32_t output = 0;  // final norm and output layer
};

// Megatron's `first` / `last` override: the other stages share the rest evenly; 0 means "as the
// others". InputError, naming SIDE.pp_layout, where the rest does not divide.
PipelineLayout pipeline_layout(std::int64_t layers, std::int64_t stages, std::int64_t first,
                               std::int64_t last, std::string_view side = "source");

// Consecutive layers per stage; with `virtual_stages` V each stage's layers are cut in V chunks and
// all stages' v-th chunks come before any (v+1)-th. InputError: a count that V does not divide,
// entries that are not one per stage or do not sum to `layers`.
PipelineStages stages_of_counts(const PipelineLayout& layout, std::int64_t stages,
                                std::int64_t layers, std::int64_t virtual_stages,
                                std::string_view side);

// Megatron's account_for_embedding_in_pipeline_split and its twin for the loss: layers plus one for
// each divide evenly over stages and chunks; the first or last chunk then has one layer less.
PipelineStages stages_counting_ends(std::int64_t layers, std::int64_t stages,
                                    std::int64_t virtual_stages, bool embedding, bool loss,
                                    std::string_view side);

// Megatron's pipeline_model_parallel_layout: `E` embedding, `t` decoder layer, `m` prediction
// layer, `L` loss, `|` ends a stage, `x*n` and `(...)*n` repeat; commas mean nothing. Entry i is
// chunk i / stages of stage i % stages. `virtual_stages` 0: follows from the number of entries.
// `predictions` 0: `m` may stand anywhere, as the job does not move those layers.
PipelineStages stages_of_text(std::string_view text, std::int64_t stages, std::int64_t layers,
                              std::int64_t predictions, std::int64_t virtual_stages,
                              std::string_view side);

// Layers per stage where an inference engine is told nothing else. vLLM gives the layers that are
// left over to the stages from the second-last backwards, SGLang to the last, TensorRT-LLM to the
// first ones.
PipelineLayout vllm_layers(std::int64_t layers, std::int64_t stages);
PipelineLayout sglang_layers(std::int64_t layers, std::int64_t stages);
PipelineLayout trtllm_layers(std::int64_t layers, std::int64_t stages);

}  // namespace transload
