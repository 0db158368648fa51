// Evening out port loads by moving bytes from course to course. Internal to the strategy
// `transload`.
//
// The least possible time of the busiest port over all mixes of courses is a linear program. This
// finds it closely and in integers: a port's price is a high power of its load (so the sum over
// ports is a smooth stand-in for the largest load), and bytes of a group move from its dearest
// course in use to its cheapest one, as many as make the two equally dear; powers grow as moves
// stop paying. The method is the path equilibration of traffic assignment (docs/strategies.md).
#pragma once

#include <cstdint>
#include <vector>

#include "planner/strategy/transload/courses.h"

namespace transload {

struct CourseShare {
  Course course;
  std::int64_t bytes = 0;
};

// Bytes with the same ends, and how many take which course; there is at least one share.
struct CourseGroup {
  CourseEnds ends;
  std::vector<CourseShare> shares;
  bool changed = false;
};

// `load`: bytes by port, all groups' shares included; it is kept up to date. Moves bytes until no
// port is busy for longer than `goal_ps`, or nothing is won any more. Returns the time of the
// busiest port in picoseconds.
std::int64_t even_out(std::vector<CourseGroup>& groups, std::vector<std::int64_t>& load,
                      const Fabric& fabric, const MayHelp& may_help, std::int64_t goal_ps);

// Time of the busiest port under these loads.
std::int64_t busiest_ps(const std::vector<std::int64_t>& load, const Fabric& fabric);

}  // namespace transload
