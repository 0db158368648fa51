#include "planner/job/side.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "planner/job/placement.h"
#include "planner/job/slots.h"

namespace transload {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 50;

void parse_mesh_axes(YamlMap& side, Sharding& sharding, std::int64_t last_rank) {
  const YamlValue mesh = side.required("mesh");
  YamlMap axes = mesh.map();
  for (const auto& [name, size] : axes.entries())
    sharding.mesh.push_back({name, size.integer_in(1, std::int64_t{1} << 20)});
  if (sharding.mesh.empty()) mesh.fail("expected at least one axis");
  const YamlValue ranks = side.required("ranks");
  sharding.ranks = ranks.index_list(last_rank);
  const auto count = static_cast<std::int64_t>(sharding.ranks.size());
  std::int64_t coordinates = 1;
  for (const MeshAxis& axis : sharding.mesh) {
    coordinates *= axis.size;
    if (coordinates > count) break;
  }
  if (coordinates != count)
    ranks.fail(fmt::format("the mesh needs {}{} ranks, found {}", coordinates,
                           coordinates > count ? " or more" : "", count));
}

void parse_placements(YamlMap& side, Sharding& sharding, std::size_t dims) {
  const YamlValue placements = side.required("placements");
  for (const PlacementWord& word : placement_words(placements))
    sharding.placements.push_back(parse_placement(word, dims));
  if (sharding.placements.size() != sharding.mesh.size())
    placements.fail(fmt::format("expected one placement per mesh axis ({}), found {}",
                                sharding.mesh.size(), sharding.placements.size()));
}

void parse_order(YamlMap& side, Sharding& sharding) {
  const auto order = side.optional("order");
  if (!order) return;
  std::vector<std::string_view> names;
  for (const MeshAxis& axis : sharding.mesh) names.emplace_back(axis.name);
  for (const YamlValue& item : order->list()) {
    const std::string name = item.word_of(names);
    const int axis = static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
    if (std::find(sharding.order.begin(), sharding.order.end(), axis) != sharding.order.end())
      item.fail(fmt::format("axis {} stands twice", name));
    sharding.order.push_back(axis);
  }
}

SplitRule split_rule(const YamlValue& value) {
  return value.word_of({"chunk", "balanced"}) == "chunk" ? SplitRule::kChunk : SplitRule::kBalanced;
}

// A key that is the number of a dimension.
int dimension_key(const std::string& key, const YamlValue& value, std::size_t dims) {
  int dim = -1;
  const auto [rest, error] = std::from_chars(key.data(), key.data() + key.size(), dim);
  if (error != std::errc{} || rest != key.data() + key.size() || dim < 0 ||
      static_cast<std::size_t>(dim) >= dims)
    value.fail(fmt::format("expected a dimension from 0 to {}, found {}",
                           static_cast<std::int64_t>(dims) - 1, key));
  return dim;
}

void parse_split(YamlMap& side, Sharding& sharding, std::size_t dims) {
  const auto split = side.optional("split");
  if (!split) return;
  if (!split->is_map()) {
    sharding.split = split_rule(*split);
    return;
  }
  for (const auto& [key, rule] : split->map().entries())
    sharding.split_of_dim[dimension_key(key, rule, dims)] = split_rule(rule);
}

void parse_sizes(YamlMap& side, Sharding& sharding, std::size_t dims) {
  const auto sizes = side.optional("sizes");
  if (!sizes) return;
  for (const auto& [key, list] : sizes->map().entries()) {
    std::vector<std::int64_t>& parts = sharding.sizes[dimension_key(key, list, dims)];
    for (const YamlValue& item : list.list()) parts.push_back(item.integer_in(0, kMaxExtent));
  }
}

int only_sharded_dimension(const YamlValue& value, const Sharding& sharding) {
  int dim = AxisPlacement::kReplicate;
  for (const AxisPlacement& placement : sharding.placements) {
    if (!placement.shards() || placement.dim == dim) continue;
    if (dim != AxisPlacement::kReplicate)
      value.fail("several dimensions are sharded; say which is padded: {dimension: extent}");
    dim = placement.dim;
  }
  if (dim == AxisPlacement::kReplicate)
    value.fail("no dimension is sharded; say which is padded: {dimension: extent}");
  return dim;
}

void parse_padded(YamlMap& side, Sharding& sharding, std::size_t dims) {
  const auto padded = side.optional("padded");
  if (!padded) return;
  if (!padded->is_map()) {
    sharding.padded[only_sharded_dimension(*padded, sharding)] = {padded->integer_in(0, kMaxExtent),
                                                                  PaddingFill::kKeep};
    return;
  }
  PaddingFill fill = PaddingFill::kKeep;
  for (const auto& [key, entry] : padded->map().entries()) {
    if (key == "fill")
      fill = parse_fill(entry);
    else
      sharding.padded[dimension_key(key, entry, dims)].extent = entry.integer_in(0, kMaxExtent);
  }
  if (sharding.padded.empty()) padded->fail("expected {dimension: extent, fill: zero|keep}");
  for (auto& [dim, padding] : sharding.padded) padding.fill = fill;
}

void parse_dims(YamlMap& side, Sharding& sharding, const SideContext& context) {
  const auto dims = side.optional("dims");
  if (!dims) return;
  if (context.dims.empty())
    dims->fail(
        "the tensor has no `dims`: name its dimensions there, in the order of `shape`, so that "
        "this side's order can be told");
  const std::vector<std::string_view> names(context.dims.begin(), context.dims.end());
  for (const YamlValue& item : dims->list()) {
    const std::string name = item.word_of(names);
    const int dim = static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
    std::vector<int>& order = sharding.stored_order;
    if (std::find(order.begin(), order.end(), dim) != order.end())
      item.fail(fmt::format("{} stands twice", name));
    order.push_back(dim);
  }
  if (sharding.stored_order.size() != names.size())
    dims->fail(fmt::format("expected all {} dimensions", names.size()));
}

std::optional<std::string> parse_memory(YamlMap& side, MemoryView& view,
                                        const SideContext& context) {
  const auto value = side.optional("memory");
  if (!value) return std::nullopt;
  YamlMap memory = value->map();
  std::optional<std::string> buffer;
  if (const auto name = memory.optional("buffer")) buffer = name->text();
  if (const auto offset = memory.optional("offset")) {
    if (offset->is_map())
      for (const auto& [key, bytes] : offset->map().entries())
        view.rank_offsets[rank_key(key, bytes, context.last_rank)] =
            bytes.integer_in(0, kMaxExtent);
    else
      view.offset_bytes = offset->integer_in(0, kMaxExtent);
    if (!buffer) offset->fail("an offset without `buffer`: name the buffer that it counts from");
  }
  if (const auto factors = memory.optional("factors"))
    for (const auto& [key, list] : factors->map().entries()) {
      std::vector<std::int64_t>& parts =
          view.factors[dimension_key(key, list, context.shape.size())];
      for (const YamlValue& item : list.list()) parts.push_back(item.integer_in(1, kMaxExtent));
      if (parts.empty()) list.fail("expected at least one factor");
    }
  if (const auto strides = memory.optional("strides"))
    for (const YamlValue& item : strides->list())
      view.strides.push_back(item.integer_in(0, kMaxExtent));
  memory.finish();
  return buffer;
}

ExplicitBox parse_box(const YamlValue& value, const std::vector<std::int64_t>& shape) {
  const std::vector<YamlValue> dimensions = value.list();
  if (dimensions.size() != shape.size())
    value.fail(fmt::format("expected [low, high] for each of {} dimensions, found {}", shape.size(),
                           dimensions.size()));
  ExplicitBox box;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::vector<YamlValue> bounds = dimensions[d].list();
    if (bounds.size() != 2) dimensions[d].fail("expected [low, high]");
    const std::int64_t low = bounds[0].integer_in(0, shape[d]);
    box.push_back({low, bounds[1].integer_in(low, shape[d])});
  }
  return box;
}

