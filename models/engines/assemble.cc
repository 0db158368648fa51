#include "models/engines/assemble.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/check.h"
#include "common/error.h"
#include "models/engines/fit.h"
#include "models/engines/mesh.h"
#include "models/engines/views.h"

namespace transload {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

// First words of a sharding's key: which form the others describe.
enum KeyForm : std::int64_t { kDenseKey, kFirstKey, kPlainCutKey, kExpertKey };

// The groups before routed experts.
constexpr std::ptrdiff_t kDenseGroups = static_cast<std::ptrdiff_t>(RuleGroup::kExpert);

class Assembler {
 public:
  Assembler(const EngineLayout& layout, const Model& model, std::span<const LogicalTensor> tensors)
      : layout_(layout), model_(model), tensors_(tensors), views_(layout, model, tensors) {
    for (std::size_t stage = 0; stage < layout.stage_ranks.size(); ++stage)
      stage_sets_.push_back({static_cast<std::int32_t>(stage)});
    stage_sets_.push_back(layout.embedding_stages);
    buffer_of_.assign(views_.layers() * layout.buffers.size() * 2, kNone);
  }

  ShardedModel run() {
    result_.sharding_of.reserve(tensors_.size());
    result_.buffer_of.resize(tensors_.size());
    for (std::uint32_t index = 0; index < tensors_.size(); ++index)
      result_.sharding_of.push_back(place(index));
    result_.shardings = table_.take();
    return std::move(result_);
  }

 private:
  std::uint32_t place(std::uint32_t index) {
    const LogicalTensor& tensor = tensors_[index];
    if (tensor.part == ModelPart::kMtpCopy && layout_.copies_known) {
      result_.dropped.push_back(index);
      return ShardedModel::kNotHeld;
    }
    const ShardingRule& rule = rule_of(layout_.rules, tensor.kind);
    if (is_whole_without_rule(tensor, rule)) {
      result_.conversions.push_back(
          {index, fmt::format("how {} stores it is not known: it arrives as the checkpoint has it",
                              layout_.engine)});
      return dense_sharding(
          tensor, {tensor.kind, RuleGroup::kAttention, RuleCut::kWhole, RuleUnit::kNothing},
          nullptr);
    }
    std::string problem = why_unknown(tensor, rule);
    const bool known = problem.empty();
    const std::uint32_t part = known ? views_.part_of(index) : kNone;
    const PartView* view = part == kNone ? nullptr : &views_.of(index, part);
    if (view != nullptr && view->unknown)
      problem = "the order of its alternating rows is not known";
    if (!problem.empty()) {
      result_.unknown.push_back({index, std::move(problem)});
      return ShardedModel::kNotHeld;
    }
    const std::int64_t expert = expert_of(tensor, rule);
    if (part != kNone) refer_to_buffer(index, layout_.parts[part].buffer, expert);
    if (expert >= 0) return expert_sharding(tensor, rule, view, expert);
    return dense_sharding(tensor, rule, view);
  }

  // With tensor parallelism of 1 a rule has nothing to cut: every rank of a destination's stage
  // holds the whole tensor. Of a source that is not enough, its storage has to be known.
  bool is_whole_without_rule(const LogicalTensor& tensor, const ShardingRule& rule) const {
    return rule.group == RuleGroup::kUnknown && tensor.expert < 0 &&
           tensor.part == ModelPart::kMain && layout_.side.starts_with("destination") &&
           std::all_of(layout_.ways.begin(), layout_.ways.begin() + kDenseGroups,
                       [](std::int64_t ways) { return ways == 1; });
  }

  // Why the tensor cannot be placed; empty: it can.
  std::string why_unknown(const LogicalTensor& tensor, const ShardingRule& rule) const {
    if (tensor.part == ModelPart::kMtp || tensor.part == ModelPart::kMtpCopy)
      if (!layout_.predictions_unknown.empty()) return layout_.predictions_unknown;
    if (rule.group != RuleGroup::kUnknown) return misfit(tensor, rule);
    const auto why = layout_.why_unknown.find(tensor.kind);
    if (why != layout_.why_unknown.end()) return why->second;
    return fmt::format("how {} lays out parameters of its kind ({}) is not known", layout_.engine,
                       parameter_kind_name(tensor.kind));
  }

  // Why this tensor cannot be cut as its kind is; empty: it can.
  std::string misfit(const LogicalTensor& tensor, const ShardingRule& rule) const {
    if (rule.cut != RuleCut::kRows && rule.cut != RuleCut::kColumns) return "";
    if (layout_.ways[static_cast<std::size_t>(rule.group)] == 1) return "";
    if (is_quantisation_scale(tensor.name)) return "how it cuts quantisation scales is not known";
    const std::int64_t units = unit_count(rule.unit, model_);
    const std::int64_t extent = tensor.shape[static_cast<std::size_t>(rule.cut)];
    if (units > 0 && extent % units != 0)
      return fmt::format(
          "its {} rows are no multiple of the model's {} heads, and how they are "
          "cut is not known",
          extent, units);
    return "";
  }

