// A model as the list of its parameters (name, shape, dtype), derived from its hyper-parameters.
//
// Names and shapes are those of the Hugging Face checkpoint. A family (models/families/*.cc) turns
// hyper-parameters into parameters; the library (models/*.yaml) names family and hyper-parameters
// of each published model together with their source. Nothing here knows ranks: how an engine cuts
// a parameter is decided by its `ParameterKind` alone (models/engines).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/dtype.h"

namespace transload {

// What a logical tensor is to a sharding rule. One word per row of the rule tables in
// models/engines. Biases have the kind of their weight where they are cut like its rows.
enum class ParameterKind : std::uint8_t {
  kEmbedding,
  kOutput,         // lm_head
  kNorm,           // full-width norms and whatever else every rank holds whole
  kHeadNorm,       // q_norm, k_norm over head_dim: replicated
  kAttentionQ,     // rows by query head
  kAttentionGate,  // output gate beside q (Qwen3.5): rows by query head
  kAttentionK,     // rows by KV head
  kAttentionV,
  kAttentionO,      // columns by query head
  kAttentionOBias,  // replicated, added once
  kQueryNormFull,   // q_norm over all heads (MiniMax): by query head
  kKeyNormFull,     // k_norm over all heads: by KV head
  kSinks,           // one value per query head
  kMlaQueryDown,    // q_a: replicated on tp
  kMlaKvDown,       // kv_a_proj_with_mqa: replicated on tp
  kMlaQueryUp,      // q_b: rows by head
  kMlaKvUp,         // kv_b: rows by head, nope then value; absorbed by inference engines
  kMlaGate,         // output gate of latent attention (Kimi-K3): rows by head
  kIndexer,         // sparse-attention indexer: replicated
  kRouter,          // gate weight
  kRouterBias,      // e_score_correction_bias
  kMlpGate,         // dense feed-forward: rows cut
  kMlpUp,
  kMlpDown,     // columns cut
  kSharedGate,  // shared expert
  kSharedUp,
  kSharedDown,
  kSharedExpertGate,  // [1, H] gate in front of the shared expert: replicated
  kExpertGate,        // one routed expert's matrix
  kExpertUp,
  kExpertDown,
  kExpertGateBias,
  kExpertUpBias,
  kExpertDownBias,
  kLatentProjection,  // into and out of the experts' latent space: replicated
  kMambaZ,            // parts of Mamba's in_proj: z, x by head; B, C by group; dt by head
  kMambaX,
  kMambaB,
  kMambaC,
  kMambaDt,
  kMambaConvX,  // parts of its convolution
  kMambaConvB,
  kMambaConvC,
  kMambaHead,  // D, dt_bias
  kMambaALog,  // stored as -exp(A_log) by inference engines
  kMambaNorm,  // by head
  kMambaOut,   // columns by head
  kGdnQ,       // parts of a gated delta net's input projections: q, k by key head, the rest by
  kGdnK,       // value head
  kGdnV,
  kGdnZ,
  kGdnB,
  kGdnA,
  kGdnConvQ,
  kGdnConvK,
  kGdnConvV,
  kGdnHead,  // dt_bias
  kGdnALog,
  kGdnNorm,  // replicated
  kGdnOut,   // columns by value head
  kKdaRows,  // Kimi delta attention: q, k, v, convolutions, f_b, b, g, A_log, dt_bias: by head
  kKdaOut,   // columns by head
  kGroupedOutDown,   // DeepSeek-V4 wo_a: whole
  kGroupedOutUp,     // wo_b: columns
  kHyperConnection,  // and attention residuals: replicated
  kMtpProjection,    // eh_proj, mtp.fc: rows cut by Megatron, replicated by vLLM
  kVision,           // vision tower: replicated, frozen in most jobs
};

inline constexpr int kParameterKindCount = static_cast<int>(ParameterKind::kVision) + 1;

// Which part of a published total a parameter counts to. kMtp: the extra prediction layers;
// kMtpCopy: the copies of embedding and output layer that some checkpoints store inside them;
// kVision: the vision tower; kBuffer: integer tables that are no parameters.
enum class ModelPart : std::uint8_t { kMain, kMtp, kMtpCopy, kVision, kBuffer };

// How a published tensor divides into logical ones, each of which is planned as a tensor of its
// own. The leading dimension may enumerate routed experts; then along `dim` blocks of `pieces`
// repeat `groups` times (once per head, per element for alternating columns).
struct Fusion {
  struct Piece {
    std::string name;  // "q"; the logical tensor is called NAME/q, with experts NAME/7/q
    ParameterKind kind = ParameterKind::kNorm;
    std::int64_t extent = 0;  // along `dim`, within one group
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  bool experts = false;  // dimension 0 counts routed experts
  int dim = 0;           // of the published tensor; the pieces' extents x groups cover it
  std::int64_t groups = 1;
  std::vector<Piece> pieces = {};  // empty: divided by expert only, named NAME/7
  // Logical tensors have the last two dimensions exchanged ([in, out] storage of experts).
  bool transposed = false;
  friend bool operator==(const Fusion&, const Fusion&) = default;
};

struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;
  DType dtype = DType::kBF16;
  ParameterKind kind = ParameterKind::kNorm;
  ModelPart part = ModelPart::kMain;
  // Decoder layer; prediction layers count on from `Model::layers`; -1: before or after the layers.
  std::int32_t layer = -1;
  std::int32_t expert = -1;  // routed expert; -1: none
  std::int32_t fusion = -1;  // index into Model::fusions; -1: is one logical tensor
  bool fixed_dtype = false;  // stays what it is when the model changes its type (router biases)
};

// What is planned: a published tensor, or one part of it.
struct LogicalTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  DType dtype = DType::kBF16;
  ParameterKind kind = ParameterKind::kNorm;
  ModelPart part = ModelPart::kMain;
  std::int32_t layer = -1;
  std::int32_t expert = -1;
  std::uint32_t parameter = 0;  // the published tensor that stores it
  std::uint32_t piece = 0;      // of its fusion
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
  std::string hub_id;          // owner/name on the Hugging Face hub; empty: none is known
  DType dtype = DType::kBF16;  // of all parameters but those with a fixed type (router biases)
  std::int64_t layers = 0;     // decoder layers without prediction layers
  std::int64_t mtp_layers = 0;
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;  // as many as query heads where attention is MLA
  std::int64_t experts = 0;
  std::int64_t vocabulary = 0;
  std::int64_t head_dim = 0;  // of queries and keys; 0 where attention is MLA
  std::int64_t mamba_heads = 0;
  std::int64_t mamba_groups = 0;
  std::int64_t gdn_key_heads = 0;
  std::int64_t gdn_value_heads = 0;
  std::int64_t kda_heads = 0;
  bool tied_embeddings = false;         // the output layer is the embedding; no lm_head is listed
  std::vector<std::string> sources;     // where the hyper-parameters were read
  std::vector<std::string> unverified;  // hyper-parameters that no source states outright
  PublishedTotal published;
  // Embedding, layers in order (experts within a layer), norm, head, prediction layers.
  std::vector<Parameter> parameters;
  std::vector<Fusion> fusions;
};

