// The part of a measurement's prediction that takes time: its plan, and how long that takes on the
// wire. What the framework's hosts add follows in closed form, so that constants can be refitted
// without replaying anything.
#pragma once

#include <string>
#include <vector>

#include "simulator/calibration/host_work.h"
#include "simulator/validation/measurement.h"
#include "simulator/validation/row_job.h"

namespace transload {

struct Replay {
  std::string id;
  std::string strategy;   // with its mode behind a colon, if it has one
  std::string framework;  // "none" where no host costs are known
  double transport_s = 0;
  bool simulated = false;  // else the closed-form estimate: the plan is too large for a table
  HostWork work;
  double bound_s = 0;
  double naive_s =
      0;  // payload over one NIC's line rate, per destination rank: what it must receive
  std::vector<std::string> assumed;  // about the row, then about the strategy
  std::string missing;               // not empty: skipped, and why
};

struct ReplayOptions {
  std::size_t most_simulated_operations = 60'000;  // larger plans are estimated
};

Replay replay_measurement(const RowJobMaker& maker, const Measurement& row,
                          const ReplayOptions& options = {});

}  // namespace transload