  // A shared expert that stands among the routed ones comes after the last of them.
  std::int64_t expert_of(const LogicalTensor& tensor, const ShardingRule& rule) const {
    if (rule.group != RuleGroup::kExpert) return -1;
    return tensor.expert >= 0 ? tensor.expert : model_.experts;
  }

  const std::vector<ExpertHome>& homes_of(const LogicalTensor& tensor, std::int64_t expert) const {
    const auto own = layout_.homes_of_layer.find(tensor.layer);
    const ExpertHomes& homes = own == layout_.homes_of_layer.end() ? layout_.homes : own->second;
    TRANSLOAD_CHECK(static_cast<std::size_t>(expert) < homes.size(),
                    "an expert's matrix knows its expert");
    return homes[static_cast<std::size_t>(expert)];
  }

  std::size_t stage_set_of(const LogicalTensor& tensor) const {
    const PipelineStages& stages = layout_.stages;
    if (tensor.part == ModelPart::kMtp) {
      const auto& predictions = stages.of_prediction;
      if (predictions.empty()) return static_cast<std::size_t>(stages.output);
      const std::int64_t number = std::clamp<std::int64_t>(
          tensor.layer - model_.layers, 0, static_cast<std::int64_t>(predictions.size()) - 1);
      return static_cast<std::size_t>(predictions[static_cast<std::size_t>(number)]);
    }
    if (tensor.layer >= 0 && tensor.layer < model_.layers)
      return static_cast<std::size_t>(stages.of_layer[static_cast<std::size_t>(tensor.layer)]);
    if (tensor.kind == ParameterKind::kEmbedding) return stage_sets_.size() - 1;
    return static_cast<std::size_t>(stages.output);
  }

  std::vector<Rank> ranks_of(std::size_t stage_set) const {
    std::vector<Rank> ranks;
    for (const std::int32_t stage : stage_sets_[stage_set]) {
      const auto& more = layout_.stage_ranks[static_cast<std::size_t>(stage)];
      ranks.insert(ranks.end(), more.begin(), more.end());
    }
    return ranks;
  }

  std::uint32_t dense_sharding(const LogicalTensor& tensor, const ShardingRule& rule,
                               const PartView* view) {
    const std::size_t stage_set = stage_set_of(tensor);
    const std::int64_t ways = layout_.ways[static_cast<std::size_t>(rule.group)];
    const std::int64_t view_id = view == nullptr ? -1 : view->id;
    const auto set = static_cast<std::int64_t>(stage_set);
    if (view != nullptr && view->plain_cut)
      return table_.index_of({kPlainCutKey, set, view_id, ways},
                             [&] { return plain_cut(*view, ranks_of(stage_set), ways); });
    if (rule.cut == RuleCut::kFirst && ways > 1)
      return table_.index_of({kFirstKey, set, view_id, ways},
                             [&] { return on_first(ranks_of(stage_set), ways, view); });
    std::int64_t pieces = pieces_of(layout_, model_, rule);
    // A cut in one part is none; seen so, it shares the sharding of what is whole.
    const int cut = pieces > 1 ? static_cast<int>(rule.cut) : AxisPlacement::kReplicate;
    if (pieces == 1) pieces = 0;
    const std::int64_t padded = padded_rows(tensor, rule);
    return table_.index_of(
        {kDenseKey, set, view_id, pieces > 0 ? ways : 0, pieces, cut, padded}, [&] {
          std::vector<Rank> ranks = ranks_of(stage_set);
          const auto count = static_cast<std::int64_t>(ranks.size());
          std::vector<PlacedAxis> axes = {{"copy", count}};
          if (pieces > 0)
            axes = {{"copy", count / ways}, {"part", pieces, cut}, {"shared", ways / pieces}};
          Sharding sharding = mesh_sharding(axes, std::move(ranks));
          if (padded > 0) sharding.padded[0] = {padded, PaddingFill::kZero};
          if (view != nullptr) sharding.memory = view->memory;
          return sharding;
        });
  }

  // Extent of padded storage; 0: as the tensor.
  std::int64_t padded_rows(const LogicalTensor& tensor, const ShardingRule& rule) const {
    if (rule.unit != RuleUnit::kVocabulary) return 0;
    const std::int64_t multiple =
        rule.group == RuleGroup::kEmbedding ? layout_.embedding_multiple : layout_.output_multiple;
    const std::int64_t padded = round_up(tensor.shape[0], multiple);
    return padded == tensor.shape[0] ? 0 : padded;
  }

  static Sharding on_first(const std::vector<Rank>& ranks, std::int64_t ways,
                           const PartView* view) {
    std::vector<Rank> first;
    for (std::size_t n = 0; n < ranks.size(); n += static_cast<std::size_t>(ways))
      first.push_back(ranks[n]);
    const auto count = static_cast<std::int64_t>(first.size());
    Sharding sharding = mesh_sharding({{"copy", count}}, std::move(first));
    if (view != nullptr) sharding.memory = view->memory;
    return sharding;
  }

