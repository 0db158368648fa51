// What a published system refuses: a job that it cannot do is reported with every limit that stands
// in the way, never planned in a way the system would not.
//
// Each limit is named once, with the first tensor that meets it. Limits are read off the layouts:
// what a system asks of engines by name (an engine's plug-in, a config flag) does not count,
// because a tensor job has no engine and the layout decides what its planner can express.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

namespace transload {

struct Job;
struct PlanningInput;
struct StrategyChoice;

struct Unsupported {
  std::string limit;   // what the system asks for: "one sharded dimension per side"
  std::string value;   // what the job has instead: "2 on the source"
  std::string tensor;  // the first that meets the limit; empty: the job as a whole
  friend bool operator==(const Unsupported&, const Unsupported&) = default;
};

// Every limit of the strategy that the job meets; empty where the strategy can do it. The
// strategy's settings count (m2n's modes, for example).
std::vector<Unsupported> refusals(const Job& job, const PlanningInput& input,
                                  const StrategyChoice& strategy);

// Collects limits, each once: later tensors that meet the same limit add nothing.
class RefusalList {
 public:
  void add(std::string_view limit, std::string_view value, std::string_view tensor = {});
  bool has(std::string_view limit) const;
  std::vector<Unsupported> take() { return std::move(limits_); }

 private:
  std::vector<Unsupported> limits_;
};

// "m2n cannot do this job: LIMIT (tensor w: VALUE); LIMIT (VALUE)".
std::string refusal_text(std::string_view strategy, const std::vector<Unsupported>& limits);

// What make_plan throws for such a job. Exit code 2, as for any InputError.
class UnsupportedError : public InputError {
 public:
  UnsupportedError(std::string_view strategy, std::vector<Unsupported> limits);
  const std::vector<Unsupported>& limits() const { return limits_; }

 private:
  std::vector<Unsupported> limits_;
};

}  // namespace transload
