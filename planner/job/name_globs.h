// Name patterns of a job: `include`, `exclude`, `allow_unplaced`. `*` stands for any characters,
// dots included, `?` for one. Internal to planner/job.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/yaml.h"

namespace transload {

bool glob_matches(std::string_view pattern, std::string_view name);

// Patterns of one key. A pattern that no tensor has is a slip, so `require_all_used` refuses it.
class NameGlobs {
 public:
  // `value`: a pattern or a list of patterns.
  static NameGlobs parse(const YamlValue& value);

  bool empty() const { return patterns_.empty(); }
  // Whether a pattern matches the tensor's name or that of the published tensor which stores it.
  bool match(std::string_view name);
  void require_all_used() const;

 private:
  std::vector<YamlValue> values_;
  std::vector<std::string> patterns_;
  std::vector<bool> used_;
};

}  // namespace transload
