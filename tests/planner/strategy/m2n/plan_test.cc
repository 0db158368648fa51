// NVIDIA's plans once more, as operations of a plan; and port loads of whole models under m2n.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "planner/schedule/access.h"
#include "planner/strategy/strategy.h"
#include "tests/planner/strategy/m2n/recorded_plans.h"

namespace transload {
namespace {

using testing::PairBytes;
using testing::RecordedJob;
using testing::RecordedPlan;

constexpr std::array<const char*, 4> kModeNames = {"default", "parent-node-aware", "parent-uniform",
                                                   "direct"};

Plan plan_of(const Job& job, const std::string& mode, Discipline discipline) {
  StrategyChoice strategy;
  strategy.name = "m2n";
  strategy.mode = mode;
  return make_plan(job, prepare(job), strategy, discipline);
}

// Of the plan's transfers; chunks of one pair summed. Ranks from `first` on come back by `shift`.
PairBytes pair_bytes(const Plan& plan, Rank first, Rank shift) {
  const auto back = [&](Rank rank) { return rank >= first ? rank - shift : rank; };
  PairBytes bytes;
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (op_kind(plan, op) != OpKind::kTransfer) continue;
    const OpRole role = op_role(plan, op);
    const M2nRole its = role == OpRole::kForward  ? M2nRole::kForward
                        : role == OpRole::kFanOut ? M2nRole::kFanOut
                                                  : M2nRole::kInject;
    bytes[{its, back(plan.op_source[op]), back(plan.op_destination[op])}] +=
        static_cast<std::int64_t>(plan.op_bytes[op]);
  }
  return bytes;
}

TEST(M2nPlan, HasTheTransfersOfNvidiasPlanner) {
  std::size_t compared = 0;
  for (const RecordedJob& recorded : testing::recorded_m2n_jobs())
    for (const RecordedPlan& wanted : recorded.plans)
      for (const M2nMode mode : wanted.modes) {
        const Rank shift = wanted.path == M2nPath::kSplit ? testing::shift_to_domain(recorded) : 0;
        const Job job = job_from_text(testing::job_text(recorded, shift), "job.yaml", "");
        const Plan plan = plan_of(job, kModeNames[static_cast<std::size_t>(mode)],
                                  compared % 2 == 0 ? Discipline::kWindows : Discipline::kGroups);
        EXPECT_EQ(pair_bytes(plan, recorded.destination.first + shift, shift), wanted.moves)
            << recorded.id << " mode " << int(mode);
        ++compared;
      }
  EXPECT_EQ(compared, 165u);
}

// Kimi-K2 at one byte per parameter, 256 trainers to 128 GPUs, and DeepSeek-V3 in bf16, 256 to 8 x
// tp32: the figures of an independent model of M2N's leader and chain rules, which had the
// embedding and norms replicated as the engines do.
const char* const kK2 =
    "model: kimi-k2\ndtype: uint8\ntopology: {name: dgx-h100, nodes: 48}\n"
    "destination: {engine: vllm, gpus: 128, parallel: {tp: 1, dp: 128, ep: 128}}\n"
    "source: {engine: megatron, gpus: 256, ";
const char* const kStages = "pp_layout: [8, 8, 8, 8, 8, 7, 7, 7], parallel: ";

double busiest_nic_ms(const std::string& text, const std::string& mode) {
  const Job job = job_from_text(text, "job.yaml", "");
  const PlanTotals totals = plan_totals(plan_of(job, mode, Discipline::kWindows));
  return static_cast<double>(std::max(totals.max_nic_out_bytes, totals.max_nic_in_bytes)) / 50e6;
}

TEST(FullM2nPlan, LoadsThePortsOfWholeModelsAsItsRulesSay) {
  const std::string k2 = kK2;
  const std::string stages = kStages;
  for (const char* mode : {"default", "parent-uniform", "parent-node-aware"}) {
    SCOPED_TRACE(mode);
    EXPECT_NEAR(busiest_nic_ms(k2 + stages + "{tp: 1, pp: 8, ep: 32, etp: 1}}\n", mode), 393.0,
                0.05);
    EXPECT_NEAR(busiest_nic_ms(k2 + stages + "{tp: 4, pp: 8, ep: 32, etp: 1}}\n", mode), 233.5,
                0.05);
    EXPECT_NEAR(busiest_nic_ms(k2 + "parallel: {tp: 1, pp: 1, ep: 64, etp: 1}}\n", mode), 551.5,
                0.05);
  }
  const std::string deepseek =
      "model: deepseek-v3\ntopology: {name: dgx-h100, nodes: 64}\n"
      "source: {engine: megatron, gpus: 256, parallel: {tp: 1, pp: 16, ep: 16, etp: 1}, "
      "pp_layout: {first: 3, last: 2}}\n"
      "destination: {engine: vllm, gpus: 256, parallel: {tp: 32}}\n";
  EXPECT_NEAR(busiest_nic_ms(deepseek, "default"), 878.8, 0.1);
}

TEST(FullM2nPlan, RefusesTheModelsThatItsTablesRefuse) {
  const auto limits = [](const std::string& text) {
    const Job job = job_from_text(text, "job.yaml", "");
    StrategyChoice strategy;
    strategy.name = "m2n";
    std::string words;
    for (const Unsupported& entry : refusals(job, prepare(job), strategy))
      words += entry.limit + " (" + entry.value + "); ";
    return words;
  };
  EXPECT_EQ(limits("model: kimi-k2\ndtype: uint8\ntopology: {name: dgx-h100, nodes: 48}\n"
                   "destination: {engine: vllm, gpus: 128, parallel: {tp: 8}}\n"
                   "source: {engine: megatron, gpus: 256, pp_layout: [8, 8, 8, 8, 8, 7, 7, 7], "
                   "parallel: {tp: 1, pp: 8, ep: 32, etp: 1}}\n"),
            "at most 16 overlapping source shards per destination shard (32); ");
  const std::string hsdp = limits(
      "model: kimi-k2\ndtype: uint8\ntopology: {name: dgx-h100, nodes: 48}\n"
      "destination: {engine: vllm, gpus: 128, parallel: {tp: 1, dp: 128, ep: 128}}\n"
      "source: {engine: fsdp, gpus: 256, parallel: {shard: 32, replicate: 8}}\n");
  EXPECT_NE(hsdp.find("at most 16 overlapping source shards per destination shard (32)"),
            std::string::npos)
      << hsdp;
}

}  // namespace
}  // namespace transload
