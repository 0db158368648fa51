// The library of known systems: YAML files whose `parameters:` a job fills in.
//
// An entry is a file in the explicit form with `$NAME` where a parameter goes. Adding a system
// means adding its file; no code knows any of them. Files without `parameters:` (the GPU catalogue,
// the defaults) lie in the same folder and are no entries.
#pragma once

#include <optional>
#include <string>

#include "common/yaml.h"
#include "topologies/loader.h"
#include "topologies/topology.h"

namespace transload {

// Whether a file's content is a library entry.
bool is_library_entry(const YamlValue& file);

// The entry in `file`, filled in with the keys of `request`. `request` is a map that may hold
// `name`, or a plain word where a job gives no parameters at all.
Topology instantiate(const YamlValue& file, const std::string& name, const YamlValue& request);

// Path of the library's entry of that name, or nothing.
std::optional<std::string> find_library_file(const std::string& name);

// Path of the entry that `name` stands for. Throws InputError at `name` where the library has none.
std::string library_file(const YamlValue& name);

}  // namespace transload
