// NeMo RL's rules on small jobs by hand: what is bulk, stripes, fallbacks, limits.
#include "planner/strategy/nemo_bulk.h"
#include "tests/planner/strategy/small_jobs.h"

namespace transload {
namespace {

using testing::choice_of;
using testing::limits_of;
using testing::PairBytes;
using testing::pairs_of;
using testing::plan_of;
using testing::RankBytes;
using testing::small_job;

TEST(NemoHybrid, BulkIsAWhitelistOfNames) {
  for (const char* name : {"model.layers.0.mlp.gate_proj.weight", "a.mlp.experts.7.up_proj.weight",
                           "a.mlp.experts.7.down_proj.weight", "a.mlp.experts.gate_up_proj",
                           "a.mlp.experts.down_proj"})
    EXPECT_TRUE(is_nemo_bulk(name)) << name;
  for (const char* name : {"model.embed_tokens.weight", "a.self_attn.o_proj.weight",
                           "a.mlp.gate.weight", "a.mlp.shared_experts.gate_proj.weight",
                           "mtp.layers.0.mlp.gate_proj.weight", "a.mlp.gate_proj.weight_scale_inv"})
    EXPECT_FALSE(is_nemo_bulk(name)) << name;
  EXPECT_EQ(expert_of("a.mlp.experts.17.up_proj.weight"), 17);
  EXPECT_EQ(expert_of("a.mlp.experts.up_proj"), std::nullopt);
}

// Two replicas of a region of 8 rows: stripe 0 to rank 2 and stripe 1 to rank 3, from holders 0 and
// 1 in turn; then the replicas exchange what they have.
TEST(NemoHybrid, StripesReplicasAndGathers) {
  const Job job = small_job(
      "  - {name: mlp.gate_proj.weight, shape: [8, 5], dtype: uint8, source: {mesh: {dp: 2}, "
      "placements: [R], ranks: 0-1}, destination: {mesh: {dp: 2}, placements: [R], ranks: 2-3}}\n",
      4);
  const Plan plan = plan_of(job, choice_of("nemo-hybrid"));
  EXPECT_EQ(pairs_of(plan, OpRole::kInject), (PairBytes{{{0, 2}, 20}, {{1, 3}, 20}}));
  EXPECT_EQ(pairs_of(plan, OpRole::kForward), (PairBytes{{{2, 3}, 20}, {{3, 2}, 20}}));
}

// 7 rows do not divide over two replicas: the first holder sends all to the first replica.
TEST(NemoHybrid, FallsBackToTheFirstHolderAndABroadcast) {
  const Job job = small_job(
      "  - {name: mlp.gate_proj.weight, shape: [7, 5], dtype: uint8, source: {mesh: {dp: 2}, "
      "placements: [R], ranks: 0-1}, destination: {mesh: {dp: 2}, placements: [R], ranks: 2-3}}\n",
      4);
  const Plan plan = plan_of(job, choice_of("nemo-hybrid"));
  EXPECT_EQ(pairs_of(plan, OpRole::kInject), (PairBytes{{{0, 2}, 35}}));
  EXPECT_EQ(pairs_of(plan, OpRole::kForward), (PairBytes{{{2, 3}, 35}}));
}

// Four experts on two trainers; an entry's stripes are experts: 0 and 1 to the first replica.
TEST(NemoHybrid, StripesOfExpertsAreWholeExperts) {
  std::string tensors;
  for (int expert = 0; expert < 4; ++expert)
    tensors += "  - {name: mlp.experts." + std::to_string(expert) +
               ".up_proj.weight, shape: [3, 5], dtype: uint8, source: {mesh: {x: 1}, placements: "
               "[R], ranks: " +
               std::to_string(expert / 2) +
               "}, destination: {mesh: {dp: 2}, placements: [R], ranks: 2-3}}\n";
  const Plan plan = plan_of(small_job(tensors, 4), choice_of("nemo-hybrid"));
  EXPECT_EQ(pairs_of(plan, OpRole::kInject), (PairBytes{{{0, 2}, 30}, {{1, 3}, 30}}));
}

// The rest is gathered and broadcast, and none of it before the bulk is done.
TEST(NemoHybrid, TheRestFollowsTheBulk) {
  const Job job = small_job(
      "  - {name: mlp.gate_proj.weight, shape: [8, 5], dtype: uint8, source: {mesh: {dp: 2}, "
      "placements: [R], ranks: 0-1}, destination: {mesh: {dp: 2}, placements: [R], ranks: 2-3}}\n"
      "  - {name: norm.weight, shape: [6], dtype: uint8, source: {mesh: {dp: 2}, placements: [R], "
      "ranks: 0-1}, destination: {mesh: {dp: 2}, placements: [R], ranks: 2-3}}\n",
      4);
  const Plan plan = plan_of(job, choice_of("nemo-hybrid"));
  EXPECT_EQ(testing::sent(plan).at(0), 20u + 6u + 6u);  // a stripe; to its peer; to the engines
  std::optional<OpId> fence;
  for (OpId op = 0; op < plan.operations(); ++op) {
    const bool misc = op_role(plan, op) == OpRole::kCollective ||
                      op_role(plan, op) == OpRole::kExport || op_role(plan, op) == OpRole::kLoad;
    if (!fence) EXPECT_FALSE(misc) << op;
    if (op_kind(plan, op) == OpKind::kFence) {
      fence = op;
    } else if (fence) {
      const auto after = op_after(plan, op);
      EXPECT_TRUE(std::find(after.begin(), after.end(), *fence) != after.end()) << op;
    }
  }
  EXPECT_TRUE(fence);
}

Job model_job(const std::string& source, const std::string& destination) {
  return job_from_text("model: qwen3-30b-a3b\ntopology: {name: dgx-h100, nodes: 4}\nsource: {" +
                           source + "}\ndestination: {" + destination + "}\n",
                       "job.yaml", "");
}

TEST(NemoHybrid, TakesWhatNeMoTakes) {
  EXPECT_TRUE(limits_of(model_job("engine: megatron, gpus: 16, parallel: {tp: 2, pp: 2, ep: 8}",
                                  "engine: vllm, gpus: 16, parallel: {tp: 8}"),
                        "nemo-hybrid")
                  .empty());
  EXPECT_TRUE(
      limits_of(model_job("engine: megatron, gpus: 16, parallel: {pp: 4, ep: 4}, pp_layout: "
                          "{first: 10, last: 14}",
                          "engine: vllm, gpus: 16, parallel: {tp: 8, ep: 8}"),
                "nemo-hybrid")
          .empty());
}

TEST(NemoHybrid, NamesWhatNeMoRefuses) {
  const auto megatron = limits_of(
      model_job("engine: megatron, gpus: 16, parallel: {tp: 2, pp: 4, ep: 2, etp: 2}, pp_layout: "
                "[12, 12, 11, 13]",
                "engine: vllm, gpus: 16, parallel: {tp: 4, pp: 2}"),
      "nemo-hybrid");
  EXPECT_EQ(megatron.at("an even pipeline but for its first and last stage").value,
            "12, 12, 11, 13 layers");
  EXPECT_TRUE(megatron.contains("whole experts on the trainer (etp 1)"));
  EXPECT_EQ(megatron.at("an engine with one pipeline stage").value,
            "layers 0 and 24 on different ranks");
  EXPECT_EQ(megatron.size(), 3u);
  const auto fsdp = limits_of(model_job("engine: fsdp, gpus: 16, parallel: {shard: 16}",
                                        "engine: vllm, gpus: 16, parallel: {tp: 2, ep: 16}"),
                              "nemo-hybrid");
  EXPECT_TRUE(fsdp.contains("a Megatron trainer"));
  EXPECT_EQ(fsdp.at("an engine with ep 1 or ep = tp").value, "ep 16, tp 2");
  const auto colocated =
      limits_of(model_job("engine: megatron, gpus: 16, parallel: {ep: 8}, nodes: 0-1",
                          "engine: vllm, gpus: 16, parallel: {tp: 8}, nodes: 1-2"),
                "nemo-hybrid");
  EXPECT_EQ(colocated.at("source and destination on different ranks").value, "8 ranks are both");
  EXPECT_EQ(colocated.size(), 1u);
}

}  // namespace
}  // namespace transload
