// The trees that routes form through their parents: which routes leave a holder, who forwards what
// each route lands, and where a tree's byte range must be cut so that every piece of it travels one
// fixed set of routes. Internal to planner/strategy.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/strategy/routes.h"

namespace transload {

class RouteTrees {
 public:
  // Every parent stands before its children, has their class, lands where they start, and covers
  // their bytes: broken only by a bug of a strategy.
  RouteTrees(const RouteSet& set, const Fabric& fabric);

  std::span<const std::uint32_t> roots() const { return roots_; }  // ascending
  std::span<const std::uint32_t> children(std::uint32_t route) const {
    return {child_.data() + child_first_[route], child_first_[route + 1] - child_first_[route]};
  }
  // Ends of the pieces of a root's range, ascending; the last is the range's end.
  std::vector<std::int64_t> cuts(std::uint32_t root) const;
  // Most transfers that a byte makes one after the other; at least 1.
  std::int64_t depth() const { return depth_; }
  // Most forwards of one landing that some landing's rank must send one after the other over a NIC,
  // or over NVLink where the bytes came over NVLink too.
  std::int64_t most_forwards() const { return most_forwards_; }

 private:
  void add_cuts(std::uint32_t route, std::vector<std::int64_t>& cuts) const;

  const RouteSet& set_;
  std::vector<std::uint32_t> roots_;
  std::vector<std::size_t> child_first_;
  std::vector<std::uint32_t> child_;
  std::int64_t depth_ = 1;
  std::int64_t most_forwards_ = 0;
};

}  // namespace transload