// A list of boxes has three levels of lists, a single box two.
bool is_list_of_boxes(const YamlValue& value) {
  const std::vector<YamlValue> outer = value.list();
  if (outer.empty() || !outer[0].is_list()) return false;
  const std::vector<YamlValue> inner = outer[0].list();
  return !inner.empty() && inner[0].is_list();
}

void parse_boxes(const YamlValue& value, Sharding& sharding, const std::vector<std::int64_t>& shape,
                 std::int64_t last_rank) {
  YamlMap map = value.map();
  for (const auto& [key, boxes] : map.entries()) {
    std::vector<PlacedBox>& list = sharding.boxes[rank_key(key, boxes, last_rank)];
    if (is_list_of_boxes(boxes)) {
      for (const YamlValue& box : boxes.list())
        list.push_back({parse_box(box, shape), std::nullopt});
    } else {
      list.push_back({parse_box(boxes, shape), std::nullopt});
    }
  }
}

void parse_mesh(YamlMap& side, Sharding& sharding, const SideContext& context) {
  const std::size_t dims = context.shape.size();
  parse_mesh_axes(side, sharding, context.last_rank);
  parse_placements(side, sharding, dims);
  parse_order(side, sharding);
  parse_split(side, sharding, dims);
  parse_sizes(side, sharding, dims);
  parse_padded(side, sharding, dims);
}

