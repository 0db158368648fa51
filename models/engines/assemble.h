// From an engine's tables to the shardings of a whole model.
//
// Every engine but fsdp is described by the same plain data: which ranks form a pipeline stage and
// in how many parts each group of parameters is cut among them, where experts are, which fused
// buffers there are. `assemble` walks the tensors once, computes where each lies in its buffer, and
// keeps every distinct sharding once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/engines/experts.h"
#include "models/engines/fused.h"
#include "models/engines/pipeline.h"
#include "models/engines/rules.h"
#include "models/model.h"
#include "models/sharding.h"

namespace transload {

// Where names of fused buffers come from: Megatron's own modules, or the checkpoint's.
enum class BufferNaming : std::uint8_t { kMegatron, kCheckpoint };

struct Renaming {
  std::string_view family;  // empty: every family
  std::string_view from;
  std::string_view to;
};

struct EngineLayout {
  std::string_view engine;
  std::string_view side;
  RuleTable rules;
  std::map<ParameterKind, std::string> why_unknown;  // beyond "not known"
  std::string predictions_unknown;  // why no prediction layer can be placed; empty: they can
  // Copies of embedding and output layer in prediction layers: known not to be stored, or unknown.
  bool copies_known = true;
  std::span<const FusedBuffer> buffers;
  std::span<const FusedPart> parts;
  BufferNaming naming = BufferNaming::kCheckpoint;
  std::span<const Renaming> renamings;

  // Parts in which each group is cut, and the job's key for that number. Rank number n of a stage
  // holds part n mod ways.
  std::array<std::int64_t, kRuleGroupCount> ways{};
  std::array<std::string_view, kRuleGroupCount> keys{};
  std::int64_t engine_ranks = 0;  // consecutive ranks of one inference engine; 0: no engines
  // Ranks by stage; all stages have equally many.
  std::vector<std::vector<Rank>> stage_ranks;
  PipelineStages stages;
  std::vector<std::int32_t> embedding_stages;

  // KV heads (and a single Mamba group) are held by several ranks where there are fewer than parts.
  bool replicates_heads = false;
  // Storage of vocabularies is a multiple of this many rows; 0: not padded.
  std::int64_t embedding_multiple = 0;
  std::int64_t output_multiple = 0;

  // Numbers of the ranks of a stage by expert-parallel member; within a member parts run fastest.
  std::vector<std::vector<std::uint32_t>> members;
  ExpertHomes homes;
  std::map<std::int32_t, ExpertHomes> homes_of_layer;  // instead of `homes`
};

// InputError, naming the parallel size and the model's figure, where a cut would split a head.
ShardedModel assemble(const EngineLayout& layout, const Model& model,
                      std::span<const LogicalTensor> tensors);

}  // namespace transload
