#include "simulator/result/critical_path.h"

#include <algorithm>

#include "common/check.h"
#include "simulator/replay/replay.h"

namespace transload {

std::vector<OpId> critical_path(const OpTimes& times, std::span<const OpId> released_by) {
  std::vector<OpId> path;
  if (times.finish_s.empty()) return path;
  const auto last = std::max_element(times.finish_s.begin(), times.finish_s.end());
  for (auto op = static_cast<OpId>(last - times.finish_s.begin()); op != kNoOperation;
       op = released_by[op]) {
    TRANSLOAD_CHECK(path.size() < released_by.size(), "releases do not run in a circle");
    path.push_back(op);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace transload
