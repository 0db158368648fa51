#include "models/engines/fused.h"

#include <algorithm>
#include <cctype>

#include "common/check.h"

namespace transload {
namespace {

std::string_view without_last(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : name.substr(0, dot);
}

std::string_view last_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Without "/q" of a logical tensor and without ".weight" or ".bias".
std::string_view module_path(std::string_view name) {
  name = name.substr(0, name.find('/'));
  const std::string_view leaf = last_of(name);
  return leaf == "weight" || leaf == "bias" ? without_last(name) : name;
}

}  // namespace

PartPlace place_part(std::span<const LocalPart> parts, std::size_t index, std::int64_t units,
                     std::int64_t* total_rows) {
  PartPlace place;
  std::int64_t total = 0;
  for (std::size_t first = 0; first < parts.size();) {
    std::size_t end = first;
    std::int64_t rows = 0;
    for (; end < parts.size() && parts[end].section == parts[first].section; ++end)
      rows += parts[end].rows;
    if (index >= first && index < end) {
      place.units = end - first > 1 ? units : 1;
      TRANSLOAD_CHECK(rows % place.units == 0 && parts[index].rows % place.units == 0,
                      "alternating parts hold whole units");
      place.block_rows = rows / place.units;
      place.unit_rows = parts[index].rows / place.units;
      place.offset_rows = total;
      for (std::size_t before = first; before < index; ++before)
        place.offset_rows += parts[before].rows / place.units;
    }
    total += rows;
    first = end;
  }
  *total_rows = total;
  return place;
}

MemoryView fused_view(const PartPlace& place, std::span<const std::int64_t> local_shape,
                      std::int64_t element_bytes) {
  MemoryView view;
  std::int64_t row = 1;
  for (std::size_t dim = 1; dim < local_shape.size(); ++dim) row *= local_shape[dim];
  view.offset_bytes = place.offset_rows * row * element_bytes;
  if (place.dense()) return view;
  // Dimension 0 is seen as [units, rows of a unit].
  view.factors[0] = {0, place.unit_rows};
  view.strides = {place.block_rows * row, row};
  for (std::size_t dim = 1; dim < local_shape.size(); ++dim) {
    row /= local_shape[dim] > 0 ? local_shape[dim] : 1;
    view.strides.push_back(row);
  }
  return view;
}

std::string_view module_parent(std::string_view published_name) {
  std::string_view parent = without_last(module_path(published_name));
  if (is_number(last_of(parent))) {
    // An expert's number, not a layer's: "….experts.7" but "model.layers.7".
    const std::string_view above = without_last(parent);
    if (last_of(above) == "experts") parent = above;
  }
  const std::size_t length = parent.size();
  return length == 0 ? std::string_view{} : published_name.substr(0, length + 1);
}

std::string_view module_name(std::string_view published_name) {
  return last_of(module_path(published_name));
}

}  // namespace transload
