// A model as the list of its parameters (name, shape, dtype), derived from its hyper-parameters.
//
// Names and shapes are those of the Hugging Face checkpoint. A family (models/families/*.cc) turns
// hyper-parameters into parameters; the library (models/*.yaml) names family and hyper-parameters
// of each published model together with their source. Nothing here knows ranks: how an engine cuts
// a parameter is decided by its `ParameterKind` alone (models/engines).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/dtype.h"

namespace transload {

// What a parameter is to a sharding rule. One word per row of the rule tables in models/engines.
enum class ParameterKind : std::uint8_t {
  kEmbedding,
  kOutput,    // lm_head
  kNorm,      // full-width norms: replicated
  kHeadNorm,  // q_norm, k_norm over head_dim: replicated
  kAttentionQ,
  kAttentionKV,  // k_proj, v_proj: rows by KV head
  kAttentionO,
  kMlaDown,       // q_a, kv_a: replicated on tp
  kMlaUp,         // q_b, kv_b: rows by head
  kRouter,        // gate weight
  kRouterBias,    // e_score_correction_bias
  kMlpGateUp,     // dense or shared expert, rows cut
  kMlpDown,       // dense or shared expert, columns cut
  kExpertGateUp,  // one routed expert's matrix
  kExpertDown,
  kMtpProjection,  // eh_proj: rows cut by Megatron, replicated by vLLM
};

inline constexpr int kParameterKindCount = static_cast<int>(ParameterKind::kMtpProjection) + 1;

// Which part of a published total a parameter counts to. kMtp: the extra prediction layers;
// kMtpCopy: the copies of embedding and output layer that some checkpoints store inside them.
enum class ModelPart : std::uint8_t { kMain, kMtp, kMtpCopy };

struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;
  DType dtype = DType::kBF16;
  ParameterKind kind = ParameterKind::kNorm;
  ModelPart part = ModelPart::kMain;
  // Decoder layer; prediction layers count on from `Model::layers`; -1: before or after the layers.
  std::int32_t layer = -1;
  std::int32_t expert = -1;  // routed expert; -1: none
};

// What the world says about the model's size, to hold our parameter list against.
struct PublishedTotal {
  std::int64_t parameters = 0;    // 0: no total was found
  std::int64_t tensors = 0;       // 0: no count was found
  std::vector<ModelPart> counts;  // the parts that the total covers
  // Published minus derived, where it is known that the two differ; `note` says why.
  std::int64_t known_difference = 0;
  std::string source;
  std::string note;
};

struct Model {
  std::string name;
  std::string family;
  DType dtype = DType::kBF16;  // of all parameters but those with a fixed type (router biases)
  std::int64_t layers = 0;     // decoder layers without prediction layers
  std::int64_t mtp_layers = 0;
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;  // as many as query heads where attention is MLA
  std::int64_t experts = 0;
  std::int64_t vocabulary = 0;
  std::vector<std::string> sources;  // where the hyper-parameters were read
  PublishedTotal published;
  // Embedding, layers in order (experts within a layer), norm, head, prediction layers.
  std::vector<Parameter> parameters;
};

// Elements of all parameters, or of one part. 64-bit: published totals reach 2.8e12.
std::int64_t parameter_count(const Model& model);
std::int64_t parameter_count(const Model& model, ModelPart part);
std::int64_t element_count(const Parameter& parameter);

// Elements of the parts that the published total covers: what to compare it with. Meaningless after
// without_mtp() where the total covers prediction layers.
std::int64_t counted_parameters(const Model& model);

// The model as a trainer without prediction layers holds it: parts other than kMain are gone.
Model without_mtp(Model model);

// The model with its weights in another type; parameters whose type is fixed keep it.
Model with_dtype(Model model, DType dtype);

// "main", "mtp", "mtp-copy": as model files write it.
const char* model_part_name(ModelPart part);

}  // namespace transload
