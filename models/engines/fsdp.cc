// FSDP2's rules, with Automodel's for expert parallelism. Facts from NVIDIA-NeMo/Automodel@36044ad
// (moe/, distributed/) and torch.chunk.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "common/check.h"
#include "models/engines/engines.h"
#include "models/engines/fsdp_store.h"
#include "models/engines/fused.h"
#include "models/engines/mesh.h"
#include "models/engines/rules.h"

namespace transload {
namespace {

using enum ParameterKind;
using enum RuleCut;
using enum RuleUnit;
using RuleGroup::kAttention;
using RuleGroup::kUnknown;

// The tensor-parallel plan on top of FSDP; kUnknown counts only where tp is above 1.
constexpr RuleTable kTensorPlan = {{
    {kEmbedding, kAttention, kRows, kNothing},
    {kOutput, kAttention, kRows, kNothing},
    {kNorm, kAttention, kWhole, kNothing},
    {kHeadNorm, kAttention, kWhole, kNothing},
    {kAttentionQ, kAttention, kRows, kQueryHeads},
    {kAttentionGate, kAttention, kRows, kQueryHeads},
    {kAttentionK, kAttention, kRows, kKvHeads},
    {kAttentionV, kAttention, kRows, kKvHeads},
    {kAttentionO, kAttention, kColumns, kQueryHeads},
    {kAttentionOBias, kAttention, kWhole, kNothing},
    {kQueryNormFull, kUnknown, kWhole, kNothing},
    {kKeyNormFull, kUnknown, kWhole, kNothing},
    {kSinks, kUnknown, kWhole, kNothing},
    {kMlaQueryDown, kAttention, kWhole, kNothing},
    {kMlaKvDown, kAttention, kWhole, kNothing},
    {kMlaQueryUp, kAttention, kRows, kQueryHeads},
    {kMlaKvUp, kAttention, kRows, kQueryHeads},
    {kMlaGate, kUnknown, kWhole, kNothing},
    {kIndexer, kAttention, kWhole, kNothing},
    {kRouter, kAttention, kWhole, kNothing},
    {kRouterBias, kAttention, kWhole, kNothing},
    {kMlpGate, kAttention, kRows, kNothing},
    {kMlpUp, kAttention, kRows, kNothing},
    {kMlpDown, kAttention, kColumns, kNothing},
    {kSharedGate, kAttention, kRows, kNothing},
    {kSharedUp, kAttention, kRows, kNothing},
    {kSharedDown, kAttention, kColumns, kNothing},
    {kSharedExpertGate, kAttention, kWhole, kNothing},
    {kExpertGate, kUnknown, kWhole, kNothing},
    {kExpertUp, kUnknown, kWhole, kNothing},
    {kExpertDown, kUnknown, kWhole, kNothing},
    {kExpertGateBias, kUnknown, kWhole, kNothing},
    {kExpertUpBias, kUnknown, kWhole, kNothing},
    {kExpertDownBias, kUnknown, kWhole, kNothing},
    {kLatentProjection, kAttention, kWhole, kNothing},
    {kMambaZ, kAttention, kWhole, kNothing},
    {kMambaX, kAttention, kWhole, kNothing},
    {kMambaB, kAttention, kWhole, kNothing},
    {kMambaC, kAttention, kWhole, kNothing},
    {kMambaDt, kAttention, kWhole, kNothing},
    {kMambaConvX, kAttention, kWhole, kNothing},
    {kMambaConvB, kAttention, kWhole, kNothing},
    {kMambaConvC, kAttention, kWhole, kNothing},
    {kMambaHead, kAttention, kWhole, kNothing},
    {kMambaALog, kAttention, kWhole, kNothing},
    {kMambaNorm, kAttention, kWhole, kNothing},
    {kMambaOut, kAttention, kWhole, kNothing},
    {kGdnQ, kAttention, kWhole, kNothing},
    {kGdnK, kAttention, kWhole, kNothing},
    {kGdnV, kAttention, kWhole, kNothing},
    {kGdnZ, kAttention, kWhole, kNothing},
    {kGdnB, kAttention, kWhole, kNothing},
    {kGdnA, kAttention, kWhole, kNothing},
    {kGdnConvQ, kAttention, kWhole, kNothing},
    {kGdnConvK, kAttention, kWhole, kNothing},
    {kGdnConvV, kAttention, kWhole, kNothing},
    {kGdnHead, kAttention, kWhole, kNothing},
    {kGdnALog, kAttention, kWhole, kNothing},
    {kGdnNorm, kAttention, kWhole, kNothing},
    {kGdnOut, kAttention, kWhole, kNothing},
    {kKdaRows, kAttention, kWhole, kNothing},
    {kKdaOut, kAttention, kWhole, kNothing},
    {kGroupedOutDown, kAttention, kWhole, kNothing},
    {kGroupedOutUp, kAttention, kWhole, kNothing},
    {kHyperConnection, kAttention, kWhole, kNothing},
    {kMtpProjection, kAttention, kRows, kNothing},
    {kVision, kUnknown, kWhole, kNothing},
}};
static_assert(in_kind_order(kTensorPlan));

void require_fsdp_sizes(const Model& model, std::span<const LogicalTensor> tensors,
                        const FsdpSizes& sizes, std::span<const Rank> ranks,
                        std::string_view side) {
  const NamedSize named[] = {
      {"shard", sizes.shard}, {"replicate", sizes.replicate}, {"tp", sizes.tp}, {"ep", sizes.ep}};
  require_sizes(named, ranks, side);
  const auto world = static_cast<std::int64_t>(ranks.size());
  if (sizes.shard * sizes.replicate > world || sizes.shard * sizes.replicate * sizes.tp != world)
    fail_at(
        side, "gpus",
        fmt::format("expected shard {} * replicate {} * tp {} = {}, found {}", sizes.shard,
                    sizes.replicate, sizes.tp, sizes.shard * sizes.replicate * sizes.tp, world));
  if (sizes.tp > 1)
    for (const ModelFigure& figure : model_figures(kTensorPlan, model, tensors))
      require_divides({"tp", sizes.tp}, figure, model, side);
  if (sizes.ep == 1) return;
  if (sizes.tp > 1)
    fail_at(side, "parallel.ep",
            "how experts lie under both tp and ep is not known; expected tp 1");
  if (sizes.replicate > 1)
    fail_at(side, "parallel.ep",
            fmt::format(
                "with replicate {} there are two readings: experts cut over shard / ep = {} "
                "ranks and replicated, or over shard * replicate / ep = {}; expected "
                "replicate 1",
                sizes.replicate, sizes.shard / sizes.ep, sizes.shard * sizes.replicate / sizes.ep));
  if (sizes.shard % sizes.ep != 0)
    fail_at(side, "parallel.ep", fmt::format("{} does not divide shard {}", sizes.ep, sizes.shard));
  if (model.experts % sizes.ep != 0)
    fail_at(side, "parallel.ep",
            fmt::format("{} does not divide {} routed experts of {}", sizes.ep, model.experts,
                        model.name));
}

class FsdpAssembler {
 public:
  FsdpAssembler(const Model& model, std::span<const LogicalTensor> tensors, const FsdpSizes& sizes,
                std::span<const Rank> ranks)
      : model_(model), tensors_(tensors), sizes_(sizes), ranks_(ranks.begin(), ranks.end()) {
    buffer_of_parameter_.assign(model.parameters.size(), BufferRef::kOwnBuffer);
    std::size_t layers = 1;
    for (const LogicalTensor& tensor : tensors)
      layers = std::max(layers, static_cast<std::size_t>(tensor.layer) + 2);
    gated_.assign(layers, false);
    for (const LogicalTensor& tensor : tensors)
      if (tensor.kind == kExpertGate) gated_[static_cast<std::size_t>(tensor.layer) + 1] = true;
    stacked_.assign(layers * 2, BufferRef::kOwnBuffer);
  }

