// One reader per kind of file. Each takes the text and the file's name for messages, throws
// InputError (file, line, what was expected) where the text is broken, and returns what it says.
#pragma once

#include <string>

#include "topologies/import/findings.h"

namespace transload {

// Files about one node.
ImportFindings read_nccl_xml(const std::string& text, const std::string& file);
ImportFindings read_hwloc_xml(const std::string& text, const std::string& file);
ImportFindings read_nvidia_smi_topo(const std::string& text, const std::string& file);

// Files about a fabric.
ImportFindings read_slurm_topology(const std::string& text, const std::string& file);
ImportFindings read_ibnetdiscover(const std::string& text, const std::string& file);
ImportFindings read_topograph(const std::string& text, const std::string& file);

// Files about what was measured.
ImportFindings read_nccl_tests(const std::string& text, const std::string& file);
ImportFindings read_nvbandwidth(const std::string& text, const std::string& file);
ImportFindings read_ib_write_lat(const std::string& text, const std::string& file);

// The kind of a file by its content, and its reader. InputError that lists the kinds where none
// fits.
ImportFindings read_topology_file(const std::string& path);

}  // namespace transload
