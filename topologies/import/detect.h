// What kind of file about a cluster a text is, by its content; its name does not matter.
#pragma once

#include <cstdint>
#include <string>

namespace transload {

enum class TopologyFileKind : std::uint8_t {
  kNcclXml,
  kHwlocXml,
  kNvidiaSmiTopo,
  kSlurmTopology,
  kIbnetdiscover,
  kTopograph,
  kNcclTests,
  kNvbandwidth,
  kIbWriteLat,
};

// Throws InputError that lists the kinds where none fits, and one that names both where two do.
TopologyFileKind detect_topology_file(const std::string& text, const std::string& file);

// The text of a file, without UTF-8's byte order mark. Throws InputError for what is no plain file
// or too large to be a file about a cluster.
std::string read_topology_text(const std::string& path);

}  // namespace transload
