#include "models/engines/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "common/check.h"
#include "common/error.h"
#include "models/engines/fit.h"

namespace transload {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

std::int64_t row_elements(std::span<const std::int64_t> shape) {
  std::int64_t elements = 1;
  for (std::size_t dim = 1; dim < shape.size(); ++dim) elements *= shape[dim];
  return elements;
}

// A view as numbers, for finding equal ones.
std::vector<std::int64_t> signature(const PartView& view) {
  std::vector<std::int64_t> numbers = {view.unknown, view.plain_cut, view.memory.offset_bytes,
                                       view.memory.slot_bytes,
                                       static_cast<std::int64_t>(view.memory.strides.size())};
  numbers.insert(numbers.end(), view.memory.strides.begin(), view.memory.strides.end());
  for (const auto& [dim, factors] : view.memory.factors) {
    numbers.push_back(dim);
    numbers.insert(numbers.end(), factors.begin(), factors.end());
  }
  if (view.plain_cut) {
    for (const std::int64_t number :
         {view.place.offset_rows, view.place.unit_rows, view.place.block_rows, view.place.units,
          view.total_rows, view.element_bytes})
      numbers.push_back(number);
    numbers.insert(numbers.end(), view.shape.begin(), view.shape.end());
  }
  return numbers;
}

}  // namespace

Sharding plain_cut(const PartView& view, std::span<const Rank> ranks, std::int64_t ways) {
  Sharding sharding;
  const std::int64_t rows_per_rank = view.total_rows / ways;
  const std::int64_t row_bytes = row_elements(view.shape) * view.element_bytes;
  for (std::size_t n = 0; n < ranks.size(); ++n) {
    const std::int64_t low = static_cast<std::int64_t>(n) % ways * rows_per_rank;
    const std::int64_t high = low + rows_per_rank;
    std::vector<PlacedBox>& boxes = sharding.boxes[ranks[n]];
    for (std::int64_t unit = low / view.place.block_rows; unit < view.place.units; ++unit) {
      // Where the part's rows of this unit lie in the whole buffer.
      const std::int64_t first = unit * view.place.block_rows + view.place.offset_rows;
      const std::int64_t from = std::max(first, low);
      const std::int64_t to = std::min(first + view.place.unit_rows, high);
      if (unit * view.place.block_rows >= high) break;
      if (from >= to) continue;
      PlacedBox placed;
      placed.offset_bytes = (from - low) * row_bytes;
      const std::int64_t in_part = unit * view.place.unit_rows + (from - first);
      placed.box.push_back({in_part, in_part + (to - from)});
      for (std::size_t dim = 1; dim < view.shape.size(); ++dim)
        placed.box.push_back({0, view.shape[dim]});
      boxes.push_back(std::move(placed));
    }
    if (boxes.empty()) sharding.boxes.erase(ranks[n]);
  }
  return sharding;
}

std::string buffer_name(const EngineLayout& layout, const Model& model, const LogicalTensor& tensor,
                        const FusedBuffer& buffer, std::uint32_t slot) {
  std::string leaf = is_bias(tensor) ? "bias" : "weight";
  if (buffer.sharing == BufferSharing::kPerExpert) leaf += std::to_string(slot);
  const std::string own = fmt::format(fmt::runtime(buffer.name), leaf);
  if (layout.naming == BufferNaming::kMegatron) {
    if (tensor.layer < model.layers) return fmt::format("decoder.layers.{}.{}", tensor.layer, own);
    return fmt::format("mtp.layers.{}.mtp_model_layer.{}", tensor.layer - model.layers, own);
  }
  std::string name = std::string(module_parent(tensor.name)) + own;
  for (const Renaming& renaming : layout.renamings) {
    if (!renaming.family.empty() && renaming.family != model.family) continue;
    const std::size_t at = name.find(renaming.from);
    if (at != std::string::npos) name.replace(at, renaming.from.size(), renaming.to);
  }
  return name;
}

