#include "planner/strategy/unsupported.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace transload {

void RefusalList::add(std::string_view limit, std::string_view value, std::string_view tensor) {
  if (!has(limit)) limits_.push_back({std::string(limit), std::string(value), std::string(tensor)});
}

bool RefusalList::has(std::string_view limit) const {
  return std::any_of(limits_.begin(), limits_.end(),
                     [&](const Unsupported& entry) { return entry.limit == limit; });
}

std::string refusal_text(std::string_view strategy, const std::vector<Unsupported>& limits) {
  std::string text = fmt::format("{} cannot do this job: ", strategy);
  for (const Unsupported& entry : limits) {
    if (&entry != limits.data()) text += "; ";
    text += entry.limit;
    const std::string where = entry.tensor.empty() ? "" : "tensor " + entry.tensor;
    const char* colon = where.empty() || entry.value.empty() ? "" : ": ";
    if (!where.empty() || !entry.value.empty())
      text += fmt::format(" ({}{}{})", where, colon, entry.value);
  }
  return text;
}

UnsupportedError::UnsupportedError(std::string_view strategy, std::vector<Unsupported> limits)
    : InputError(refusal_text(strategy, limits)), limits_(std::move(limits)) {}

}  // namespace transload