  std::uint32_t expert_sharding(const LogicalTensor& tensor, const ShardingRule& rule,
                                const PartView* view, std::int64_t expert) {
    const std::vector<ExpertHome>& homes = homes_of(tensor, expert);
    const std::size_t stage_set = stage_set_of(tensor);
    const std::int64_t parts = layout_.ways[static_cast<std::size_t>(RuleGroup::kExpert)];
    int cut = static_cast<int>(rule.cut);
    const bool first_only = rule.cut == RuleCut::kFirst && parts > 1;
    if (parts == 1 || cut < 0) cut = AxisPlacement::kReplicate;
    const bool moving_slot = has_moving_slot(homes);
    const std::int64_t holders = homes.size() == 1 ? homes[0].member : homes_id(homes);
    const std::int64_t view_id = view == nullptr ? -1 : view->id;
    return table_.index_of({kExpertKey, static_cast<std::int64_t>(stage_set), view_id, holders,
                            homes.size() == 1 ? 0 : 1, cut, first_only ? 1 : 0},
                           [&] {
                             const std::vector<Rank> stage = ranks_of(stage_set);
                             std::vector<Rank> ranks;
                             MemoryView memory = view == nullptr ? MemoryView{} : view->memory;
                             for (const ExpertHome& home : homes) {
                               const auto& member = layout_.members[home.member];
                               const std::size_t step =
                                   first_only ? static_cast<std::size_t>(parts) : 1;
                               for (std::size_t i = 0; i < member.size(); i += step) {
                                 ranks.push_back(stage[member[i]]);
                                 if (moving_slot)
                                   memory.rank_offsets[ranks.back()] =
                                       memory.offset_bytes + memory.slot_bytes * home.slot;
                               }
                             }
                             const auto count = static_cast<std::int64_t>(ranks.size());
                             std::vector<PlacedAxis> axes = {{"copy", count}};
                             if (cut >= 0) axes = {{"copy", count / parts}, {"part", parts, cut}};
                             Sharding sharding = mesh_sharding(axes, std::move(ranks));
                             sharding.memory = std::move(memory);
                             return sharding;
                           });
  }

  // Copies in different slots: no one slot number is right on every rank.
  static bool has_moving_slot(const std::vector<ExpertHome>& homes) {
    return std::any_of(homes.begin(), homes.end(),
                       [&](const ExpertHome& home) { return home.slot != homes[0].slot; });
  }

  std::int64_t homes_id(const std::vector<ExpertHome>& homes) {
    return homes_ids_.try_emplace(homes, static_cast<std::int64_t>(homes_ids_.size()))
        .first->second;
  }

  void refer_to_buffer(std::uint32_t index, std::uint8_t buffer, std::int64_t expert) {
    const LogicalTensor& tensor = tensors_[index];
    const FusedBuffer& fused = layout_.buffers[buffer];
    std::uint32_t& first =
        buffer_of_[(views_.layer_place(tensor) * layout_.buffers.size() + buffer) * 2 +
                   (is_bias(tensor) ? 1 : 0)];
    if (first == kNone) {
      first = static_cast<std::uint32_t>(result_.buffers.size());
      const std::uint32_t count =
          fused.sharing == BufferSharing::kPerExpert ? most_slots(tensor) : 1;
      for (std::uint32_t slot = 0; slot < count; ++slot)
        result_.buffers.push_back(
            {buffer_name(layout_, model_, tensor, fused, slot), fused.destination_class});
    }
    BufferRef& ref = result_.buffer_of[index];
    ref.buffer = first;
    if (expert >= 0) {
      const std::vector<ExpertHome>& homes = homes_of(tensor, expert);
      if (fused.sharing == BufferSharing::kPerExpert)
        ref.buffer += homes[0].slot;
      else if (!has_moving_slot(homes))
        ref.slot = homes[0].slot;
    }
    if (!fused.conversion.empty())
      result_.conversions.push_back({index, std::string(fused.conversion)});
  }

  // Most experts that one member holds.
  std::uint32_t most_slots(const LogicalTensor& tensor) const {
    std::uint32_t most = 1;
    const auto own = layout_.homes_of_layer.find(tensor.layer);
    for (const auto& homes : own == layout_.homes_of_layer.end() ? layout_.homes : own->second)
      for (const ExpertHome& home : homes) most = std::max(most, home.slot + 1);
    return most;
  }

  const EngineLayout& layout_;
  const Model& model_;
  std::span<const LogicalTensor> tensors_;
  ViewTable views_;
  ShardingTable table_;
  ShardedModel result_;
  std::vector<std::vector<std::int32_t>> stage_sets_;  // one per stage, then the embedding's
  std::vector<std::uint32_t> buffer_of_;               // by layer, buffer, weight or bias
  std::map<std::vector<ExpertHome>, std::int64_t> homes_ids_;
};

}  // namespace

ShardedModel assemble(const EngineLayout& layout, const Model& model,
                      std::span<const LogicalTensor> tensors) {
  require_fits(layout, model, tensors);
  ShardedModel sharded = Assembler(layout, model, tensors).run();
  sharded.engine_ranks = layout.engine_ranks;
  return sharded;
}

}  // namespace transload