ViewTable::ViewTable(const EngineLayout& layout, const Model& model,
                     std::span<const LogicalTensor> tensors)
    : layout_(layout), model_(model), tensors_(tensors) {
  for (std::uint32_t part = 0; part < layout.parts.size(); ++part)
    parts_of_kind_[static_cast<std::size_t>(layout.parts[part].kind)].push_back(part);
  for (const LogicalTensor& tensor : tensors)
    layers_ = std::max(layers_, static_cast<std::size_t>(tensor.layer + 2));
  first_tensor_.assign(layers_ * layout.parts.size() * 2, kNone);
  view_of_.assign(first_tensor_.size(), kNone);
  for (std::uint32_t index = 0; index < tensors.size(); ++index) {
    const std::uint32_t part = part_of(index);
    if (part == kNone || tensors[index].part == ModelPart::kMtpCopy) continue;
    if (rule_of(layout.rules, tensors[index].kind).group == RuleGroup::kUnknown) continue;
    std::uint32_t& first = first_tensor_[cell(index, part)];
    if (first == kNone) {
      first = index;
    } else if (tensors[index].expert < 0) {
      throw InputError(
          fmt::format("tensor {}: {} keeps it in one buffer with its like, where {} "
                      "already has that place",
                      tensors[index].name, layout.engine, tensors[first].name));
    } else if (tensors[index].shape != tensors[first].shape ||
               tensors[index].dtype != tensors[first].dtype) {
      throw InputError(
          fmt::format("tensor {}: the experts of a layer are stored together and must "
                      "have one shape and dtype; {} differs",
                      tensors[index].name, tensors[first].name));
    }
  }
}

std::uint32_t ViewTable::part_of(std::uint32_t index) const {
  const LogicalTensor& tensor = tensors_[index];
  for (const std::uint32_t part : parts_of_kind_[static_cast<std::size_t>(tensor.kind)]) {
    const std::string_view module = layout_.parts[part].module;
    if (module.empty() || module_name(tensor.name) == module) return part;
  }
  return kNone;
}

std::size_t ViewTable::cell(std::uint32_t index, std::uint32_t part) const {
  return (layer_place(tensors_[index]) * layout_.parts.size() + part) * 2 +
         (is_bias(tensors_[index]) ? 1 : 0);
}

const PartView& ViewTable::of(std::uint32_t index, std::uint32_t part) {
  std::uint32_t& place = view_of_[cell(index, part)];
  if (place == kNone) {
    PartView view = make(index, part);
    const auto [entry, added] =
        ids_.try_emplace(signature(view), static_cast<std::uint32_t>(views_.size()));
    if (added) {
      view.id = entry->second;
      views_.push_back(std::move(view));
    }
    place = entry->second;
  }
  return views_[place];
}

bool ViewTable::alternates(std::uint32_t index) const {
  const std::int32_t fusion = model_.parameters[tensors_[index].parameter].fusion;
  if (fusion < 0) return false;
  const Fusion& rule = model_.fusions[static_cast<std::size_t>(fusion)];
  return rule.experts && rule.groups > 1 && rule.pieces.size() > 1;
}

