// What a transfer loads between its two NICs: narrow up-links of switches, links between sites, and
// PCIe switches where a GPU uses a NIC that hangs at another one.
//
// Wide switches cost latency only. Links come into the plan with the first transfer that needs
// them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "planner/schedule/builder.h"
#include "topologies/paths.h"
#include "topologies/topology.h"

namespace transload {

class FabricPaths {
 public:
  // Both must outlive this.
  FabricPaths(PlanBuilder& builder, const Topology& topology);

  // `port` stands in front of a NIC.
  void note_port(std::int32_t port, std::int32_t nic);
  // Whether any transfer can have a path that is not empty.
  bool any() const { return any_; }
  // Sets out_path and in_path of a transfer. InputError naming both ranks where nothing joins their
  // NICs.
  void find(OpSpec& transfer);

 private:
  struct PathPair {
    std::uint32_t out = 0;
    std::uint32_t in = 0;
  };
  // A direction of a switch's up-link, of a link between sites, or of a PCIe switch's up-link.
  enum class Kind : std::uint8_t { kUp, kDown, kWan, kPcieUp, kPcieDown };

  PathPair between(std::int32_t rank_out, std::int32_t nic_out, std::int32_t rank_in,
                   std::int32_t nic_in);
  PathPair make(std::int32_t rank_out, std::int32_t nic_out, std::int32_t rank_in,
                std::int32_t nic_in);
  void add_pcie(std::int32_t rank, std::int32_t nic, bool sends, std::vector<std::uint32_t>& links);
  void add_switch_links(const std::vector<std::int32_t>& switches, Kind kind,
                        std::vector<std::uint32_t>& links);
  std::uint32_t link(Kind kind, std::int32_t index, bool from_a = true);
  std::uint32_t path_of(const std::vector<std::uint32_t>& links, std::int64_t latency_ps);

  PlanBuilder& builder_;
  const Topology& topology_;
  bool any_ = false;
  std::vector<std::int32_t> nic_of_port_;                  // -1: another kind of port
  std::unordered_map<std::uint64_t, PathPair> of_leaves_;  // by both; look-up only
  std::map<std::pair<std::vector<std::uint32_t>, std::int64_t>, std::uint32_t> paths_;
  std::map<std::pair<Kind, std::int32_t>, std::uint32_t> links_;
};

}  // namespace transload
