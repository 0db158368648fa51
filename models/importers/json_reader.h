// Strict reading of large JSON: syntax errors with the line, duplicate keys refused, and typed
// access whose errors name file and field. Small files that people edit go through common/yaml.h.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/dtype.h"

namespace transload::importing {

// Keys keep the file's order, so that lists made from them do too.
using Json = nlohmann::ordered_json;

// Parses `text`; `file` stands in messages.
Json parse_json(const std::string& text, const std::string& file);

// A value of a JSON file together with where it stands. Copies are cheap; the document must outlive
// it.
class JsonPlace {
 public:
  JsonPlace(const Json& value, const std::string& file, std::string field)
      : value_(&value), file_(&file), field_(std::move(field)) {}

  const Json& value() const { return *value_; }
  bool has(const char* key) const { return value_->is_object() && value_->contains(key); }
  // The member of an object; InputError where it is missing or this is no object.
  JsonPlace at(const std::string& key) const;
  void require_object() const;
  std::vector<JsonPlace> list() const;
  std::string text() const;
  std::int64_t integer_in(std::int64_t low, std::int64_t high) const;
  DType dtype() const;
  // A list of extents, each 0..2^50, whose product is below 2^50.
  std::vector<std::int64_t> shape() const;
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  const Json* value_;
  const std::string* file_;
  std::string field_;
};

}  // namespace transload::importing
