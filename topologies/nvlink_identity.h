// Which GPUs are in one NVLink domain, told from what the driver says of each.
//
// A driver states a cluster id (of the NVLink fabric), a clique number (a partition of it) and,
// through IMEX, which machines may map each other's memory. None alone is enough: clique numbers
// repeat from rack to rack, a cluster id may cover machines that share no IMEX domain, and hosts
// without any NVLink between them report ids all the same. So a domain is (cluster, clique, IMEX
// domain), an id of zeros is no fabric, and NVLink between hosts is taken only on somebody's word.
// Sources: NVIDIA/nccl#1301 (a clique is unique only within its cluster), meta-pytorch/torchcomms
// #3612, #1315 and #3516 (what goes wrong otherwise).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace transload {

inline constexpr std::int64_t kNoClique = -1;

struct NvlinkIdentity {
  std::string host;
  std::string cluster;              // UUID as nvidia-smi prints it; empty or all zeros: no fabric
  std::int64_t clique = kNoClique;  // of nvidia-smi's Fabric section; kNoClique: not stated
  std::string imex_domain;          // empty: not stated
};

enum class MultiNodeNvlink : std::uint8_t {
  kUnknown,  // nobody said: domains end at hosts, and what may be joined is asked for
  kOn,       // the user's word, or a probe that mapped memory of another host
  kOff,      // domains end at hosts
};

struct NvlinkDomains {
  std::vector<std::int32_t> domain_of;  // per rank; numbered by their first rank
  std::int32_t count = 0;
  std::vector<std::string> asked;
};

// Groups ranks. Throws InputError, naming the rank, for an empty host and for a cluster id that has
// other characters than hexadecimal digits and dashes.
NvlinkDomains group_nvlink_domains(const std::vector<NvlinkIdentity>& ranks,
                                   MultiNodeNvlink multi_node);

// The NVLink rate of a GPU whose links are partly down, in the unit of `rate`, rounded down: bit i
// of `links_up` is set where link i of `links` is up. Traffic spreads evenly over links, so half
// the links are half the rate (NVIDIA/nccl#2186 reports mask 0xaa of 8). This is a mask of links;
// the health mask in NVML's fabric information is not: it holds four fields of two bits, and its
// 0xaa means that nothing is wrong (nvml.h, NVML_GPU_FABRIC_HEALTH_MASK_*). `links` is 1 to 64.
std::int64_t degraded_nvlink_rate(std::int64_t rate, std::uint64_t links_up, int links);

}  // namespace transload
