// Reading YAML (and so JSON) strictly: every value is typed, every unknown key is an error that
// suggests the nearest known one, and every error names file, line and dotted field.
//
// `YamlValue` wraps one node together with its path. Maps are read through `YamlMap`, which
// remembers the keys that were asked for; `finish()` then refuses the rest.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/dtype.h"
#include "common/error.h"

namespace transload {

class YamlMap;

class YamlValue {
 public:
  YamlValue(const YAML::Node& node, std::shared_ptr<const std::string> file, std::string field);

  // Reads a file, or throws InputError (missing file, bad syntax, more than one document).
  static YamlValue from_file(const std::string& path);
  // Reads text; `name` stands for the file in messages.
  static YamlValue from_text(const std::string& text, const std::string& name);

  bool is_map() const { return node_.IsMap(); }
  bool is_list() const { return node_.IsSequence(); }
  bool is_scalar() const { return node_.IsScalar(); }
  bool is_null() const { return node_.IsNull(); }

  // Typed views; each throws InputError naming what was expected.
  YamlMap map() const;
  std::vector<YamlValue> list() const;
  std::string text() const;
  std::int64_t integer() const;
  std::int64_t integer_in(std::int64_t low, std::int64_t high) const;  // inclusive
  double number() const;
  bool boolean() const;
  std::int64_t bytes() const;        // "1GiB"
  std::int64_t rate() const;         // "50GB/s", bytes/s
  std::int64_t duration_ps() const;  // "5us"
  DType dtype() const;
  // One of the given words; the error lists them and suggests the nearest.
  std::string word_of(const std::vector<std::string_view>& words) const;
  // Rank or node lists: `3`, `0-7`, `[0, 3, 5-7]`. No duplicates, none above `max`.
  std::vector<std::int32_t> index_list(std::int64_t max) const;

  [[noreturn]] void fail(const std::string& problem) const;
  InputPlace place() const;
  const std::string& field() const { return field_; }
  const YAML::Node& node() const { return node_; }

 private:
  YAML::Node node_;
  std::shared_ptr<const std::string> file_;
  std::string field_;
};

class YamlMap {
 public:
  explicit YamlMap(const YamlValue& value);

  // The value of a key, or an InputError that says it is required.
  YamlValue required(const std::string& key);
  std::optional<YamlValue> optional(const std::string& key);
  bool has(const std::string& key) const;
  // Every key in the file's order (for maps whose keys are data); marks them all as read.
  std::vector<std::pair<std::string, YamlValue>> entries();
  // Throws InputError for the first key that nobody asked for.
  void finish() const;
  // Those keys, in the file's order, for readers that report them instead.
  std::vector<std::string> unread() const;
  [[noreturn]] void fail(const std::string& problem) const { value_.fail(problem); }
  const YamlValue& value() const { return value_; }

 private:
  YamlValue child(const std::string& key, const YAML::Node& node) const;

  YamlValue value_;
  std::set<std::string> known_;
};

// The word of `words` with the least edit distance to `word`, if it is near enough to be meant.
std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string_view>& words);

}  // namespace transload
