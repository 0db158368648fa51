#include "models/importers/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace transload::importing {
namespace {

// "-1" and "-0.5" are values, "-tp" and "--x" are flags.
bool is_flag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && word != "--" &&
         (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])) != 0);
}

}  // namespace

FlagSet::FlagSet(const std::vector<Word>& words, std::string file) : file_(std::move(file)) {
  for (const Word& word : words) {
    if (!is_flag(word.text)) {
      if (flags_.empty())
        positional_.push_back(word);
      else
        flags_.back().values.push_back(word.text);
      continue;
    }
    Flag& flag = flags_.emplace_back();
    const std::size_t equals = word.text.find('=');
    flag.name = word.text.substr(0, equals);
    std::replace(flag.name.begin(), flag.name.end(), '_', '-');
    flag.line = word.line;
    if (equals != std::string::npos) flag.values.push_back(word.text.substr(equals + 1));
  }
}

bool FlagSet::has(const std::vector<std::string_view>& names) {
  bool found = false;
  for (const std::string_view name : names) {
    asked_.emplace(name);
    for (const Flag& flag : flags_) found = found || flag.name == name;
  }
  return found;
}

std::optional<std::string> FlagSet::value(const std::vector<std::string_view>& names) {
  const Flag* found = nullptr;
  for (const std::string_view name : names) asked_.emplace(name);
  for (const Flag& flag : flags_) {
    if (std::find(names.begin(), names.end(), flag.name) == names.end()) continue;
    if (flag.values.empty()) fail(flag.name, "expected a value behind the flag");
    if (found != nullptr && found->values[0] != flag.values[0])
      fail(flag.name, fmt::format("stands twice, as {} (line {}) and as {}", found->values[0],
                                  found->line, flag.values[0]));
    found = &flag;
  }
  if (found == nullptr) return std::nullopt;
  return found->values[0];
}

std::optional<std::int64_t> FlagSet::integer(const std::vector<std::string_view>& names,
                                             std::int64_t low, std::int64_t high) {
  const std::optional<std::string> text = value(names);
  if (!text) return std::nullopt;
  std::string_view name = names[0];
  for (const std::string_view other : names)
    for (const Flag& flag : flags_)
      if (flag.name == other) name = other;
  if (text->find('$') != std::string::npos)
    fail(name, fmt::format("{} is not set in this file; write the number in its place", *text));
  std::int64_t number = 0;
  const char* end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc{} || rest != end || number < low || number > high)
    fail(name, fmt::format("expected a whole number from {} to {}, found {}", low, high,
                           text->empty() ? "nothing" : *text));
  return number;
}

std::vector<std::string> FlagSet::rest() const {
  std::vector<std::string> names;
  for (const Flag& flag : flags_)
    if (!asked_.contains(flag.name) &&
        std::find(names.begin(), names.end(), flag.name) == names.end())
      names.push_back(flag.name);
  return names;
}

int FlagSet::line_of(std::string_view name) const {
  for (const Flag& flag : flags_)
    if (flag.name == name) return flag.line;
  return 0;
}

void FlagSet::fail(std::string_view name, const std::string& problem) const {
  throw InputError({file_, line_of(name), std::string(name)}, problem);
}

}  // namespace transload::importing
