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

}  // namespace

void fill_groups(std::vector<Hop>& hops, const std::vector<Chunk>& chunks, const Fabric& fabric,
                 std::span<const std::int64_t> rates, std::int64_t group_ps) {
  const auto over_nvlink = [&](const Hop& hop) {
    return fabric.ranks[static_cast<std::size_t>(hop.source)].nvlink_out == hop.out_port;
  };
  std::vector<PortGroups> ports(fabric.port_rate.size());
  std::vector<std::int32_t> group_of(hops.size(), kNone);  // by hop id
  for (std::size_t i = 0; i < hops.size(); ++i) {
    Hop& hop = hops[i];
    const bool leads = hop.from == kNoHop && over_nvlink(hop) && i + 1 < hops.size() &&
                       hops[i + 1].from == hop.id && !over_nvlink(hops[i + 1]);
    if (leads) continue;  // placed with the transfer that it serves
    const bool led = hop.from != kNoHop && group_of[hop.from] == kNone;
    const std::int32_t earliest = hop.from == kNoHop ? 0 : (led ? 0 : group_of[hop.from]) + 1;
    if (hop.from != kNoHop && over_nvlink(hop)) {
      hop.group = earliest;
    } else {
      PortGroups& out = ports[static_cast<std::size_t>(hop.out_port)];
      PortGroups& in = ports[static_cast<std::size_t>(hop.in_port)];
      const auto time_at = [&](std::int32_t port) {
        return duration_ps(chunks[hop.chunk].bytes, rates[static_cast<std::size_t>(port)]);
      };
      const std::int64_t out_ps = time_at(hop.out_port);
      const std::int64_t in_ps = time_at(hop.in_port);
      std::size_t group =
          std::max({static_cast<std::size_t>(earliest), out.first_open(), in.first_open()});
      // What leaves a holder and is to be forwarded holds a slot until then: it fills no gap far
      // back. A forward that is forwarded again does, or chains would fall further behind with
      // every hop.
      if (hop.forwards > 0 && hop.from == kNoHop) {
        const std::size_t now = std::min(out.last(), in.last());
        group = std::max(group, now - std::min<std::size_t>(now, 1));
      }
      while (!out.has_room(group, out_ps, group_ps) || !in.has_room(group, in_ps, group_ps))
        ++group;
      out.take(group, out_ps, group_ps);
      in.take(group, in_ps, group_ps);
      hop.group = static_cast<std::int32_t>(group);
    }
    group_of[hop.id] = hop.group;
    if (led) hops[i - 1].group = group_of[hop.from] = hop.group - 1;
  }
}

}  // namespace transload
