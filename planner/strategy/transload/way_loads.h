// Time that ports and narrow links are busy under a choice of ways. Internal to the strategy
// `transload`.
//
// A *resource* is a port (NIC or NVLink, by its number) or, after all ports, a narrow link.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/strategy/transload/entries.h"
#include "planner/strategy/transload/narrow_links.h"

namespace transload {

// A resource that a way loads, `times` bytes for every byte of the entry.
struct WayUse {
  std::uint32_t resource = 0;
  std::int64_t times = 1;
};

class WayLoads {
 public:
  WayLoads(const Fabric& fabric, NarrowLinks& links);

  // Appends what a way loads; false where nothing joins its NICs.
  bool uses(const Way& way, std::span<const Rank> receivers, std::vector<WayUse>& uses) const;
  // How many of these are narrow links.
  std::int64_t narrow(std::span<const WayUse> uses) const;

  std::int64_t of(std::uint32_t resource) const { return ps_[resource]; }
  std::int64_t most() const;
  // The largest load among the resources once `bytes` more pass.
  std::int64_t after(std::span<const WayUse> uses, std::int64_t bytes) const;
  // Bytes that may still pass until one of the resources reaches `limit_ps`; at least 0.
  std::int64_t room(std::span<const WayUse> uses, std::int64_t limit_ps) const;
  // Negative bytes take a load away.
  void add(std::span<const WayUse> uses, std::int64_t bytes);
  // Of routes over NVLink alone.
  void add_route(const Route& route);

 private:
  std::int64_t time(const WayUse& use, std::int64_t bytes) const;

  const Fabric& fabric_;
  NarrowLinks& links_;
  std::vector<std::int64_t> rates_;  // by resource; 0: costs no time
  std::vector<std::int64_t> ps_;
};

// The loads of a whole set.
WayLoads loads_of(const EntrySet& set, const Fabric& fabric, NarrowLinks& links);

}  // namespace transload
