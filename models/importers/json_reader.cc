#include "models/importers/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "common/error.h"

namespace transload::importing {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 50;

// Watches the parser for what it would accept silently.
class Watch {
 public:
  explicit Watch(const std::string& file) : file_(file) {}

  bool operator()(int depth, Json::parse_event_t event, Json& value) {
    if (depth > kMaxDepth)
      throw InputError({file_, 0, ""}, fmt::format("nested deeper than {} levels", kMaxDepth));
    switch (event) {
      case Json::parse_event_t::object_start:
        keys_.emplace_back();
        break;
      case Json::parse_event_t::object_end:
        keys_.pop_back();
        break;
      case Json::parse_event_t::key:
        if (!keys_.back().insert(value.get<std::string>()).second)
          throw InputError({file_, 0, value.get<std::string>()}, "the key stands twice in one map");
        break;
      default:
        break;
    }
    return true;
  }

 private:
  const std::string& file_;
  std::vector<std::set<std::string>> keys_;
};

const char* kind_of(const Json& value) {
  if (value.is_object()) return "a map";
  if (value.is_array()) return "a list";
  if (value.is_string()) return "text";
  if (value.is_boolean()) return "true or false";
  if (value.is_null()) return "nothing";
  return "a number";
}

std::string shown(const Json& value) {
  if (value.is_object() || value.is_array()) return kind_of(value);
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Json parse_json(const std::string& text, const std::string& file) {
  try {
    return Json::parse(text, Watch(file));
  } catch (const Json::parse_error& error) {
    const std::size_t end = std::min(error.byte, text.size());
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    const bool cut = error.byte >= text.size();
    throw InputError({file, static_cast<int>(line), ""},
                     cut ? "not valid JSON: the text ends too early; is the file cut?"
                         : fmt::format("not valid JSON at byte {}", error.byte));
  } catch (const Json::exception& error) {
    throw InputError({file, 0, ""}, fmt::format("not valid JSON: {}", error.what()));
  }
}

void JsonPlace::fail(const std::string& problem) const {
  throw InputError({*file_, 0, field_}, problem);
}

void JsonPlace::require_object() const {
  if (!value_->is_object()) fail(fmt::format("expected a map, found {}", kind_of(*value_)));
}

JsonPlace JsonPlace::at(const std::string& key) const {
  require_object();
  const auto found = value_->find(key);
  if (found == value_->end()) fail(fmt::format("the key {} is missing", key));
  return {*found, *file_, field_.empty() ? key : field_ + "." + key};
}

std::vector<JsonPlace> JsonPlace::list() const {
  if (!value_->is_array()) fail(fmt::format("expected a list, found {}", kind_of(*value_)));
  std::vector<JsonPlace> items;
  items.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i)
    items.emplace_back((*value_)[i], *file_, fmt::format("{}[{}]", field_, i));
  return items;
}

std::string JsonPlace::text() const {
  if (!value_->is_string()) fail(fmt::format("expected text, found {}", shown(*value_)));
  return value_->get<std::string>();
}

std::int64_t JsonPlace::integer_in(std::int64_t low, std::int64_t high) const {
  // Numbers past 63 bits are unsigned or floating in the parser; both are out of any range here.
  const bool whole = value_->is_number_integer() &&
                     !(value_->is_number_unsigned() &&
                       value_->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX));
  if (!whole || value_->get<std::int64_t>() < low || value_->get<std::int64_t>() > high)
    fail(fmt::format("expected a whole number from {} to {}, found {}", low, high, shown(*value_)));
  return value_->get<std::int64_t>();
}

DType JsonPlace::dtype() const {
  std::string word = text();
  if (word.starts_with("torch.")) word.erase(0, 6);
  if (const auto dtype = parse_dtype(word)) return *dtype;
  fail(
      fmt::format("unknown dtype {}; known are those of safetensors and torch, such as BF16, "
                  "F8_E4M3, bfloat16",
                  word));
}

std::vector<std::int64_t> JsonPlace::shape() const {
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
  for (const JsonPlace& item : list()) {
    const std::int64_t extent = item.integer_in(0, kMaxExtent);
    if (extent > 0 && elements > kMaxExtent / extent) fail("expected at most 2^50 elements");
    elements *= extent;
    shape.push_back(extent);
  }
  if (shape.size() > 255) fail("expected at most 255 dimensions");
  return shape;
}

}  // namespace transload::importing
