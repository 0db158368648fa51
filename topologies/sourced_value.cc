#include "topologies/sourced_value.h"

#include <fmt/format.h>

#include <vector>

namespace transload {

SourcedValue resolve(const YamlValue& written, const Parameters& parameters) {
  if (written.is_scalar()) {
    const std::string text = written.text();
    if (!text.starts_with('$')) return {written, kStatedByUser};
    const auto found = parameters.find(text.substr(1));
    if (found != parameters.end()) return found->second;
    std::vector<std::string_view> names;
    for (const auto& [name, value] : parameters) names.push_back(name);
    const auto near = nearest_word(text.substr(1), names);
    written.fail(fmt::format("no parameter {}{}", text,
                             near ? fmt::format(" (did you mean ${}?)", *near) : ""));
  }
  if (!written.is_map()) return {written, kStatedByUser};
  YamlMap map = written.map();
  const auto source = map.optional("source");
  map.optional("value");
  map.finish();
  return {map.required("value"), source ? source->text() : kStatedByUser};
}

std::optional<SourcedValue> resolve_optional(const std::optional<YamlValue>& written,
                                             const Parameters& parameters) {
  if (!written) return std::nullopt;
  SourcedValue value = resolve(*written, parameters);
  // A null that stands there itself is a mistake, and its reader says which.
  if (value.value.is_null() && written->is_scalar()) return std::nullopt;
  return value;
}

}  // namespace transload
