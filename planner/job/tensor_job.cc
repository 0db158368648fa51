#include <fmt/format.h>

#include <charconv>
#include <set>

#include "planner/job/sections.h"

namespace transload {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 50;

// `R`, `S(d)`.
AxisPlacement parse_placement(const YamlValue& value) {
  const std::string word = value.text();
  AxisPlacement placement;
  if (word == "R") return placement;
  if (word.starts_with("S(") && word.ends_with(")")) {
    const char* end = word.data() + word.size() - 1;
    const auto [rest, error] = std::from_chars(word.data() + 2, end, placement.dim);
    if (error == std::errc{} && rest == end && placement.dim >= 0) return placement;
  }
  value.fail(fmt::format("expected R or S(dimension), found {}", word));
}

void parse_mesh(YamlMap& side, Sharding& sharding, std::size_t dims, std::int64_t last_rank) {
  const YamlValue mesh = side.required("mesh");
  YamlMap axes = mesh.map();
  for (const auto& [name, size] : axes.entries())
    sharding.mesh.push_back({name, size.integer_in(1, std::int64_t{1} << 20)});
  if (sharding.mesh.empty()) mesh.fail("expected at least one axis");
  const YamlValue ranks = side.required("ranks");
  sharding.ranks = ranks.index_list(last_rank);
  std::int64_t coordinates = 1;
  for (const MeshAxis& axis : sharding.mesh) {
    coordinates *= axis.size;
    if (coordinates > static_cast<std::int64_t>(sharding.ranks.size())) break;
  }
  if (coordinates != static_cast<std::int64_t>(sharding.ranks.size()))
    ranks.fail(fmt::format(
        "the mesh needs {}{} ranks, found {}", coordinates,
        coordinates > static_cast<std::int64_t>(sharding.ranks.size()) ? " or more" : "",
        sharding.ranks.size()));
  const YamlValue placements = side.required("placements");
  for (const YamlValue& item : placements.list()) {
    const AxisPlacement placement = parse_placement(item);
    if (placement.shards() && static_cast<std::size_t>(placement.dim) >= dims)
      item.fail(fmt::format("the tensor has {} dimensions; S takes 0 to {}", dims,
                            static_cast<int>(dims) - 1));
    sharding.placements.push_back(placement);
  }
  if (sharding.placements.size() != sharding.mesh.size())
    placements.fail(fmt::format("expected one placement per mesh axis ({}), found {}",
                                sharding.mesh.size(), sharding.placements.size()));
  if (const auto rule = side.optional("split"))
    sharding.split =
        rule->word_of({"chunk", "balanced"}) == "chunk" ? SplitRule::kChunk : SplitRule::kBalanced;
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
    std::int64_t rank = -1;
    const auto [rest, error] = std::from_chars(key.data(), key.data() + key.size(), rank);
    if (error != std::errc{} || rest != key.data() + key.size() || rank < 0 || rank > last_rank)
      boxes.fail(fmt::format("expected a rank from 0 to {}, found {}", last_rank, key));
    std::vector<ExplicitBox>& list = sharding.boxes[static_cast<Rank>(rank)];
    if (is_list_of_boxes(boxes)) {
      for (const YamlValue& box : boxes.list()) list.push_back(parse_box(box, shape));
    } else {
      list.push_back(parse_box(boxes, shape));
    }
  }
}

Sharding parse_side(const YamlValue& value, const std::vector<std::int64_t>& shape,
                    std::int64_t last_rank) {
  YamlMap side = value.map();
  Sharding sharding;
  if (const auto boxes = side.optional("boxes")) {
    parse_boxes(*boxes, sharding, shape, last_rank);
    if (sharding.boxes.empty()) boxes->fail("expected boxes of at least one rank");
    side.finish();
    return sharding;
  }
  parse_mesh(side, sharding, shape.size(), last_rank);
  side.finish();
  return sharding;
}

std::vector<std::int64_t> parse_shape(const YamlValue& value) {
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
  for (const YamlValue& item : value.list()) {
    const std::int64_t extent = item.integer_in(0, kMaxExtent);
    if (extent > 0 && elements > kMaxExtent / extent) value.fail("expected at most 2^50 elements");
    elements *= extent;
    shape.push_back(extent);
  }
  if (shape.size() > 255) value.fail("expected at most 255 dimensions");
  return shape;
}

// Neighbouring tensors mostly share layouts; equal ones are stored once, so that they form one
// group.
template <class Entry>
std::uint32_t intern(std::vector<Entry>& table, Entry entry) {
  constexpr std::size_t kLookBack = 64;
  const std::size_t oldest = table.size() > kLookBack ? table.size() - kLookBack : 0;
  for (std::size_t i = table.size(); i-- > oldest;)
    if (table[i] == entry) return static_cast<std::uint32_t>(i);
  table.push_back(std::move(entry));
  return static_cast<std::uint32_t>(table.size()) - 1;
}

}  // namespace

ProblemInput parse_tensors(const YamlValue& value, const Topology& topology) {
  const std::int64_t last_rank = static_cast<std::int64_t>(topology.gpus.size()) - 1;
  ProblemInput input;
  const std::vector<YamlValue> items = value.list();
  if (items.empty()) value.fail("expected at least one tensor");
  std::set<std::string> names;
  for (const YamlValue& item : items) {
    YamlMap map = item.map();
    TensorInput tensor;
    tensor.name = map.required("name").text();
    if (!names.insert(tensor.name).second)
      map.required("name").fail("another tensor has this name");
    tensor.shape = parse_shape(map.required("shape"));
    tensor.dtype = map.required("dtype").dtype();
    tensor.source =
        intern(input.source_shardings, parse_side(map.required("source"), tensor.shape, last_rank));
    tensor.destination =
        intern(input.destination_shardings,
               std::vector{parse_side(map.required("destination"), tensor.shape, last_rank)});
    map.finish();
    input.tensors.push_back(std::move(tensor));
  }
  return input;
}

}  // namespace transload
