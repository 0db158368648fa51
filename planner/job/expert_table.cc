#include "planner/job/expert_table.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <set>

namespace transload {
namespace {

constexpr std::int64_t kMaxExpert = std::int64_t{1} << 30;

std::vector<std::int64_t> parse_slots(const YamlValue& value) {
  std::vector<std::int64_t> slots;
  // Ids below zero and above the last expert are refused with their slot, where that is known.
  for (const YamlValue& item : value.list())
    slots.push_back(item.integer_in(-kMaxExpert, kMaxExpert));
  if (slots.empty()) value.fail("expected at least one slot");
  return slots;
}

std::set<std::int32_t> layers_with_experts(std::span<const LogicalTensor> tensors) {
  std::set<std::int32_t> layers;
  for (const LogicalTensor& tensor : tensors)
    if (tensor.expert >= 0 && (layers.empty() || *layers.rbegin() != tensor.layer))
      layers.insert(tensor.layer);
  return layers;
}

ExpertTable parse_rows(const YamlValue& value, const std::set<std::int32_t>& layers) {
  ExpertTable table;
  const std::vector<YamlValue> rows = value.list();
  if (rows.size() != layers.size())
    value.fail(fmt::format("expected one row per layer with experts, {}, found {}", layers.size(),
                           rows.size()));
  std::size_t row = 0;
  for (const std::int32_t layer : layers) table.of_layer[layer] = parse_slots(rows[row++]);
  return table;
}

ExpertTable parse_layers(const YamlValue& value, const std::set<std::int32_t>& layers) {
  ExpertTable table;
  for (const auto& [key, slots] : value.map().entries()) {
    std::int32_t layer = -1;
    const auto [rest, error] = std::from_chars(key.data(), key.data() + key.size(), layer);
    if (error != std::errc{} || rest != key.data() + key.size() || !layers.contains(layer))
      slots.fail(fmt::format("expected the number of a layer with experts, found {}", key));
    table.of_layer[layer] = parse_slots(slots);
  }
  return table;
}

ExpertTable parse_table(const YamlValue& value, const std::set<std::int32_t>& layers) {
  if (value.is_map()) return parse_layers(value, layers);
  const std::vector<YamlValue> items = value.list();
  if (!items.empty() && items[0].is_list()) return parse_rows(value, layers);
  ExpertTable table;
  table.all_layers = parse_slots(value);
  return table;
}

}  // namespace

ExpertTable parse_expert_table(const YamlValue& value, std::span<const LogicalTensor> tensors,
                               const std::string& base_folder) {
  const std::set<std::int32_t> layers = layers_with_experts(tensors);
  if (!value.is_map() || !value.map().has("file")) return parse_table(value, layers);
  YamlMap map = value.map();
  const std::string name = map.required("file").text();
  map.finish();
  const std::filesystem::path beside = std::filesystem::path(base_folder) / name;
  return parse_table(YamlValue::from_file(std::filesystem::exists(beside) ? beside.string() : name),
                     layers);
}

}  // namespace transload
