// The rule tables of training and inference engines: which rank holds which part of each parameter,
// and where in which of the engine's buffers.
//
// Each function applies one engine's rules (its own file beside this header, with the rule table as
// data) to a model and a list of ranks, and throws InputError, naming the parallel size and the
// model's figure it does not fit, where the engine could not run that way. `tensors` are all of
// `logical_tensors(model)`: a fused buffer's offsets depend on all of its parts. Tensors whose rule
// is not known are listed in ShardedModel::unknown, for the caller to refuse unless the job leaves
// them out. `side` is the part of the job that the sizes stand in, "source" or "destination": it
// starts the field in messages. docs/engines.md has the tables in words.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/engines/experts.h"
#include "models/engines/pipeline.h"
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

// Megatron-core: rank order tp-cp-ep-dp-pp (tp fastest, pipeline outermost); dense weights sharded
// on tp and replicated over cp and dp; routed experts on ep (contiguous ranges), then etp.
// Buffers: linear_qkv interleaved by query group, linear_fc1 = [gate; up], one buffer per local
// expert, part lists of Mamba and gated delta nets.
struct MegatronOptions {
  ParallelSizes sizes;
  PipelineStages stages;
  std::int64_t virtual_stages = 1;
  // --make-vocab-size-divisible-by; rows are padded to a multiple of this times tp. 0: not padded.
  std::int64_t vocabulary_divisor = 128;
};
ShardedModel shard_megatron(const Model& model, std::span<const LogicalTensor> tensors,
                            const MegatronOptions& options, std::span<const Rank> ranks,
                            std::string_view side = "source");

// FSDP2 and HSDP: ranks are [replicate, shard, tp], tp fastest. Every published parameter is cut
// along dimension 0 over `shard` by torch.chunk's rule, after the tensor-parallel plan. With ep > 1
// experts are stacked as [E, in, out], cut over ep and then along dimension 1 over shard / ep.
struct FsdpSizes {
  std::int64_t shard = 1;
  std::int64_t replicate = 1;
  std::int64_t tp = 1;
  std::int64_t ep = 1;
};
ShardedModel shard_fsdp(const Model& model, std::span<const LogicalTensor> tensors,
                        const FsdpSizes& sizes, std::span<const Rank> ranks,
                        std::string_view side = "source");

// Inference engines: replicas = ranks / ranks of one engine.
struct InferenceOptions {
  ParallelSizes sizes;
  PipelineLayout layers;  // per stage; empty: the engine's own rule
  ExpertTable experts;    // empty: the engine's own placement
  bool round_robin = false;
};

// vLLM: one engine is dp * pp * tp ranks (tp fastest). Attention and dense weights on tp,
// replicated over dp; KV heads held by several ranks where tp exceeds them; routed experts cut by
// tp when ep = 1, or whole experts over all tp * dp ranks of a stage when ep = tp * dp.
struct VllmOptions : InferenceOptions {
  bool sequence_parallel_moe = false;  // the shared expert is then whole on every rank
};
ShardedModel shard_vllm(const Model& model, std::span<const LogicalTensor> tensors,
                        const VllmOptions& options, std::span<const Rank> ranks,
                        std::string_view side = "destination");

// SGLang: one engine is pp * tp ranks. With data-parallel attention (dp > 1, a divisor of tp)
// attention and embedding are cut in tp / dp; experts over ep, then over tp / ep.
struct SglangOptions : InferenceOptions {
  std::int64_t moe_dense_tp = 0;  // 0: as tp
  bool dp_lm_head = false;
  bool up_first = false;             // order within w13, which depends on the MoE backend
  bool fused_shared_expert = false;  // the shared expert is expert number E
};
ShardedModel shard_sglang(const Model& model, std::span<const LogicalTensor> tensors,
                          const SglangOptions& options, std::span<const Rank> ranks,
                          std::string_view side = "destination");

// TensorRT-LLM (PyTorch path): one engine is pp * tp ranks; dp is 1, or tp for data-parallel
// attention; experts over ep (fastest), then over tp / ep.
ShardedModel shard_trtllm(const Model& model, std::span<const LogicalTensor> tensors,
                          const InferenceOptions& options, std::span<const Rank> ranks,
                          std::string_view side = "destination");

}  // namespace transload