// A side is given in one form: another beside it would have to agree, and nobody could say which
// holds where they do not.
void require_one_form(YamlMap& side) {
  const auto experts = side.optional("experts");
  std::string found;
  const auto note = [&](const char* form, bool here) {
    if (!here) return;
    if (!found.empty())
      side.required(form).fail(
          fmt::format("{} says already who holds what; expected one of mesh, boxes, experts: "
                      "{{rank: ids}}, expert_to_rank",
                      found));
    found = form;
  };
  note("boxes", side.has("boxes"));
  note("expert_to_rank", side.has("expert_to_rank"));
  note("experts", experts && (experts->is_map() || !found.empty()));
  note("mesh", side.has("mesh"));
}

}  // namespace

Rank rank_key(const std::string& key, const YamlValue& value, std::int64_t last_rank) {
  std::int64_t rank = -1;
  const auto [rest, error] = std::from_chars(key.data(), key.data() + key.size(), rank);
  if (error != std::errc{} || rest != key.data() + key.size() || rank < 0 || rank > last_rank)
    value.fail(fmt::format("expected a rank from 0 to {}, found {}", last_rank, key));
  return static_cast<Rank>(rank);
}

PaddingFill parse_fill(const YamlValue& value) {
  return value.word_of({"zero", "keep"}) == "zero" ? PaddingFill::kZero : PaddingFill::kKeep;
}

StoredType parse_side_type(const YamlValue& value) {
  constexpr std::string_view kFourBits[] = {"mxfp4", "nvfp4"};
  const std::string word = value.text();
  if (const auto type = parse_stored_type(word)) return *type;
  if (std::find(std::begin(kFourBits), std::end(kFourBits), word) != std::end(kFourBits))
    value.fail("conversions to types of four bits are planned in a later version");
  value.word_of(stored_type_names());
  value.fail("expected a dtype");
}

ParsedSide parse_side(const YamlValue& value, const SideContext& context) {
  YamlMap side = value.map();
  require_one_form(side);
  ParsedSide parsed;
  Sharding& sharding = parsed.sharding;
  if (const auto boxes = side.optional("boxes")) {
    parse_boxes(*boxes, sharding, context.shape, context.last_rank);
    if (sharding.boxes.empty()) boxes->fail("expected boxes of at least one rank");
  } else if (!parse_rank_slots(side, sharding, context)) {
    parse_mesh(side, sharding, context);
    parse_slot_list(side, sharding, context);
  }
  parse_dims(side, sharding, context);
  parsed.buffer = parse_memory(side, sharding.memory, context);
  if (const auto dtype = side.optional("dtype")) parsed.type = parse_side_type(*dtype);
  side.finish();
  return parsed;
}

}  // namespace transload
