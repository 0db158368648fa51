// `transload run --backend net | mpi`: the launcher that starts one process per rank and serves the
// control plane, and what each of the processes does.
#pragma once

#include <optional>
#include <string>

#include "cli/process_place.h"
#include "cli/session.h"
#include "executor/peers/share_summary.h"
#include "executor/run.h"
#include "planner/schedule/plan_file.h"

namespace transload {

struct NetFlags {
  std::int32_t processes = 0;  // 0: one per participating rank
  std::string address = "127.0.0.1";
  std::string nvlink_address;
  unsigned io_threads = 1;
  double beat_timeout_s = 1.5;
  std::int64_t corrupt_from = -1;
};

// Starts the processes on this machine and waits for them. The result of all, or the failure that
// they agree on. RunFailure where they cannot be started.
RunOfAll launch_on_net(const Plan& plan, const RunOptions& options, const NetFlags& flags,
                       const std::optional<std::string>& report);

// What one process of a run comes to. `all` is there in the process that sums the run up.
struct TakenPart {
  std::optional<RunOfAll> all;
  bool failed = false;      // this process's share
  bool mismatched = false;  // likewise
};

// One process of a run over TCP that somebody has launched. `times_prefix`: where the processes
// leave their operation times for whoever sums up.
TakenPart take_part_on_net(const Plan& plan, const ProcessPlace& place, const RunOptions& options,
                           const NetFlags& flags, const std::optional<std::string>& report,
                           const std::optional<std::string>& times_prefix);

// One process of a run that mpirun or srun has started. A run that failed ends here, with code 3.
TakenPart take_part_on_mpi(const Plan& plan, const MpiPlace& place, const RunOptions& options,
                           const std::optional<std::string>& report,
                           const std::optional<std::string>& times_prefix);

}  // namespace transload
