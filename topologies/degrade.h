// A cluster on a bad day: NICs that are down or slow, and NICs that other traffic uses, too.
//
// Both change a topology before anything is planned on it, so plan, bound and prediction all know.
#pragma once

#include <string>
#include <vector>

#include "topologies/topology.h"

namespace transload {

// One NIC at less than its line rate.
struct NicFault {
  std::string nic;             // "node3.nic2"
  std::int64_t share_ppm = 0;  // of the line rate that is left; 0: down
};

// "node3:nic2=down", "node3:nic2=half", "node3:nic2=0.25" (or with the name that topologies print,
// node3.nic2), several separated by commas. InputError,
// beginning with `what`, for anything else and for a NIC that is named twice.
std::vector<NicFault> parse_nic_faults(const std::string& text, const std::string& what);

// A NIC with a share runs at that share of its line rate, both ways. One that is down is no GPU's
// any more; a GPU that is left without any takes the NICs that the nearest GPU of its node has left
// (nearest by NUMA domain, then by number), which they then share. Returns a line for each such
// GPU. InputError for NICs that do not exist and for nodes without any NIC left.
std::vector<std::string> apply_faults(const std::vector<NicFault>& faults, Topology& topology);

// Takes a share (0 up to, but not including, 1) of what every NIC achieves away, in both
// directions; line rates stay, so the bound at line rates does, too.
void take_background(double share, Topology& topology);

}  // namespace transload
