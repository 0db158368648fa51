#include "simulator/replay/replay.h"

#include "simulator/replay/max_min_engine.h"
#include "simulator/replay/simgrid_engine.h"

namespace transload {

std::string_view name_of(ReplayEngine engine) {
  return engine == ReplayEngine::kSimGrid ? "simgrid" : "max-min";
}

void replay(const Plan& plan, const OperationCosts& costs, const ReplayClock& clock,
            ReplayEngine engine, ReplayRecord record) {
  (engine == ReplayEngine::kSimGrid ? replay_on_simgrid : replay_on_max_min)(plan, costs, clock,
                                                                             record);
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (plan.op_out_port[op] < 0) record.posted_source_s[op] = record.start_s[op];
    if (plan.op_in_port[op] < 0) record.posted_destination_s[op] = record.posted_source_s[op];
  }
}

}  // namespace transload