// The tensors that are planned, in the order of the published ones; parts of one in the order of
// experts, then pieces.
std::vector<LogicalTensor> logical_tensors(const Model& model);

// Elements of all parameters, or of one part. 64-bit: published totals reach 2.8e12.
std::int64_t parameter_count(const Model& model);
std::int64_t parameter_count(const Model& model, ModelPart part);
std::int64_t element_count(const Parameter& parameter);

// Elements of the parts that the published total covers: what to compare it with. Meaningless after
// without_mtp() where the total covers prediction layers.
std::int64_t counted_parameters(const Model& model);

// The model as a trainer without prediction layers holds it: kMtp and kMtpCopy are gone.
Model without_mtp(Model model);

// The model with its weights in another type; parameters whose type is fixed keep it.
Model with_dtype(Model model, DType dtype);

// Every part, in the order in which they are listed.
inline constexpr std::array kModelParts = {ModelPart::kMain, ModelPart::kMtp, ModelPart::kMtpCopy,
                                           ModelPart::kVision, ModelPart::kBuffer};

// "main", "mtp", "mtp-copy", "vision", "buffer": as model files write it.
const char* model_part_name(ModelPart part);

// "attention-q", "expert-down", ...: for listings.
std::string_view parameter_kind_name(ParameterKind kind);

}  // namespace transload
