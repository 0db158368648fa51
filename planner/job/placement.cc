#include "planner/job/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace transload {
namespace {

std::vector<std::string> parameters_of(const std::string& text) {
  std::vector<std::string> parameters(1);
  for (const char c : text) {
    if (c == ',')
      parameters.emplace_back();
    else if (c != ' ')
      parameters.back().push_back(c);
  }
  return parameters;
}

std::int64_t number_of(const PlacementWord& word, const std::string& text, std::int64_t low) {
  std::int64_t number = -1;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || rest != text.data() + text.size() || number < low ||
      number > (std::int64_t{1} << 31))
    word.value.fail(
        fmt::format("expected a number of at least {} in {}, found {}", low, word.text, text));
  return number;
}

void parse_parameter(const PlacementWord& word, const std::string& parameter,
                     AxisPlacement& placement) {
  const std::size_t equals = parameter.find('=');
  const std::string key = parameter.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : parameter.substr(equals + 1);
  if (key == "split_factor") {
    placement.split_factor = number_of(word, value, 1);
  } else if (key == "reading") {
    if (value == "factor-first")
      placement.reading = StridedReading::kFactorFirst;
    else if (value == "unflatten")
      placement.reading = StridedReading::kUnflatten;
    else
      word.value.fail(fmt::format("reading is factor-first or unflatten, found {}", value));
  } else {
    word.value.fail(
        fmt::format("expected S(dimension, split_factor=k, reading=...), found {} in {}", parameter,
                    word.text));
  }
}

}  // namespace

std::vector<PlacementWord> placement_words(const YamlValue& list) {
  std::vector<PlacementWord> words;
  bool open = false;
  for (const YamlValue& item : list.list()) {
    const std::string text = item.text();
    if (open)
      words.back().text += ", " + text;
    else
      words.push_back({text, item});
    const std::string& all = words.back().text;
    open = std::count(all.begin(), all.end(), '(') > std::count(all.begin(), all.end(), ')');
  }
  return words;
}

AxisPlacement parse_placement(const PlacementWord& word, std::size_t dims) {
  const std::string& text = word.text;
  AxisPlacement placement;
  if (text == "R") return placement;
  if (text.starts_with("P(") || text == "P" || text.starts_with("Partial"))
    word.value.fail(fmt::format(
        "{} is a partial value: a weight is whole or sharded, and what is left of a reduction has "
        "to be reduced before it is moved",
        text));
  if (!text.starts_with("S(") || !text.ends_with(")"))
    word.value.fail(fmt::format("expected R or S(dimension), found {}", text));
  const std::vector<std::string> parameters = parameters_of(text.substr(2, text.size() - 3));
  const std::int64_t dim = number_of(word, parameters[0], 0);
  if (static_cast<std::size_t>(dim) >= dims)
    word.value.fail(fmt::format("the tensor has {} dimensions; S takes 0 to {}", dims,
                                static_cast<int>(dims) - 1));
  placement.dim = static_cast<int>(dim);
  for (std::size_t i = 1; i < parameters.size(); ++i)
    parse_parameter(word, parameters[i], placement);
  if (placement.reading != StridedReading::kUnstated && placement.split_factor == 1)
    word.value.fail(fmt::format("a reading belongs to a split_factor above 1, found {}", text));
  return placement;
}

}  // namespace transload
