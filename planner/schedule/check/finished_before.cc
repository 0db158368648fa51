#include "planner/schedule/check/finished_before.h"

#include <algorithm>

namespace transload {

void FinishedBefore::reach(OpId op) {
  if (reached_[op] == token_) return;
  reached_[op] = token_;
  next_.push_back(op);
  if (wanted_[op] == token_) --missing_;
}

void FinishedBefore::search(OpId op, OpId least) {
  std::size_t visited = 0;
  for (int hop = 1; hop < kHops && !next_.empty(); ++hop) {
    frontier_.swap(next_);
    next_.clear();
    for (const OpId at : frontier_) {
      // Ids rise along edges, so nothing below `least` leads to it.
      if (at <= least || at >= op) continue;
      if (missing_ == 0 || ++visited > kNodes) return;
      for (const OpId before : op_after(plan_, at)) reach(before);
      for (const OpId upstream : op_stream(plan_, at))
        if (plan_.op_begin[upstream] >= plan_.op_begin[at] &&
            plan_.op_begin[upstream] + plan_.op_bytes[upstream] <=
                plan_.op_begin[at] + plan_.op_bytes[at])
          reach(upstream);
    }
  }
}

OpId FinishedBefore::first_unordered(OpId op, std::span<const OpId> earlier) {
  if (earlier.empty()) return op;
  ++token_;
  next_.clear();
  missing_ = 0;
  for (const OpId other : earlier) {
    if (wanted_[other] != token_) ++missing_;
    wanted_[other] = token_;
  }
  for (const OpId before : op_after(plan_, op)) reach(before);
  if (missing_ == 0) return op;
  search(op, *std::min_element(earlier.begin(), earlier.end()));
  const auto unreached = [&](OpId other) { return reached_[other] != token_; };
  const auto missing = std::find_if(earlier.begin(), earlier.end(), unreached);
  return missing == earlier.end() ? op : *missing;
}

}  // namespace transload
