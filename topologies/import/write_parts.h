// Pieces of the topology file that an import writes: the cards of a node, and what was measured.
// Internal to topologies/import.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <string>
#include <vector>

#include "topologies/import/findings.h"

namespace transload {

// A rate as every reader takes it, without loss: "50000000000B/s".
std::string rate_text(std::int64_t rate);

// Keys `nvlink_islands`, `numa` and `host_memory` of a node.
void write_plain_node(YAML::Emitter& out, const ImportedNode& node, bool with_islands);

// The same, and `nics` and `pcie` with the NICs that some GPU uses.
void write_hardware(YAML::Emitter& out, const ImportedNode& node,
                    const std::vector<std::vector<std::int32_t>>& nics_of_gpu, bool with_islands);

// The cards of a node that no file describes: `ports` in order, `nics_per_gpu` to each GPU, or just
// their number where the fabric names none. `nic_rate` stands in where a port states none.
void write_cards(YAML::Emitter& out, const std::vector<ImportedPort>& ports,
                 std::int64_t nics_per_gpu, std::int64_t nic_rate);

// What one GPU could do at most, bytes/s; 0: not known.
struct LineRates {
  std::int64_t nvlink = 0;
  std::int64_t nics = 0;
};

// `efficiency` and `latency` from measurements, the first of each link. What cannot be used is told
// in `left_out`.
void write_measurements(YAML::Emitter& out, const std::vector<ImportedMeasurement>& measurements,
                        const LineRates& line, std::vector<std::string>& left_out);

}  // namespace transload
