// Running a plan on this machine, and what came of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/schedule/trace.h"

namespace transload {

struct RunOptions {
  bool verify = false;      // fill, poison and compare every byte
  int iterations = 1;       // refits one after the other over the same memory
  double deadline_s = 600;  // of each refit
  double stall_s = 10;      // a refit in which nothing moves for so long has failed
  unsigned threads = 0;     // 0: as many as the machine has
  bool trace = false;       // keep times and posting order (of the last refit)
};

struct RunResult {
  double refit_s = 0;  // median over the iterations; filling and verifying not included
  double refit_min_s = 0;
  double refit_max_s = 0;
  std::uint64_t verified_bytes = 0;     // of one iteration: every destination element
  std::uint64_t mismatched_bytes = 0;   // of the worst iteration; 0: every byte was right
  std::vector<std::string> mismatches;  // the first few in words, of the worst iteration
  std::string executed_on;              // "host"
  std::size_t ranks = 0;                // that take part
  std::string state;                    // "new": all destinations are; "torn": verification failed
  // With trace:
  OpTimes times;
  std::vector<std::vector<OpId>> posting_order;  // per port
};

// InputError for plans that this version does not run: those that convert.
void require_runnable(const Plan& plan);

// Runs the plan with all its ranks in this process, on a pool of threads. Throws RunFailure naming
// rank and operation for a stall or a missed deadline, RunFailure for too little memory, and
// InputError where the plan moves elements that a rank does not hold. Wrong bytes are a result, not
// an exception.
RunResult run_on_host(const Plan& plan, const RunOptions& options);

}  // namespace transload
