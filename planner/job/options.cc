#include <algorithm>

#include "planner/job/sections.h"

namespace transload {
namespace {

bool is_word(const YamlValue& value, std::string_view word) {
  return value.is_scalar() && value.text() == word;
}
bool is_auto(const YamlValue& value) { return is_word(value, "auto"); }

// Options of the contract whose other values later versions bring: only these are planned here.
void accept_only(YamlMap& map, const char* key, const std::vector<std::string_view>& words) {
  if (const auto value = map.optional(key)) value->word_of(words);
}

HelperChoice parse_helpers(const YamlValue& value) {
  using Kind = HelperChoice::Kind;
  if (value.is_scalar()) {
    const std::string word = value.word_of({"job", "domain", "none"});
    return {word == "job" ? Kind::kJob : word == "domain" ? Kind::kDomain : Kind::kNobody, {}};
  }
  HelperChoice choice{Kind::kRanks, {}};
  for (const YamlValue& rank : value.list())
    choice.ranks.push_back(static_cast<Rank>(rank.integer_in(0, INT32_MAX)));
  std::sort(choice.ranks.begin(), choice.ranks.end());
  choice.ranks.erase(std::unique(choice.ranks.begin(), choice.ranks.end()), choice.ranks.end());
  return choice;
}

}  // namespace

PlanOptions parse_options(const YamlValue& value) {
  PlanOptions options;
  YamlMap map = value.map();
  if (const auto bytes = map.optional("staging_bytes"); bytes && !is_auto(*bytes)) {
    options.staging_bytes = bytes->bytes();
    if (*options.staging_bytes < 1) bytes->fail("expected at least 1 byte");
  }
  if (const auto bytes = map.optional("chunk_bytes"); bytes && !is_auto(*bytes)) {
    options.chunk_bytes = bytes->bytes();
    if (*options.chunk_bytes < 1) bytes->fail("expected at least 1 byte");
  }
  if (const auto word = map.optional("discipline"); word && !is_auto(*word)) {
    const std::string name = word->word_of({"windows", "groups", "unbounded", "auto"});
    options.discipline = name == "windows"  ? Discipline::kWindows
                         : name == "groups" ? Discipline::kGroups
                                            : Discipline::kUnbounded;
  }
  if (const auto window = map.optional("window"); window && !is_auto(*window))
    options.window = static_cast<std::uint32_t>(window->integer_in(1, 4096));
  if (const auto colours = map.optional("colours"); colours && !is_auto(*colours))
    options.colours = static_cast<std::uint32_t>(colours->integer_in(1, 512));
  if (const auto executor = map.optional("executor"))
    options.executor = executor->word_of({"auto", "nccl", "host"});
  accept_only(map, "convert", {"auto"});
  accept_only(map, "digest", {"first", "never"});
  if (const auto helpers = map.optional("helpers")) options.helpers = parse_helpers(*helpers);
  if (const auto peers = map.optional("max_peers"); peers && !is_word(*peers, "none"))
    options.max_peers = peers->integer_in(1, INT32_MAX);
  map.finish();
  return options;
}

}  // namespace transload
