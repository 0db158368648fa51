// The rule tables of training and inference engines: which rank holds which part of each parameter.
//
// Each function applies one engine's rules (its own file beside this header, with the rule table as
// data) to a model and a list of ranks, and throws InputError, naming the parallel size and the
// model's figure it does not fit, where the engine could not run that way. `side` is the part of
// the job that the sizes stand in, "source" or "destination": it starts the field in messages.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/model.h"
#include "models/sharding.h"

namespace transload {

struct ParallelSizes {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t ep = 1;
  std::int64_t etp = 1;
  std::int64_t cp = 1;
  std::int64_t dp = 0;  // 0: follows from the number of ranks
};

// Decoder layers per pipeline stage.
using PipelineLayout = std::vector<std::int64_t>;

// Megatron's `first` / `last` override: the other stages share the rest evenly; 0 means "as the
// others". InputError, naming SIDE.pp_layout, where the rest does not divide.
PipelineLayout pipeline_layout(std::int64_t layers, std::int64_t stages, std::int64_t first,
                               std::int64_t last, std::string_view side = "source");

// Megatron-core: rank order tp-cp-ep-dp-pp (tp fastest, pipeline outermost); dense weights sharded
// on tp and replicated over cp and dp; routed experts on ep (contiguous ranges), then etp;
// embedding on the first stage, final norm and output layer on the last; vocabulary rows padded to
// 128 * tp. `layout` has one entry per stage. Parameters of parts that the trainer does not hold
// never occur: a trainer holds everything, prediction layers sit on the last stage.
ShardedModel shard_megatron(const Model& model, const ParallelSizes& sizes,
                            const PipelineLayout& layout, std::span<const Rank> ranks,
                            std::string_view side = "source");

// vLLM: one engine is tp * pp * dp ranks, replicas = ranks / that. Attention and dense weights on
// tp, replicated over dp; KV heads replicated where tp exceeds them; routed experts cut by tp when
// ep = 1, or whole experts over all tp * dp ranks when ep = tp * dp; MLA down projections, norms,
// router replicated; vocabulary rows padded to 64, then cut.
ShardedModel shard_vllm(const Model& model, const ParallelSizes& sizes, std::span<const Rank> ranks,
                        std::string_view side = "destination");

}  // namespace transload
