// The table that `nvidia-smi topo -m` prints, as text cells: one row and one column for each GPU
// and NIC, NUMA nodes behind them, and the legend of NIC names.
//
// Cells are separated by tabs, or by spaces where the table went through a terminal or an issue
// tracker; terminal colours may be left in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace transload {

struct TopoMatrix {
  std::vector<std::string> devices;             // column heads, GPUs and NICs mixed
  std::vector<std::vector<std::string>> cells;  // [row device][column device]
  std::vector<int> lines;                       // of each row
  std::vector<std::string> numa;                // column "NUMA Affinity"; empty: not stated
  std::vector<std::string> nic_names;           // from the legend, by device; empty: none
};

// Throws InputError (file, line, what was expected) for a table without header, with rows missing,
// repeated, unknown or of the wrong length, and for a legend that names no column.
TopoMatrix read_topo_matrix(const std::string& text, const std::string& file);

// "GPU3" and nothing else.
bool is_gpu_name(const std::string& device);

}  // namespace transload
