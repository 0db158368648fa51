#include "planner/job/name_globs.h"

namespace transload {

bool glob_matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  // Where to go on after a star that took one character more.
  std::size_t star = std::string_view::npos;
  std::size_t taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n]) && pattern[p] != '*') {
      ++p;
      ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

NameGlobs NameGlobs::parse(const YamlValue& value) {
  NameGlobs globs;
  globs.values_ = value.is_list() ? value.list() : std::vector<YamlValue>{value};
  for (const YamlValue& item : globs.values_) {
    globs.patterns_.push_back(item.text());
    if (globs.patterns_.back().empty()) item.fail("expected a pattern of names");
  }
  globs.used_.assign(globs.patterns_.size(), false);
  return globs;
}

bool NameGlobs::match(std::string_view name) {
  const std::string_view published = name.substr(0, name.find('/'));
  bool any = false;
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    if (!glob_matches(patterns_[i], name) &&
        (published.size() == name.size() || !glob_matches(patterns_[i], published)))
      continue;
    used_[i] = true;
    any = true;
  }
  return any;
}

void NameGlobs::require_all_used() const {
  for (std::size_t i = 0; i < patterns_.size(); ++i)
    if (!used_[i]) values_[i].fail("no tensor of the job's model has such a name");
}

}  // namespace transload
