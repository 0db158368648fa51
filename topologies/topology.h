// A cluster as plain data: nodes, GPUs, NVLink domains, NICs, the switches between them, and what
// each link can do.
//
// GPUs are numbered through the cluster, node by node; that number is the *device*, and a job's
// ranks are devices. A topology is made by `load_topology` (topologies/loader.h) from the library
// or from a file. Rates are bytes/s in one direction; `line` is the datasheet figure, `achieved`
// what software reaches. topologies/paths.h finds the way between two GPUs.
//
// The fabric is a forest of switches: NICs hang at leaves, leaves at spines, and so on up to a
// root. A `Switch` is everything that works as one: a layer of spines that all leaves reach alike
// is one switch, its cables to the layer above are one up-link (adaptive routing spreads flows
// evenly over them). NICs under different roots do not reach each other, except through a link
// between sites.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace transload {

inline constexpr std::int64_t kPpm = 1'000'000;

// What software gets out of a kind of link, and what each operation on it costs besides its bytes.
struct LinkCosts {
  std::int64_t efficiency_ppm = kPpm;  // achieved / line, in parts per million
  std::int64_t latency_ps = 0;         // overlaps with other operations
  std::int64_t occupancy_ps = 0;       // the issuing lane is busy: launch, group, doorbell
  std::string efficiency_source;
  std::string latency_source;
  friend bool operator==(const LinkCosts&, const LinkCosts&) = default;
};

// Fraction of the HBM rate that a strided copy reaches when its contiguous runs have `run_bytes`.
struct CopyRate {
  std::int64_t run_bytes = 0;
  std::int64_t efficiency_ppm = kPpm;
  friend bool operator==(const CopyRate&, const CopyRate&) = default;
};

struct GpuModel {
  std::string name;                  // "h100"
  std::int64_t hbm_rate = 0;         // line, read + write together; 0: copies cost no time
  std::int64_t memory_bytes = 0;     // 0: unknown
  std::vector<CopyRate> copy_rates;  // ascending run_bytes; empty: 1 for every run
  LinkCosts copy;                    // efficiency of kernels that copy, of the HBM rate
  // Of the HBM rate, reads and writes together: what the copy engines reach, and kernels that
  // quantise to 8 bits blockwise. 0: not known.
  std::int64_t copy_engine_ppm = 0;
  std::int64_t quantise_ppm = 0;
  std::int64_t nvlink_link_rate = 0;  // line, of one NVLink of the GPU; 0: not known
  // To the host's memory (PCIe or C2C): line, and what copies reach of it. 0: not known.
  std::int64_t host_link_rate = 0;
  std::int64_t host_link_ppm = kPpm;
  std::string source;
  friend bool operator==(const GpuModel&, const GpuModel&) = default;
};

struct Node {
  std::string name;
  std::int32_t first_gpu = 0;
  std::int32_t gpu_count = 0;
  std::int32_t site = 0;
  std::int32_t block = 0;              // nodes that are handed out together: a rack, a unit
  std::int64_t host_memory_bytes = 0;  // 0: unknown
};

// What a GPU and a NIC of one node have in common on their way to each other.
struct PcieSwitch {
  std::int32_t node = 0;
  std::int64_t uplink_rate = 0;  // line, to the host bridge; 0: never the bottleneck
};

struct Gpu {
  std::int32_t node = 0;
  std::int32_t index = 0;          // within its node
  std::int32_t domain = 0;         // NVLink domain; a GPU without NVLink is a domain of its own
  std::int32_t model = 0;          // index into gpu_models
  std::int64_t nvlink_rate = 0;    // line, into the domain's switch; 0: none
  std::int32_t nvlink_costs = 0;   // index into link_costs
  std::int32_t numa = -1;          // -1: unknown
  std::int32_t pcie_switch = -1;   // index into pcie_switches; -1: unknown or none
  std::vector<std::int32_t> nics;  // the NICs that this GPU uses, nearest first
};

struct Nic {
  std::string name;
  std::int32_t node = 0;
  std::int32_t rail = 0;
  std::int32_t plane = 0;
  std::int64_t rate = 0;          // line
  std::int32_t costs = 0;         // index into link_costs
  std::int32_t leaf = 0;          // index into switches
  std::int32_t numa = -1;         // -1: unknown
  std::int32_t pcie_switch = -1;  // index into pcie_switches; -1: unknown or none
  std::string source;
};

struct Switch {
  std::string name;
  std::int32_t tier = 1;     // 1: NICs hang at it
  std::int32_t parent = -1;  // -1: a root
  std::int32_t site = 0;
  std::int64_t uplink_rate = 0;  // line, to the parent, each direction; 0: never the bottleneck
  std::int64_t uplink_efficiency_ppm = kPpm;
  std::int64_t latency_ps = 0;  // of passing it, for paths that pass more than one switch
  bool gateway = false;         // a root at which the links between sites end
};

struct Site {
  std::string name;  // empty: the only one, or the one of everything that names none
};

// A link between two sites: everything that passes shares its rate, each direction by itself.
struct WanLink {
  std::int32_t site_a = 0;
  std::int32_t site_b = 0;
  std::int64_t rate = 0;
  std::int64_t latency_ps = 0;
};

// A named library constant and where its figure comes from, for `topology show` and reports.
struct SourcedConstant {
  std::string name;
  std::string value;
  std::string source;
};

// How many switches are built, tier by tier from the leaves, where that is published.
struct PublishedSwitches {
  std::vector<std::int64_t> tiers;  // empty: not published
  std::string source;
};

struct Topology {
  std::string name;
  std::vector<GpuModel> gpu_models;
  std::vector<LinkCosts> link_costs;
  std::vector<Node> nodes;
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
  std::vector<PcieSwitch> pcie_switches;
  std::vector<Switch> switches;
  std::vector<Site> sites;
  std::vector<WanLink> wan_links;
  std::int32_t domain_count = 0;
  std::string fabric_kind = "non-blocking";
  PublishedSwitches published_switches;
  std::vector<SourcedConstant> constants;
  bool unit_test_rates = false;  // made from explicit rates without a library entry
};

// line * efficiency, rounded down.
std::int64_t achieved_rate(std::int64_t line, std::int64_t efficiency_ppm);
inline std::int64_t achieved_rate(std::int64_t line, const LinkCosts& costs) {
  return achieved_rate(line, costs.efficiency_ppm);
}

// Costs of a NIC, and of a GPU's NVLink.
const LinkCosts& nic_costs(const Topology& topology, const Nic& nic);
const LinkCosts& nvlink_costs(const Topology& topology, const Gpu& gpu);

}  // namespace transload
