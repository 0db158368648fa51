// Values of a topology file together with where their figures come from.
//
// In the library every constant names its source: `nic: {value: 50GB/s, source: "..."}`. A plain
// `nic: 50GB/s` is the same figure without one. `$nic` stands for a parameter of a library entry;
// the job's own value then takes its place, so that errors point at the job and not at the library.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "common/yaml.h"

namespace transload {

inline constexpr const char* kStatedByUser = "stated by the user";

struct SourcedValue {
  YamlValue value;
  std::string source;
};

// Parameters of the library entry that is being read; empty for explicit topologies.
using Parameters = std::map<std::string, SourcedValue>;

// The value behind `written`, or nothing where it is absent or stands for a parameter of an entry
// whose default is null: a key that the entry leaves open. Errors as `resolve`.
std::optional<SourcedValue> resolve_optional(const std::optional<YamlValue>& written,
                                             const Parameters& parameters);

// The value behind `$name` and `{value, source}`. Throws InputError for a parameter that does not
// exist.
SourcedValue resolve(const YamlValue& written, const Parameters& parameters = {});

}  // namespace transload