ViewTable::BufferParts ViewTable::parts_beside(std::uint32_t index, std::uint32_t part,
                                               bool alternating) const {
  const LogicalTensor& tensor = tensors_[index];
  const std::uint8_t buffer = layout_.parts[part].buffer;
  BufferParts found;
  for (std::uint32_t other = 0; other < layout_.parts.size(); ++other) {
    if (layout_.parts[other].buffer != buffer) continue;
    const std::uint32_t first = first_tensor_[cell(index, other)];
    if (first == kNone) continue;
    const LogicalTensor& neighbour = tensors_[first];
    // A shared expert in a slot of its own is no neighbour of the routed ones.
    if ((neighbour.expert >= 0) != (tensor.expert >= 0)) continue;
    if (neighbour.dtype != tensor.dtype ||
        row_elements(neighbour.shape) != row_elements(tensor.shape))
      throw InputError(
          fmt::format("tensor {}: {} keeps it in one buffer with {}, which differs in "
                      "dtype or width",
                      tensor.name, layout_.engine, neighbour.name));
    if (other == part) found.own = found.whole.size();
    const ShardingRule& rule = rule_of(layout_.rules, neighbour.kind);
    found.pieces.push_back(rule.cut == RuleCut::kRows ? pieces_of(layout_, model_, rule) : 1);
    found.whole.push_back(
        {alternating ? std::uint8_t{0} : layout_.parts[other].section, neighbour.shape[0]});
  }
  return found;
}

// How many units the parts of the tensor's section alternate by; 0: it is alone in its section.
std::int64_t ViewTable::units_of(std::uint32_t index, const FusedBuffer& buffer,
                                 const BufferParts& parts, bool alternating) const {
  const LogicalTensor& tensor = tensors_[index];
  const std::uint8_t section = parts.whole[parts.own].section;
  const auto beside = [&](const LocalPart& local) { return local.section == section; };
  if (std::count_if(parts.whole.begin(), parts.whole.end(), beside) < 2) return 0;
  const std::int64_t units =
      alternating ? tensor.shape[0] : unit_count(buffer.alternate_by, model_);
  for (const LocalPart& local : parts.whole)
    if (beside(local) && (units < 1 || local.rows % units != 0))
      throw InputError(
          fmt::format("tensor {}: {} alternates it with others in {} units, which do "
                      "not divide their {} rows",
                      tensor.name, layout_.engine, units, local.rows));
  return units;
}

PartView ViewTable::make(std::uint32_t index, std::uint32_t part) const {
  const LogicalTensor& tensor = tensors_[index];
  const FusedBuffer& buffer = layout_.buffers[layout_.parts[part].buffer];
  PartView view;
  view.element_bytes = dtype_bits(tensor.dtype) / 8;
  const bool alternating = alternates(index) && buffer.alternation != Alternation::kHalves;
  view.unknown = alternating && buffer.alternation == Alternation::kUnknown;
  if (view.unknown) return view;

  BufferParts parts = parts_beside(index, part, alternating);
  const std::int64_t units = units_of(index, buffer, parts, alternating);
  const std::int64_t pieces = parts.pieces[parts.own];
  const ShardingRule& rule = rule_of(layout_.rules, tensor.kind);
  view.plain_cut = units > 0 && units % pieces != 0;
  if (view.plain_cut) {
    view.place = place_part(parts.whole, parts.own, units, &view.total_rows);
    view.shape = tensor.shape;
    const std::int64_t ways = layout_.ways[static_cast<std::size_t>(rule.group)];
    if (view.total_rows % ways != 0)
      fail_at(layout_.side, "parallel.tp",
              fmt::format("{} does not divide the {} rows of {}", ways, view.total_rows,
                          buffer_name(layout_, model_, tensor, buffer, 0)));
    return view;
  }
  std::vector<LocalPart> local_parts = parts.whole;
  for (std::size_t i = 0; i < local_parts.size(); ++i) local_parts[i].rows /= parts.pieces[i];
  const PartPlace place = place_part(local_parts, parts.own,
                                     std::max<std::int64_t>(1, units / pieces), &view.total_rows);
  std::vector<std::int64_t> local = tensor.shape;
  local[0] = local_parts[parts.own].rows;
  if (rule.cut == RuleCut::kColumns && local.size() > 1)
    local[1] /= pieces_of(layout_, model_, rule);
  view.memory = fused_view(place, local, view.element_bytes);
  if (buffer.sharing == BufferSharing::kSlots)
    view.memory.slot_bytes = view.total_rows * row_elements(local) * view.element_bytes;
  return view;
}

}  // namespace transload
