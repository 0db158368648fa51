// What an imported file says about a cluster, as plain data, before it becomes a topology file.
//
// Files that describe clusters know a part each: NCCL and hwloc XML and `nvidia-smi topo -m` know
// one node; ibnetdiscover, Slurm and topograph know the fabric; benchmark logs know what links
// reach. Readers fill these structures and nothing else; topologies/import/write.h joins them and
// writes the explicit form. What a file cannot say is a question in `asked`, never a guess.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace transload {

inline constexpr std::int32_t kUnknown = -1;

// How far a NIC is from a GPU, nearest first: the classes of `nvidia-smi topo`.
enum class PcieDistance : std::uint8_t {
  kSameBridge,  // PIX: at most one PCIe bridge
  kSameSwitch,  // PXB: several bridges, no host bridge
  kHostBridge,  // PHB: through the host bridge
  kSameNuma,    // NODE: through host bridges of one NUMA node
  kOtherNuma,   // SYS: across the interconnect of NUMA nodes
};

struct ImportedGpu {
  std::string name;   // "GPU0"; the order is the order of CUDA devices
  std::string bus;    // PCI address, lower case; empty: not stated
  std::string model;  // name in topologies/gpus.yaml; empty: not stated
  std::int32_t numa = kUnknown;
  std::int32_t pcie_switch = kUnknown;    // index, shared with NICs
  std::int32_t nvlink_island = kUnknown;  // GPUs with one number reach each other over NVLink
  std::int32_t nvlink_links = 0;          // per GPU; 0: none or not stated
  std::int64_t pcie_rate = 0;             // bytes/s of its slot; 0: not stated
};

struct ImportedNic {
  std::string name;  // "mlx5_0"
  std::string bus;
  std::int32_t numa = kUnknown;
  std::int32_t pcie_switch = kUnknown;
  std::int64_t rate = 0;  // bytes/s in one direction; 0: not stated
};

struct ImportedNode {
  std::vector<ImportedGpu> gpus;
  std::vector<ImportedNic> nics;
  std::vector<std::vector<PcieDistance>> distance;  // [gpu][nic]
  std::int64_t host_memory_bytes = 0;               // 0: not stated
  std::int32_t pcie_switches = 0;                   // how many `pcie_switch` indices there are
};

struct ImportedSwitch {
  std::string name;
  std::int32_t tier = 1;  // 1: hosts hang at it
  std::vector<std::int32_t> parents;
  std::vector<std::int64_t> parent_rates;  // bytes/s to each parent in one direction; 0: not stated
};

struct ImportedPort {
  std::string nic;               // name of the host's card; empty: not stated
  std::int32_t leaf = kUnknown;  // index into switches
  std::int64_t rate = 0;         // 0: not stated
};

struct ImportedHost {
  std::string name;
  std::string nvlink_domain;        // empty: not stated; two hosts of one name share a domain
  std::vector<ImportedPort> ports;  // one for all cards where the file names no cards
};

struct ImportedFabric {
  std::vector<ImportedSwitch> switches;
  std::vector<ImportedHost> hosts;
};

// A figure that a benchmark measured: what one GPU or NIC reaches in one direction.
struct ImportedMeasurement {
  std::string link;             // "nvlink", "nic", "copy", "host"
  std::int64_t rate = 0;        // bytes/s; 0: none
  std::int64_t latency_ps = 0;  // 0: none
  std::string what;             // the row it is from, for `source:`
};

// A figure that a benchmark added up over all GPUs of a machine, or over all ordered pairs of them;
// rates_of_sums (nvbandwidth.h) makes measurements of them once the number of GPUs is known.
struct ImportedSum {
  std::string link;  // as above
  std::int64_t rate = 0;
  bool over_pairs = false;
  std::string what;
};

struct ImportFindings {
  std::string kind;  // "nccl-xml", "hwloc-xml", "nvidia-smi-topo", "slurm-tree", ...
  std::optional<ImportedNode> node;
  std::optional<ImportedFabric> fabric;
  std::vector<ImportedMeasurement> measurements;
  std::vector<ImportedSum> sums;     // where the file does not say of how many GPUs
  std::vector<std::string> ignored;  // what was read and left out, one sentence each
  std::vector<std::string> asked;    // what has to be stated by the user, one sentence each
  std::vector<std::string> warnings;
};

}  // namespace transload
