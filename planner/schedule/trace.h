// Chrome trace-event JSON of a simulated or measured run: one schema for both (opens in Perfetto).
//
// One process per rank, one thread per lane. A transfer is drawn on both its ranks. `args` carry
// operation id, bytes, peer, tensor or bundle, chunk, ports and `posted_s`.
#pragma once

#include <string>
#include <vector>

#include "planner/schedule/plan_file.h"

namespace transload {

// When an operation was posted (per side; a one-rank operation uses `posted_source_s`), started and
// finished, in seconds from the start of the refit.
struct OpTimes {
  std::vector<double> posted_source_s;
  std::vector<double> posted_destination_s;
  std::vector<double> start_s;
  std::vector<double> finish_s;
  explicit OpTimes(std::size_t operations = 0)
      : posted_source_s(operations),
        posted_destination_s(operations),
        start_s(operations),
        finish_s(operations) {}
};

// `origin`: "simulated" or "measured". Throws InputError if the file cannot be written.
void write_trace(const Plan& plan, const OpTimes& times, const std::string& origin,
                 const std::string& path);

}  // namespace transload
