// Texts of small node files for the importer tests, and a catcher of refusals.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "common/error.h"
#include "topologies/import/findings.h"

namespace transload {

// What `read` says when it refuses; "accepted" if it does not.
inline std::string import_refusal(const std::function<void()>& read) {
  try {
    read();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

inline std::vector<std::int32_t> all_nics(const ImportedNode& node) {
  std::vector<std::int32_t> nics(node.nics.size());
  std::iota(nics.begin(), nics.end(), 0);
  return nics;
}

// A node for `nvidia-smi topo -m`: GPUs split over two NUMA nodes in halves, NICs wherever
// `numa_of_nic` says, PIX where `near` lists a NIC for a GPU, NODE within a NUMA node, SYS across.
struct TopoText {
  std::vector<std::vector<int>> near;  // [gpu] NICs below the same switch
  std::vector<int> numa_of_nic;
  int nvlinks = 18;
  std::vector<int> island_of_gpu = {};  // empty: one island
  std::string separator = "\t";
  bool legend = true;

  int numa_of_gpu(int gpu) const { return gpu < static_cast<int>(near.size()) / 2 ? 0 : 1; }

  bool is_near(int gpu, int nic) const {
    for (const int one : near[static_cast<std::size_t>(gpu)])
      if (one == nic) return true;
    return false;
  }

  std::string gpu_gpu(int a, int b) const {
    if (a == b) return "X";
    const auto island = [&](int gpu) {
      return island_of_gpu.empty() ? 0 : island_of_gpu[static_cast<std::size_t>(gpu)];
    };
    if (island(a) == island(b)) return fmt::format("NV{}", nvlinks);
    return numa_of_gpu(a) == numa_of_gpu(b) ? "NODE" : "SYS";
  }

  std::string gpu_nic(int gpu, int nic) const {
    if (is_near(gpu, nic)) return "PIX";
    return numa_of_gpu(gpu) == numa_of_nic[static_cast<std::size_t>(nic)] ? "NODE" : "SYS";
  }

  std::string nic_nic(int a, int b) const {
    if (a == b) return "X";
    for (int gpu = 0; gpu < static_cast<int>(near.size()); ++gpu)
      if (is_near(gpu, a) && is_near(gpu, b)) return "PIX";
    const bool same =
        numa_of_nic[static_cast<std::size_t>(a)] == numa_of_nic[static_cast<std::size_t>(b)];
    return same ? "NODE" : "SYS";
  }

  std::string text() const {
    const int gpus = static_cast<int>(near.size());
    const int nics = static_cast<int>(numa_of_nic.size());
    std::string table;
    for (int gpu = 0; gpu < gpus; ++gpu) table += separator + fmt::format("GPU{}", gpu);
    for (int nic = 0; nic < nics; ++nic) table += separator + fmt::format("NIC{}", nic);
    table += separator + "CPU Affinity" + separator + "NUMA Affinity" + separator + "GPU NUMA ID\n";
    for (int gpu = 0; gpu < gpus; ++gpu) {
      table += fmt::format("GPU{}", gpu);
      for (int peer = 0; peer < gpus; ++peer) table += separator + gpu_gpu(gpu, peer);
      for (int nic = 0; nic < nics; ++nic) table += separator + gpu_nic(gpu, nic);
      table +=
          separator + "0-7" + separator + std::to_string(numa_of_gpu(gpu)) + separator + "N/A\n";
    }
    for (int nic = 0; nic < nics; ++nic) {
      table += fmt::format("NIC{}", nic);
      for (int gpu = 0; gpu < gpus; ++gpu) table += separator + gpu_nic(gpu, nic);
      for (int peer = 0; peer < nics; ++peer) table += separator + nic_nic(nic, peer);
      table += "\n";
    }
    table += "\nLegend:\n\n  X    = Self\n  SYS  = Connection across NUMA nodes\n";
    if (legend) {
      table += "\nNIC Legend:\n\n";
      for (int nic = 0; nic < nics; ++nic) table += fmt::format("  NIC{}: mlx5_{}\n", nic, nic);
    }
    return table;
  }
};

// One PCI device of an hwloc export, below a downstream port of its own.
inline std::string hwloc_device(const std::string& bus, const std::string& type,
                                const std::string& gbytes_per_s, const std::string& inside) {
  return fmt::format(
      "<object type=\"Bridge\" bridge_type=\"1-1\" pci_busid=\"0000:ff:00.0\" "
      "pci_type=\"0604 [1d0f:0200] [1d0f:0200] 00\">\n"
      "<object type=\"PCIDev\" pci_busid=\"{}\" pci_type=\"{}\" pci_link_speed=\"{}\">{}</object>\n"
      "</object>\n",
      bus, type, gbytes_per_s, inside);
}

inline std::string os_device(const std::string& name, int kind) {
  return fmt::format("<object type=\"OSDev\" name=\"{}\" osdev_type=\"{}\"/>", name, kind);
}

// A switch: root port, upstream port, and devices below it.
inline std::string hwloc_switch(const std::string& devices) {
  return "<object type=\"Bridge\" bridge_type=\"0-1\">\n<object type=\"Bridge\" "
         "bridge_type=\"1-1\">\n"
         "<object type=\"Bridge\" bridge_type=\"1-1\">\n" +
         devices + "</object></object></object>\n";
}

inline std::string hwloc_package(int numa, const std::string& inside) {
  return fmt::format(
      "<object type=\"Package\" nodeset=\"0x{:08x}\">\n<object type=\"NUMANode\" os_index=\"{}\" "
      "nodeset=\"0x{:08x}\" local_memory=\"1000000\"/>\n{}</object>\n",
      1 << numa, numa, 1 << numa, inside);
}

inline std::string hwloc_machine(const std::string& packages) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
         "<topology version=\"2.0\">\n<object type=\"Machine\" nodeset=\"0x00000003\">\n" +
         packages + "</object>\n</topology>\n";
}

}  // namespace transload
