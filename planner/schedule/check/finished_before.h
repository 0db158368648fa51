// Does one operation always finish before another starts? Decided on the edges alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/schedule/access.h"

namespace transload {

// Answers by direct `after` edges, and, where those do not do, by a backward search over at most
// kHops edges and kNodes operations, which ends as soon as it has found everything: sound, and
// complete within those limits. An `after`
// predecessor has finished before its successor starts; a stream upstream has finished when the hop
// that forwards all of its bytes has finished.
class FinishedBefore {
 public:
  static constexpr int kHops = 64;
  static constexpr std::size_t kNodes = 4096;

  explicit FinishedBefore(const Plan& plan)
      : plan_(plan), reached_(plan.operations(), 0), wanted_(plan.operations(), 0) {}

  // The first of `earlier` that may still be unfinished when `op` starts; `op` itself if there is
  // none.
  OpId first_unordered(OpId op, std::span<const OpId> earlier);

 private:
  void reach(OpId op);
  void search(OpId op, OpId least);

  const Plan& plan_;
  std::vector<std::uint32_t> reached_;  // token of the last query that reached the operation
  std::vector<std::uint32_t> wanted_;   // and of the last that looks for it
  std::size_t missing_ = 0;             // wanted and not reached
  std::uint32_t token_ = 0;
  std::vector<OpId> frontier_;
  std::vector<OpId> next_;
};

}  // namespace transload
