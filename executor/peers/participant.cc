#include "executor/peers/participant.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "common/error.h"
#include "executor/engine/engine.h"
#include "executor/engine/thread_pool.h"
#include "executor/host/memory.h"
#include "executor/peers/peer_backend.h"
#include "executor/peers/state_check.h"
#include "executor/run_times.h"
#include "executor/verify.h"
#include "executor/zero_fills.h"
#include "planner/schedule/access.h"

namespace transload {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Share {
 public:
  Share(const Plan& plan, const Hosting& hosting, Company& company, const RunOptions& options)
      : plan_(plan),
        hosting_(hosting),
        company_(company),
        options_(options),
        memory_(plan, &hosting),
        pool_(options.threads),
        fills_(plan, memory_) {}

  ParticipantOutcome run() {
    outcome_.result.executed_on = company_.name();
    outcome_.result.ranks = memory_.active_ranks();
    try {
      company_.meet(plan_, hosting_, options_.deadline_s);
      if (options_.verify) {
        verifier_.emplace(plan_, memory_, pool_);
        verifier_->fill_sources();
      }
      for (int i = 0; i < options_.iterations; ++i) refit(i);
    } catch (const PeerLost& lost) {
      fail(lost.what(), lost.verdict());
    } catch (const InputError&) {
      throw;
    } catch (const RunFailure& failure) {
      const Verdict verdict = company_.report(failure.what());
      fail(PeerLost(verdict).what(), verdict);
    }
    if (outcome_.ranks.empty()) note_states(everywhere_);
    if (!seconds_.empty()) summarise(seconds_, outcome_.result);
    return std::move(outcome_);
  }

 private:
  void refit(int number) {
    const bool last = number + 1 == options_.iterations;
    if (verifier_) verifier_->poison_destinations();
    everywhere_ = TensorState::kOld;
    PeerBackend backend(plan_, memory_, hosting_, company_.transport(),
                        static_cast<std::uint32_t>(number));
    Engine engine(plan_, backend, pool_,
                  {options_.deadline_s, options_.stall_s, options_.trace && last});
    company_.barrier(fmt::format("begin/{}", number), options_.deadline_s);
    const Clock::time_point begin = Clock::now();
    fills_.write(pool_);
    EngineReport report = run_watched(engine);
    seconds_.push_back(seconds_since(begin));
    everywhere_ = TensorState::kNew;
    // Whoever is through first waits: a refit counts when all have it.
    company_.barrier(fmt::format("end/{}", number), options_.deadline_s);
    if (verifier_) keep_verdict(verifier_->check(), outcome_.result);
    if (outcome_.result.mismatched_bytes > 0) everywhere_ = TensorState::kTorn;
    if (!last) return;
    outcome_.result.times = std::move(report.times);
    outcome_.result.posting_order = std::move(report.posting_order);
  }

  // A verdict of the others ends the engine's run. Whatever ends it, nothing moves any more when
  // the states are read.
  EngineReport run_watched(Engine& engine) {
    company_.watch([&](const Verdict& verdict) {
      engine.interrupt(std::make_exception_ptr(PeerLost(verdict)));
    });
    try {
      EngineReport report = engine.run();
      company_.watch({});
      return report;
    } catch (...) {
      company_.watch({});
      company_.transport().stop();
      note_states(engine);
      throw;
    }
  }

  template <class StatesOf>
  void note_rank_states(StatesOf&& states_of) {
    outcome_.ranks.clear();
    for (std::int32_t rank = 0; rank < static_cast<std::int32_t>(plan_.ranks()); ++rank) {
      if (!memory_.has(rank)) continue;
      std::vector<TensorStateRow> rows = states_of(rank);
      const TensorState state = rank_state(rows);
      outcome_.ranks.push_back({rank, state, std::move(rows)});
    }
  }

  void note_states(TensorState all) {
    note_rank_states([&](std::int32_t rank) {
      std::vector<TensorStateRow> rows =
          tensor_states(plan_, rank, {[](OpId) { return false; }, [](OpId) { return false; }});
      for (TensorStateRow& row : rows) row.state = all;
      return rows;
    });
  }

  void note_states(const Engine& engine) {
    note_rank_states([&](std::int32_t rank) {
      return tensor_states(plan_, rank,
                           {[&](OpId op) { return engine.has_started(op); },
                            [&](OpId op) { return engine.has_finished(op); }});
    });
  }

  void fail(const std::string& failure, const Verdict& verdict) {
    company_.transport().stop();
    if (outcome_.ranks.empty()) note_states(everywhere_);
    outcome_.failure = failure;
    outcome_.verdict = verdict;
    if (!verifier_) return;
    for (const RankOutcome& rank : outcome_.ranks)
      for (std::string& sentence : contradictions(plan_, memory_, rank.rank, rank.tensors))
        outcome_.contradictions.push_back(std::move(sentence));
  }

  const Plan& plan_;
  const Hosting& hosting_;
  Company& company_;
  const RunOptions& options_;
  HostMemory memory_;
  ThreadPool pool_;
  ZeroFills fills_;
  std::optional<Verifier> verifier_;
  std::vector<double> seconds_;
  // Of every tensor here, unless a failed engine has left them in several (then `outcome_.ranks`).
  TensorState everywhere_ = TensorState::kOld;
  ParticipantOutcome outcome_;
};

}  // namespace

ParticipantOutcome run_share(const Plan& plan, const Hosting& hosting, Company& company,
                             const RunOptions& options) {
  if (options.iterations < 1) throw InputError("a run has at least one iteration");
  require_runnable(plan);
  return Share(plan, hosting, company, options).run();
}

}  // namespace transload