  ShardedModel run() {
    result_.buffer_of.resize(tensors_.size());
    result_.sharding_of.reserve(tensors_.size());
    for (std::uint32_t index = 0; index < tensors_.size(); ++index) {
      const std::string problem = why_unknown(tensors_[index]);
      if (!problem.empty()) result_.unknown.push_back({index, problem});
      result_.sharding_of.push_back(problem.empty() ? place(index) : ShardedModel::kNotHeld);
    }
    return std::move(result_);
  }

 private:
  const Parameter& parameter_of(const LogicalTensor& tensor) const {
    return model_.parameters[tensor.parameter];
  }

  const Fusion* fusion_of(const LogicalTensor& tensor) const {
    const std::int32_t fusion = parameter_of(tensor).fusion;
    return fusion < 0 ? nullptr : &model_.fusions[static_cast<std::size_t>(fusion)];
  }

  std::string why_unknown(const LogicalTensor& tensor) const {
    const ShardingRule& rule = rule_of(kTensorPlan, tensor.kind);
    const Fusion* fusion = fusion_of(tensor);
    if (sizes_.tp > 1) {
      if (rule.group == kUnknown)
        return fmt::format(
            "how the tensor-parallel plan places parameters of its kind ({}) is not "
            "known",
            parameter_kind_name(tensor.kind));
      if (fusion != nullptr && rule.cut != kWhole &&
          (fusion->dim != 0 || fusion->groups % sizes_.tp != 0))
        return "how the tensor-parallel plan cuts its fused parameter is not known";
    }
    if (fusion != nullptr && !fusion->experts && fusion->transposed)
      return "how FSDP cuts a transposed parameter that is no stack of experts is not known";
    if (sizes_.ep == 1 || tensor.expert < 0) return "";
    if (tensor.shape.size() < 2) return "how expert biases lie under ep is not known";
    if (fusion != nullptr && fusion->groups > 1)
      return "whether a stack under ep keeps alternating gate and up columns is not known";
    return "";
  }

