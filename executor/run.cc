#include "executor/run.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "common/error.h"
#include "executor/engine/engine.h"
#include "executor/engine/thread_pool.h"
#include "executor/host/host_backend.h"
#include "executor/host/memory.h"
#include "executor/run_times.h"
#include "executor/verify.h"
#include "executor/zero_fills.h"
#include "planner/schedule/access.h"

namespace transload {
namespace {

// Seconds that it took. A part of every refit: destinations may be fresh memory.
double write_zeros(const ZeroFills& fills, ThreadPool& pool) {
  if (fills.empty()) return 0;
  const auto begin = std::chrono::steady_clock::now();
  fills.write(pool);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

void require_runnable(const Plan& plan) {
  const std::int64_t op = first_convert(plan);
  if (op == kNone) return;
  const auto bundle = static_cast<std::size_t>(plan.op_bundle[static_cast<OpId>(op)]);
  const std::uint32_t tensor = plan.slice_tensor_first[plan.bundle_slice_first[bundle]];
  throw InputError(fmt::format(
      "the plan converts tensors (operation {} makes {} on rank {}); conversions are planned, "
      "checked and simulated, but not run by this version",
      op, tensor_name(plan, tensor), plan.op_source[static_cast<OpId>(op)]));
}

RunResult run_on_host(const Plan& plan, const RunOptions& options) {
  if (options.iterations < 1) throw InputError("a run has at least one iteration");
  require_runnable(plan);
  const HostMemory memory(plan);
  ThreadPool pool(options.threads);
  HostBackend backend(plan, memory);
  const ZeroFills fills(plan, memory);
  std::optional<Verifier> verifier;
  if (options.verify) {
    verifier.emplace(plan, memory, pool);
    verifier->fill_sources();
  }

  RunResult result;
  result.executed_on = "host";
  result.ranks = memory.active_ranks();
  std::vector<double> seconds;
  for (int i = 0; i < options.iterations; ++i) {
    const bool last = i + 1 == options.iterations;
    if (verifier) verifier->poison_destinations();
    const double zeroing_s = write_zeros(fills, pool);
    Engine engine(plan, backend, pool,
                  {options.deadline_s, options.stall_s, options.trace && last});
    EngineReport report = engine.run();
    seconds.push_back(zeroing_s + report.seconds);
    if (verifier) keep_verdict(verifier->check(), result);
    if (!last) continue;
    result.times = std::move(report.times);
    result.posting_order = std::move(report.posting_order);
  }
  summarise(seconds, result);
  result.state = result.mismatched_bytes == 0 ? "new" : "torn";
  return result;
}

}  // namespace transload
