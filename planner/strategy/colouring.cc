#include "planner/strategy/colouring.h"

#include <algorithm>

namespace transload {
namespace {

// How often each colour is taken at one port; all colours below `first_free_` are full.
class PortColours {
 public:
  bool free(std::size_t colour, std::uint32_t units) const {
    return colour >= used_.size() || used_[colour] < units;
  }
  std::size_t first_free() const { return first_free_; }
  std::size_t last() const { return last_; }
  void take(std::size_t colour, std::uint32_t units) {
    if (colour >= used_.size()) used_.resize(std::max(colour + 1, 2 * used_.size()), 0);
    ++used_[colour];
    last_ = std::max(last_, colour);
    while (first_free_ < used_.size() && used_[first_free_] >= units) ++first_free_;
  }

 private:
  std::vector<std::uint32_t> used_;
  std::size_t first_free_ = 0;
  std::size_t last_ = 0;  // the greatest colour taken
};

}  // namespace

void colour_groups(std::vector<Hop>& hops, const Fabric& fabric, std::uint32_t colours) {
  const auto over_nvlink = [&](const Hop& hop) {
    return fabric.ranks[static_cast<std::size_t>(hop.source)].nvlink_out == hop.out_port;
  };
  std::vector<PortColours> ports(fabric.port_rate.size());
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
      PortColours& out = ports[static_cast<std::size_t>(hop.out_port)];
      PortColours& in = ports[static_cast<std::size_t>(hop.in_port)];
      const std::uint32_t out_units = fabric.port_units[static_cast<std::size_t>(hop.out_port)];
      const std::uint32_t in_units = fabric.port_units[static_cast<std::size_t>(hop.in_port)];
      std::size_t colour = std::max(
          {static_cast<std::size_t>(earliest) * colours, out.first_free(), in.first_free()});
      // What is to be forwarded holds a slot until then: it fills no gap far back.
      if (hop.forwards > 0) {
        const std::size_t now = std::min(out.last(), in.last());
        colour = std::max(colour, now - std::min<std::size_t>(now, colours));
      }
      while (!out.free(colour, out_units) || !in.free(colour, in_units)) ++colour;
      out.take(colour, out_units);
      in.take(colour, in_units);
      hop.group = static_cast<std::int32_t>(colour / colours);
    }
    group_of[hop.id] = hop.group;
    if (led) hops[i - 1].group = group_of[hop.from] = hop.group - 1;
  }
}

}  // namespace transload