  std::uint32_t place(std::uint32_t index) {
    const LogicalTensor& tensor = tensors_[index];
    if (tensor.expert >= 0 && sizes_.ep > 1) return stacked(index);
    const Fusion* fusion = fusion_of(tensor);
    if (fusion == nullptr) return chunk(rule_of(kTensorPlan, tensor.kind).cut);
    refer_to_parameter(index);
    return fusion->experts ? expert_slice(tensor, *fusion) : fused_chunk(tensor, *fusion);
  }

  // [replicate, shard, tp] with dimension 0 cut over shard within what the plan gives a tp rank.
  Sharding chunk_sharding(RuleCut cut, MemoryView memory) const {
    const int plan = sizes_.tp > 1 ? static_cast<int>(cut) : AxisPlacement::kReplicate;
    Sharding sharding = mesh_sharding(
        {{"replicate", sizes_.replicate}, {"shard", sizes_.shard, 0}, {"tp", sizes_.tp, plan}},
        ranks_);
    if (plan == 0 && sizes_.shard > 1) {
      const int last = static_cast<int>(sharding.mesh.size()) - 1;
      sharding.order = {last, last - 1};  // tp, then shard
    }
    sharding.memory = std::move(memory);
    return sharding;
  }

  std::uint32_t chunk(RuleCut cut) {
    if (sizes_.tp == 1) cut = kWhole;
    return intern({kChunk, static_cast<std::int64_t>(cut)},
                  [&] { return chunk_sharding(cut, MemoryView{}); });
  }

  // A piece of a parameter whose rows, or blocks of rows, belong to several logical tensors.
  std::uint32_t fused_chunk(const LogicalTensor& tensor, const Fusion& fusion) {
    const Parameter& parameter = parameter_of(tensor);
    const RuleCut cut = rule_of(kTensorPlan, tensor.kind).cut;
    std::vector<std::int64_t> key = {kFused, parameter.fusion, tensor.piece,
                                     static_cast<std::int64_t>(cut), dtype_bits(tensor.dtype)};
    key.insert(key.end(), parameter.shape.begin(), parameter.shape.end());
    return intern(key, [&] {
      const StoredPiece piece = stored_piece(parameter.shape, fusion, tensor.piece);
      const std::int64_t bytes = dtype_bits(tensor.dtype) / 8;
      const std::int64_t parts = sizes_.shard * (cut == kRows ? sizes_.tp : 1);
      if (fusion.dim != 0 || parameter.shape[0] % (parts * piece.block) == 0)
        return chunk_sharding(cut, piece_view(piece, bytes));
      return piece_boxes(piece, tensor, cut == kRows ? sizes_.tp : 1);
    });
  }

  Sharding piece_boxes(const StoredPiece& piece, const LogicalTensor& tensor,
                       std::int64_t tp_parts) const {
    Sharding sharding;
    const std::int64_t bytes = dtype_bits(tensor.dtype) / 8;
    const std::int64_t rows = piece.shape[0];
    for (std::size_t n = 0; n < ranks_.size(); ++n) {
      const auto number = static_cast<std::int64_t>(n);
      const Range of_tp = chunk_range({0, rows}, tp_parts, number % sizes_.tp % tp_parts);
      const Range own = chunk_range(of_tp, sizes_.shard, number / sizes_.tp % sizes_.shard);
      std::vector<PlacedBox> boxes = boxes_of_rows(piece, tensor.shape, own, bytes);
      if (!boxes.empty()) sharding.boxes[ranks_[n]] = std::move(boxes);
    }
    return sharding;
  }

  // One expert of a parameter that stacks all of them: whole on the ranks whose chunk has it.
  std::uint32_t expert_slice(const LogicalTensor& tensor, const Fusion& fusion) {
    const Parameter& parameter = parameter_of(tensor);
    const std::int64_t per_rank = (parameter.shape[0] + sizes_.shard - 1) / sizes_.shard;
    const std::int64_t shard = tensor.expert / per_rank;
    result_.buffer_of[static_cast<std::size_t>(&tensor - tensors_.data())].slot =
        static_cast<std::uint32_t>(tensor.expert % per_rank);
    std::vector<std::int64_t> key = {kSlice, shard, parameter.fusion, tensor.piece,
                                     dtype_bits(tensor.dtype)};
    key.insert(key.end(), parameter.shape.begin(), parameter.shape.end());
    return intern(key, [&] {
      std::vector<Rank> holders;
      for (std::size_t n = 0; n < ranks_.size(); ++n)
        if (static_cast<std::int64_t>(n) / sizes_.tp % sizes_.shard == shard)
          holders.push_back(ranks_[n]);
      const auto count = static_cast<std::int64_t>(holders.size());
      Sharding sharding = mesh_sharding({{"copy", count}}, std::move(holders));
      sharding.memory =
          slice_view(parameter.shape, fusion, tensor.piece, dtype_bits(tensor.dtype) / 8);
      return sharding;
    });
  }

