#include "common/error.h"

#include <fmt/format.h>

namespace transload {
namespace {

std::string describe(const InputPlace& place, const std::string& problem) {
  std::string text;
  if (!place.file.empty()) text += place.file + ":";
  if (place.line > 0) text += fmt::format("{}:", place.line);
  if (!text.empty()) text += " ";
  if (!place.field.empty()) text += place.field + ": ";
  return text + problem;
}

}  // namespace

InputError::InputError(const InputPlace& place, const std::string& problem)
    : std::runtime_error(describe(place, problem)), place_(place), problem_(problem) {}

}  // namespace transload
