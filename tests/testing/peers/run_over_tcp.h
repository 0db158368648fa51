// A run of several "processes" that are threads of the test: each with its own memory, control
// client and connections, as `transload run --backend net` has them.
#pragma once

#include <vector>

#include "executor/net/net_company.h"
#include "executor/peers/participant.h"

namespace transload::testing {

struct TcpRun {
  std::int32_t processes = 2;
  RunOptions options;
  double beat_timeout_s = 10;      // threads of a busy machine may be late
  std::int32_t corrupter = -1;     // the process whose bytes are changed on the way
  std::int64_t corrupt_from = -1;  // from this operation on
};

// The outcomes of all processes. Whatever a participant throws is thrown here.
std::vector<ParticipantOutcome> run_over_tcp(const Plan& plan, const TcpRun& run);

// "" if every process was well and every byte right.
std::string first_problem(const std::vector<ParticipantOutcome>& outcomes);

}  // namespace transload::testing