  // Expert parallelism: [E, in, out] stacks, cut over ep and then along dimension 1 over the rest.
  std::uint32_t stacked(std::uint32_t index) {
    const LogicalTensor& tensor = tensors_[index];
    const auto layer = static_cast<std::size_t>(tensor.layer) + 1;
    const bool down = tensor.kind == kExpertDown;
    const std::int64_t per_member = model_.experts / sizes_.ep;
    const std::int64_t member = tensor.expert / per_member;
    const std::int64_t slot = tensor.expert % per_member;
    const std::int64_t out = tensor.shape[0];
    const std::int64_t in = tensor.shape[1];
    const bool pair = !down && gated_[layer];
    const std::int64_t width = pair ? 2 * out : out;  // of a stored row
    const std::int64_t ways = sizes_.shard / sizes_.ep;
    const bool even = in % ways == 0;
    std::uint32_t& buffer = stacked_[layer * 2 + (down ? 1 : 0)];
    if (buffer == BufferRef::kOwnBuffer) {
      buffer = static_cast<std::uint32_t>(result_.buffers.size());
      result_.buffers.push_back(
          {std::string(module_parent(tensor.name)) + (down ? "down_projs" : "gate_and_up_projs"),
           DestinationClass::kDirect});
    }
    result_.buffer_of[index] = {buffer, even ? static_cast<std::uint32_t>(slot) : 0};
    const std::int64_t bytes = dtype_bits(tensor.dtype) / 8;
    const std::int64_t offset = pair && tensor.kind == kExpertUp ? out * bytes : 0;
    return intern({kStacked, member, even ? -1 : slot, in, width, offset, bytes}, [&] {
      std::vector<Rank> holders;
      for (std::int64_t way = 0; way < ways; ++way)
        holders.push_back(ranks_[static_cast<std::size_t>(way * sizes_.ep + member)]);
      const std::vector<Rank> by_way = holders;
      Sharding sharding = mesh_sharding({{"ep_shard", ways, 1}}, std::move(holders));
      sharding.memory.offset_bytes = offset;
      sharding.memory.strides = {1, width};
      if (even) {
        sharding.memory.slot_bytes = in / ways * width * bytes;
        return sharding;
      }
      for (std::int64_t way = 0; way < ways; ++way) {
        const Range own = chunk_range({0, in}, ways, way);
        sharding.memory.rank_offsets[by_way[static_cast<std::size_t>(way)]] =
            offset + slot * (own.high - own.low) * width * bytes;
      }
      return sharding;
    });
  }

  void refer_to_parameter(std::uint32_t index) {
    std::uint32_t& buffer = buffer_of_parameter_[tensors_[index].parameter];
    if (buffer == BufferRef::kOwnBuffer) {
      buffer = static_cast<std::uint32_t>(result_.buffers.size());
      result_.buffers.push_back({parameter_of(tensors_[index]).name, DestinationClass::kDirect});
    }
    result_.buffer_of[index].buffer = buffer;
  }

  template <typename Build>
  std::uint32_t intern(const std::vector<std::int64_t>& key, const Build& build) {
    const auto [entry, added] =
        indices_.try_emplace(key, static_cast<std::uint32_t>(result_.shardings.size()));
    if (added) result_.shardings.push_back(build());
    return entry->second;
  }

  enum Form : std::int64_t { kChunk, kFused, kSlice, kStacked };

  const Model& model_;
  std::span<const LogicalTensor> tensors_;
  const FsdpSizes& sizes_;
  std::vector<Rank> ranks_;
  ShardedModel result_;
  std::map<std::vector<std::int64_t>, std::uint32_t> indices_;
  std::vector<std::uint32_t> buffer_of_parameter_;
  std::vector<bool> gated_;             // by layer: its experts have a gate
  std::vector<std::uint32_t> stacked_;  // by layer: gate_and_up_projs, down_projs
};

}  // namespace

ShardedModel shard_fsdp(const Model& model, std::span<const LogicalTensor> tensors,
                        const FsdpSizes& sizes, std::span<const Rank> ranks,
                        std::string_view side) {
  require_fsdp_sizes(model, tensors, sizes, ranks, side);
  return FsdpAssembler(model, tensors, sizes, ranks).run();
}

}  // namespace transload
