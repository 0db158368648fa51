#include "planner/strategy/group_fill.h"

#include <algorithm>

#include "common/units.h"

namespace transload {
namespace {

// How much of each group one port has taken; groups below `first_open` are full.
class PortGroups {
 public:
  // A transfer may exceed the group's time by half of its own, so that on average groups are full.
  bool has_room(std::size_t group, std::int64_t ps, std::int64_t group_ps) const {
    return group >= used_ps_.size() || used_ps_[group] == 0 ||
           used_ps_[group] + ps - ps / kOvershootDivisor <= group_ps;
  }
  std::size_t first_open() const { return first_open_; }
  std::size_t last() const { return last_; }
  void take(std::size_t group, std::int64_t ps, std::int64_t group_ps) {
    if (group >= used_ps_.size()) used_ps_.resize(std::max(group + 1, 2 * used_ps_.size()), 0);
    used_ps_[group] += ps;
    last_ = std::max(last_, group);
    while (first_open_ < used_ps_.size() && used_ps_[first_open_] >= group_ps) ++first_open_;
  }

 private:
  static constexpr std::int64_t kOvershootDivisor = 2;
  std::vector<std::int64_t> used_ps_;
  std::size_t first_open_ = 0;
  std::size_t last_ = 0;  // the last group with something in it
};

class GroupFiller {
 public:
  GroupFiller(std::vector<Hop>& hops, const std::vector<Chunk>& chunks, const Fabric& fabric,
              std::span<const std::int64_t> rates, std::int64_t group_ps)
      : hops_(hops),
        chunks_(chunks),
        fabric_(fabric),
        rates_(rates),
        group_ps_(group_ps),
        ports_(fabric.port_rate.size()),
        group_of_(hops.size(), kNone),
        root_of_(hops.size(), kNoHop),
        members_(hops.size()) {
    for (std::uint32_t i = 0; i < hops.size(); ++i) {
      const Hop& hop = hops[i];
      const std::uint32_t root = hop.streams ? root_of_[hop.from] : hop.id;
      root_of_[hop.id] = root;
      members_[root].push_back(i);
    }
  }

  void fill() {
    for (std::size_t i = 0; i < hops_.size(); ++i) {
      Hop& hop = hops_[i];
      if (hop.streams || leads(i)) continue;  // placed with another
      const bool led = hop.from != kNoHop && group_of_[hop.from] == kNone;
      const std::int32_t earliest = hop.from == kNoHop ? 0 : (led ? 0 : group_of_[hop.from]) + 1;
      if (hop.from != kNoHop && over_nvlink(hop))
        hop.group = group_of_[hop.id] = earliest;
      else
        place(hop, earliest);
      if (led) hops_[i - 1].group = group_of_[hop.from] = hop.group - 1;
    }
  }

 private:
  bool over_nvlink(const Hop& hop) const {
    return fabric_.ranks[static_cast<std::size_t>(hop.source)].nvlink_out == hop.out_port;
  }

  // Brings bytes over NVLink to the rank whose NIC sends them next.
  bool leads(std::size_t i) const {
    const Hop& hop = hops_[i];
    return hop.from == kNoHop && over_nvlink(hop) && i + 1 < hops_.size() &&
           hops_[i + 1].from == hop.id && !over_nvlink(hops_[i + 1]);
  }

  std::int64_t time_at(const Hop& hop, std::int32_t port) const {
    return duration_ps(chunks_[hop.chunk].bytes, rates_[static_cast<std::size_t>(port)]);
  }
  PortGroups& groups_of(std::int32_t port) { return ports_[static_cast<std::size_t>(port)]; }

  // The hop, and with it all that stream what it lands: one collective, so in one group.
  void place(Hop& root, std::int32_t earliest) {
    const std::vector<std::uint32_t>& members = members_[root.id];
    PortGroups& out = groups_of(root.out_port);
    PortGroups& in = groups_of(root.in_port);
    std::size_t group =
        std::max({static_cast<std::size_t>(earliest), out.first_open(), in.first_open()});
    // What leaves a holder and is to be forwarded holds a slot until then: it fills no gap far
    // back. A forward that is forwarded again does, or chains would fall further behind with
    // every hop.
    if (root.forwards > 0 && root.from == kNoHop && !root.streamed) {
      const std::size_t now = std::min(out.last(), in.last());
      group = std::max(group, now - std::min<std::size_t>(now, 1));
    }
    while (!has_room(members, group)) ++group;
    for (const std::uint32_t i : members) {
      Hop& hop = hops_[i];
      for (const std::int32_t port : {hop.out_port, hop.in_port})
        groups_of(port).take(group, time_at(hop, port), group_ps_);
      hop.group = group_of_[hop.id] = static_cast<std::int32_t>(group);
    }
  }

  bool has_room(const std::vector<std::uint32_t>& members, std::size_t group) {
    for (const std::uint32_t i : members)
      for (const std::int32_t port : {hops_[i].out_port, hops_[i].in_port})
        if (!groups_of(port).has_room(group, time_at(hops_[i], port), group_ps_)) return false;
    return true;
  }

  std::vector<Hop>& hops_;
  const std::vector<Chunk>& chunks_;
  const Fabric& fabric_;
  std::span<const std::int64_t> rates_;
  std::int64_t group_ps_;
  std::vector<PortGroups> ports_;
  std::vector<std::int32_t> group_of_;               // by hop id
  std::vector<std::uint32_t> root_of_;               // by hop id
  std::vector<std::vector<std::uint32_t>> members_;  // by root's hop id: places in `hops`
};

}  // namespace

void fill_groups(std::vector<Hop>& hops, const std::vector<Chunk>& chunks, const Fabric& fabric,
                 std::span<const std::int64_t> rates, std::int64_t group_ps) {
  GroupFiller(hops, chunks, fabric, rates, group_ps).fill();
}

}  // namespace transload
