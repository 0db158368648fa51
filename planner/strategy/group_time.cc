#include "planner/strategy/group_time.h"

#include <algorithm>

#include "common/units.h"

namespace transload {

std::int64_t group_makespan_ps(const std::vector<Hop>& hops, const std::vector<Chunk>& chunks,
                               const Fabric& fabric) {
  const std::size_t ports = fabric.port_rate.size();
  std::vector<std::int64_t> load(ports, 0);  // of the group at hand, in bytes
  std::vector<std::int64_t> free_ps(fabric.ranks.size(), 0);
  std::vector<std::int64_t> end_ps(fabric.ranks.size(), 0);
  std::int64_t last = 0;
  for (std::size_t first = 0; first < hops.size();) {
    std::size_t behind = first;
    for (; behind < hops.size() && hops[behind].group == hops[first].group; ++behind)
      for (const std::int32_t port : {hops[behind].out_port, hops[behind].in_port})
        load[static_cast<std::size_t>(port)] += chunks[hops[behind].chunk].bytes;
    const auto time_of = [&](std::int32_t port) {
      const auto p = static_cast<std::size_t>(port);
      return duration_ps(load[p], fabric.port_rate[p]);
    };
    for (std::size_t i = first; i < behind; ++i) {
      const auto from = static_cast<std::size_t>(hops[i].source);
      const auto to = static_cast<std::size_t>(hops[i].destination);
      const std::int64_t end = std::max(free_ps[from], free_ps[to]) + fabric.network_overhead_ps +
                               std::max(time_of(hops[i].out_port), time_of(hops[i].in_port));
      end_ps[from] = std::max(end_ps[from], end);
      end_ps[to] = std::max(end_ps[to], end);
      last = std::max(last, end);
    }
    for (std::size_t i = first; i < behind; ++i) {
      for (const Rank rank : {hops[i].source, hops[i].destination})
        free_ps[static_cast<std::size_t>(rank)] = end_ps[static_cast<std::size_t>(rank)];
      load[static_cast<std::size_t>(hops[i].out_port)] = 0;
      load[static_cast<std::size_t>(hops[i].in_port)] = 0;
    }
    first = behind;
  }
  return last;
}

}  // namespace transload
