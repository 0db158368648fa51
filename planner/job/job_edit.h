// Changes of a job's text, key by key: what `replan` writes and what the what-ifs of `explain` are.
//
// An edit is a place in the job and the YAML that goes there, so whoever prints its edits prints
// how to make the same job by hand. Text in, text out; nothing is planned here.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/yaml.h"

namespace transload {

// `key` is a dotted path with list indices: "destination[1].parallel.tp". `value` is YAML text
// ("16", "[0-31]", "{name: dgx-h100, nodes: 65}"); empty: the key goes away. Maps on the way that
// are missing are made.
struct JobEdit {
  std::string key;
  std::string value;
  friend bool operator==(const JobEdit&, const JobEdit&) = default;
};

// The job after all edits, in their order. Comments and the way of writing are lost, keys keep
// their order. InputError where the text is no YAML map, or a path steps into a scalar or past a
// list.
std::string edited_job(const std::string& text, std::span<const JobEdit> edits);

// The value at a path, or nothing. `name` stands for the file in messages about it.
std::optional<YamlValue> value_at(const std::string& text, const std::string& key,
                                  const std::string& name);

// Numbers as jobs write lists of them: "[0-3, 8]".
std::string index_text(std::span<const std::int32_t> numbers);

}  // namespace transload
