// From the `topology:` value of a job to a Topology: a library name with parameters, a file, or
// inline.
#pragma once

#include <string>
#include <vector>

#include "common/yaml.h"
#include "topologies/topology.h"

namespace transload {

// Accepts, as in the contract's section 2:
//   {name: dgx-h100, nodes: 64}             a library entry with its parameters
//   path/to/file.yaml                       a file in the explicit form, or a library entry's own
//   {name: path/to/file.yaml, nodes: 8}     the latter with its parameters
//   {nodes: [{count, gpus, ...}], ...}      the explicit form, inline
//   [{...}, {...}, {links: [...]}]          several, joined: renumbered in order; links between
//                                           sites may stand in an entry of their own
// Relative paths are tried from `base_folder` (the job's own folder), then as they stand.
//
// Every form but a bare path takes `rate_scale` (multiplies all line rates), every named one `site`
// (of all its nodes that state none), and, over the library's own,
//   efficiency: 0.9    of every kind of link, or {nic: 0.95, nvlink: 0.82, copy: 0.86}
//   latency: 0         every latency and occupancy, or {nic: {latency, occupancy}, ...}
// Any constant may be written {value: 50GB/s, source: "where it is from"}.
//
// Throws InputError for unknown names and keys, rates that are not positive or come to less than 1
// B/s, counts below 1, more than 2^20 GPUs or NICs in all, and two nodes of one name.
Topology load_topology(const YamlValue& value, const std::string& base_folder);

// Names of the library's entries, sorted.
std::vector<std::string> topology_library();

// Folder of the library's YAML files: $TRANSLOAD_HOME/topologies, or where the program was built.
std::string topology_library_folder();

}  // namespace transload
