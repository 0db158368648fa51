#include "tests/testing/peers/run_over_tcp.h"

#include <exception>
#include <thread>

#include "executor/control/service.h"

namespace transload::testing {

std::vector<ParticipantOutcome> run_over_tcp(const Plan& plan, const TcpRun& run) {
  ControlOptions control;
  control.processes = run.processes;
  control.beat_timeout_s = run.beat_timeout_s;
  ControlService service(control);
  const auto count = static_cast<std::size_t>(run.processes);
  std::vector<ParticipantOutcome> outcomes(count);
  std::vector<std::exception_ptr> thrown(count);
  {
    std::vector<std::jthread> threads;
    for (std::int32_t process = 0; process < run.processes; ++process)
      threads.emplace_back([&, process] {
        const auto p = static_cast<std::size_t>(process);
        try {
          NetOptions net;
          net.control = service.endpoint();
          net.process = process;
          net.processes = run.processes;
          net.beat_timeout_s = run.beat_timeout_s;
          if (process == run.corrupter) net.corrupt_from = run.corrupt_from;
          NetCompany company(net);
          const Hosting hosting = Hosting::blocks(plan, run.processes, process);
          outcomes[p] = run_share(plan, hosting, company, run.options);
          company.leave();
        } catch (...) {
          thrown[p] = std::current_exception();
        }
      });
  }
  for (const std::exception_ptr& failure : thrown)
    if (failure) std::rethrow_exception(failure);
  return outcomes;
}

std::string first_problem(const std::vector<ParticipantOutcome>& outcomes) {
  for (const ParticipantOutcome& outcome : outcomes) {
    if (outcome.failure) return *outcome.failure;
    if (!outcome.result.mismatches.empty()) return outcome.result.mismatches.front();
    if (outcome.result.mismatched_bytes > 0) return "some bytes are wrong";
  }
  return {};
}

}  // namespace transload::testing
