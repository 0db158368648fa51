// A cluster as plain data: nodes, GPUs, NVLink domains, NICs, and what each link can do.
//
// GPUs are numbered through the cluster, node by node; that number is the *device*, and a job's
// ranks are devices. A topology is made by `load_topology` (topologies/loader.h) from the library
// or from a file. Rates are bytes/s in one direction; `line` is the datasheet figure, `achieved`
// what software reaches.
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
};

// Fraction of the HBM rate that a strided copy reaches when its contiguous runs have `run_bytes`.
struct CopyRate {
  std::int64_t run_bytes = 0;
  std::int64_t efficiency_ppm = kPpm;
};

struct GpuModel {
  std::string name;                  // "h100"
  std::int64_t hbm_rate = 0;         // line, read + write together; 0: copies cost no time
  std::int64_t memory_bytes = 0;     // 0: unknown
  std::vector<CopyRate> copy_rates;  // ascending run_bytes; empty: 1 for every run
  std::string source;
};

struct Node {
  std::string name;
  std::int32_t first_gpu = 0;
  std::int32_t gpu_count = 0;
};

struct Gpu {
  std::int32_t node = 0;
  std::int32_t index = 0;          // within its node
  std::int32_t domain = 0;         // NVLink domain; a GPU without NVLink is a domain of its own
  std::int32_t model = 0;          // index into gpu_models
  std::int64_t nvlink_rate = 0;    // line, into the domain's switch; 0: none
  std::vector<std::int32_t> nics;  // the NICs that this GPU uses, nearest first
};

struct Nic {
  std::string name;
  std::int32_t node = 0;
  std::int32_t rail = 0;
  std::int64_t rate = 0;  // line
  std::string source;
};

// A named library constant and where its figure comes from, for `topology show` and reports.
struct SourcedConstant {
  std::string name;
  std::string value;
  std::string source;
};

struct Topology {
  std::string name;
  std::vector<GpuModel> gpu_models;
  std::vector<Node> nodes;
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
  std::int32_t domain_count = 0;
  LinkCosts nic;
  LinkCosts nvlink;
  LinkCosts copy;  // efficiency: achieved / peak HBM rate counting reads and writes
  std::string fabric_kind = "non-blocking";  // or "rail-optimised"; both are non-blocking here
  std::vector<SourcedConstant> constants;
  bool unit_test_rates = false;  // made from explicit rates without a library entry
};

// line * efficiency, rounded down.
std::int64_t achieved_rate(std::int64_t line, const LinkCosts& costs);

}  // namespace transload
