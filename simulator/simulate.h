// Predicts how long a plan takes: every operation of the schedule graph is replayed under the same
// issue rule that the executors follow, with the rates and latencies that the plan carries, on
// SimGrid or, where that would take too long, on our own engine of the same model.
//
// simulator/platform makes the cluster's ports, simulator/replay moves the operations over them,
// simulator/result turns their times into what a person asks for. simulator/estimate.h is the quick
// answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/schedule/plan_file.h"
#include "planner/schedule/trace.h"
#include "simulator/replay/replay.h"

namespace transload {

// 0.2 %: the bias stays under half a percent (docs/simulator.md has the measurements).
inline constexpr double kCoarseShare = 0.002;

// Plans with more operations run on our own engine unless the caller says otherwise: SimGrid's time
// grows with operations times flows in flight (docs/simulator.md has the measurements).
inline constexpr std::size_t kSimGridOperations = 20'000;

struct SimulateOptions {
  // True: completions are told apart to a nanosecond or better. False: to `coarse_share` of the
  // time that an operation is in flight (simulator/replay/precision.h), which is what makes plans
  // with many flows per port affordable.
  bool exact = false;
  double coarse_share = kCoarseShare;
  std::optional<ReplayEngine> engine{};  // none: by the size of the plan, see kSimGridOperations
};

// All operations of one role: from the start of the first to the end of the last.
struct PhaseTime {
  std::string name;  // name_of(OpRole)
  double start_s = 0;
  double finish_s = 0;
  std::uint64_t bytes = 0;
  std::size_t operations = 0;
  // What operations of this role add to the refit along its critical path; all phases add up to
  // refit_s.
  double critical_s = 0;
};

// One link that operations used. Copies load their HBM link with twice their bytes (read and
// write). busy_s is the time that its bytes take at the achieved rate (of a host link: its work one
// after the other); utilisation is busy_s / refit_s.
struct LinkUse {
  std::string name;
  std::string kind;  // name_of(LinkKind)
  std::uint64_t bytes = 0;
  double busy_s = 0;
  double utilisation = 0;
};

struct SimulationResult {
  double refit_s = 0;     // end of the last operation
  double estimate_s = 0;  // estimate_seconds(plan)
  ReplayEngine engine = ReplayEngine::kSimGrid;
  double precision_s = 0;  // completions closer than this were one event
  // Relative: refit_s is off by at most about this. Each operation of the critical path that waited
  // for the end of another may end early and may begin to flow late, by precision_s each; the two
  // mostly cancel.
  double bias_bound = 0;
  // Per rank. A source is free when its weights have been read and its export work is done; a
  // destination is ready when its weights have been written and its load work is done. NaN: the
  // rank is none.
  std::vector<double> source_free_s;
  std::vector<double> destination_ready_s;
  std::vector<PhaseTime> phases;    // in the order of OpRole
  std::vector<LinkUse> links;       // in the order of the plan's links
  std::vector<OpId> critical_path;  // first to last
  std::string bottleneck;           // "nic-out of rank 17: busy 98 %"
  double simulate_s = 0;            // wall time of this prediction
  OpTimes times;
};

// A simulation that runs in a process of its own from the constructor on, beside the caller and
// beside others. Plan must outlive it. Only for a process without other threads at that moment
// (simulator/replay/child_process.h).
class Simulation {
 public:
  // InputError if the plan's links make no sense; RunFailure if no process can be made.
  explicit Simulation(const Plan& plan, const SimulateOptions& options = {});
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Waits for its end, once. RunFailure if the plan stalls under its discipline or if the process
  // fails.
  SimulationResult finish();

 private:
  struct Run;
  std::unique_ptr<Run> run_;
};

// One simulation, waited for. Throws what Simulation throws.
SimulationResult simulate(const Plan& plan, const SimulateOptions& options = {});

}  // namespace transload
