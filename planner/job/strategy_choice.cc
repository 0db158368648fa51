#include <algorithm>
#include <array>

#include "planner/job/sections.h"

namespace transload {
namespace {

// What a job may say about each strategy; planner/strategy/registry.cc has the strategies.
struct StrategySettings {
  std::string_view name;
  std::vector<std::string_view> modes;  // the first is the default; empty: it has one way only
  bool buckets = false;                 // takes bucket_bytes
};

const std::vector<StrategySettings>& all_settings() {
  // Initialisers one a line, so that a new strategy changes one.
  static const std::vector<StrategySettings> rows = {
      {.name = "transload", .modes = {}},
      {.name = "p2p", .modes = {"direct", "full-tensor"}, .buckets = true},
      {.name = "gather-broadcast", .modes = {}, .buckets = true},
      {.name = "megatron", .modes = {}},
      {.name = "awex", .modes = {}},
      {.name = "m2n",
       .modes = {"default", "parent-node-aware", "parent-uniform", "direct"},
       .buckets = true},
      {.name = "checkpoint-engine", .modes = {"broadcast", "p2p"}, .buckets = true},
      {.name = "alpa", .modes = {"broadcast", "send-recv"}},
      {.name = "nemo-hybrid", .modes = {}, .buckets = true},
  };
  return rows;
}

const StrategySettings& settings_of(const YamlValue& value, const std::string& name) {
  const auto& rows = all_settings();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const StrategySettings& row) { return row.name == name; });
  if (found != rows.end()) return *found;
  std::vector<std::string_view> names;
  std::string list;
  for (const StrategySettings& row : rows) {
    names.push_back(row.name);
    list += (list.empty() ? "" : ", ") + std::string(row.name);
  }
  const auto near = nearest_word(name, names);
  value.fail("unknown strategy " + name + "; expected one of " + list +
             (near ? " (did you mean " + *near + "?)" : ""));
}

std::string mode_of(const YamlValue& value, const StrategySettings& settings,
                    const std::string& mode) {
  if (settings.modes.empty())
    value.fail("strategy " + std::string(settings.name) + " has no modes, found " + mode);
  if (std::find(settings.modes.begin(), settings.modes.end(), mode) != settings.modes.end())
    return mode;
  std::string list;
  for (const std::string_view known : settings.modes)
    list += (list.empty() ? "" : ", ") + std::string(known);
  const auto near = nearest_word(mode, settings.modes);
  value.fail("unknown mode " + mode + " of " + std::string(settings.name) + "; expected one of " +
             list + (near ? " (did you mean " + *near + "?)" : ""));
}

// `name` or `name:mode`.
StrategyChoice parse_word(const YamlValue& value) {
  StrategyChoice choice;
  const std::string text = value.text();
  const std::size_t colon = text.find(':');
  choice.name = text.substr(0, colon);
  const StrategySettings& settings = settings_of(value, choice.name);
  if (colon != std::string::npos) choice.mode = mode_of(value, settings, text.substr(colon + 1));
  return choice;
}

}  // namespace

StrategyChoice parse_strategy(const YamlValue& value) {
  if (value.is_scalar()) return parse_word(value);
  StrategyChoice choice;
  YamlMap map = value.map();
  const auto entries = map.entries();
  if (entries.size() != 1) value.fail("expected one strategy, as `name` or `{name: settings}`");
  const auto& [name, settings] = entries.front();
  const StrategySettings& known = settings_of(value, name);
  choice.name = name;
  if (settings.is_null()) return choice;
  YamlMap keys = settings.map();
  if (known.buckets)
    if (const auto bytes = keys.optional("bucket_bytes")) {
      choice.bucket_bytes = bytes->bytes();
      if (*choice.bucket_bytes < 1) bytes->fail("expected at least 1 byte");
    }
  if (!known.modes.empty())
    if (const auto mode = keys.optional("mode")) choice.mode = mode_of(*mode, known, mode->text());
  keys.finish();
  return choice;
}

}  // namespace transload
