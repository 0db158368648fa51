// Writing down routes one by one: each takes the less loaded port of its ranks. Internal to
// planner/strategy.
#pragma once

#include "planner/strategy/routes.h"

namespace transload {

class RouteList {
 public:
  explicit RouteList(const Fabric& fabric) : fabric_(fabric), loads_(fabric) {}

  // Bytes [begin, end) of the class go from `source` to `receiver`; what continues the route before
  // it becomes part of that one.
  void add(std::uint32_t demand_class, std::int64_t begin, std::int64_t end, Rank source,
           Rank receiver);
  // A route of its own, which forwards what route `parent` landed on `source`; kNoRoute: `source`
  // is a holder. Returns its number.
  std::uint32_t add_route(std::uint32_t demand_class, std::int64_t begin, std::int64_t end,
                          Rank source, Rank landing, std::uint32_t parent);
  // The rank whose NIC has received least so far; the first of equals.
  Rank least_loaded(const std::vector<Rank>& ranks) const;
  // The receiver holds the class and copies it.
  void add_local(std::uint32_t demand_class, Rank rank) {
    set_.locals.push_back({demand_class, rank});
  }
  RouteSet take() { return std::move(set_); }

 private:
  const Fabric& fabric_;
  PortLoads loads_;
  RouteSet set_;
};

}  // namespace transload
