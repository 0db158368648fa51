// Jobs without some of their members: who supplies, who is dropped, what has no holder left.
#include "planner/job/membership.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "planner/job/job_edit.h"
#include "planner/schedule/access.h"
#include "planner/schedule/check/check_plan.h"
#include "planner/strategy/strategy.h"
#include "tests/testing/random_job.h"

namespace transload::testing {
namespace {

// Two replicas of each half of w on ranks 0-3; four destinations.
const std::string kReplicas = R"(
topology: {nodes: [{count: 2, gpus: 4, nic: 50GB/s, nvlink: 450GB/s}]}
tensors:
  - name: w
    shape: [8, 8]
    dtype: bf16
    source:      {mesh: {dp: 2, tp: 2}, placements: [R, S(0)], ranks: 0-3}
    destination: {mesh: {tp: 4}, placements: [S(1)], ranks: 4-7}
  - name: v
    shape: [4]
    dtype: bf16
    source:      {mesh: {x: 1}, placements: [R], ranks: 1}
    destination: {mesh: {x: 1}, placements: [R], ranks: 4}
)";

Job job_of(const std::string& text) { return job_from_text(text, "job.yaml", ""); }

Job without(const std::string& text, const std::string& value) {
  const JobEdit edit{"without", value};
  return job_of(edited_job(text, std::span(&edit, 1)));
}

std::set<std::int32_t> ranks_of(const Plan& plan) {
  std::set<std::int32_t> ranks;
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank)
    if (takes_part(plan, static_cast<std::int32_t>(rank)))
      ranks.insert(static_cast<std::int32_t>(rank));
  return ranks;
}

void expect_proven(const Plan& plan) {
  const CheckReport report = check_plan(plan);
  EXPECT_TRUE(report.ok) << (report.ok ? "" : report.violations[0].text);
}

TEST(Membership, OtherReplicasSupplyTheBytesOfALostSource) {
  const Job job = without(kReplicas, "{ranks: [2]}");
  EXPECT_EQ(job.problem.source_ranks, (std::vector<Rank>{0, 1, 3}));
  EXPECT_TRUE(job.missing.empty());
  const Plan plan = make_plan(job);
  expect_proven(plan);
  EXPECT_EQ(ranks_of(plan), (std::set<std::int32_t>{0, 1, 3, 4, 5, 6, 7}));
  EXPECT_EQ(plan_totals(plan).payload_bytes, 8u * 8 * 2 + 4 * 2);
}

TEST(Membership, ALostDestinationOfATensorJobWantsNothing) {
  const Job job = without(kReplicas, "{ranks: [6]}");
  const Plan plan = make_plan(job);
  expect_proven(plan);
  EXPECT_EQ(ranks_of(plan), (std::set<std::int32_t>{0, 1, 2, 3, 4, 5, 7}));
  EXPECT_EQ(plan_totals(plan).payload_bytes, 8u * 6 * 2 + 4 * 2);
}

// v lies on rank 1 alone; rows 0-3 of w on ranks 0 and 2.
TEST(Membership, WhatHasNoHolderLeftIsNamedWithTheLostRanksAndTheNearestCopy) {
  try {
    without(kReplicas, "{ranks: [0, 1, 2]}");
    FAIL() << "accepted";
  } catch (const MissingHolders& error) {
    ASSERT_EQ(error.missing().size(), 2u);
    const MissingTensor& w = error.missing()[0];
    EXPECT_EQ(w.name, "w");
    EXPECT_EQ(w.box, "[0:4, 0:2]");
    EXPECT_EQ(w.lost, (std::vector<Rank>{0, 2}));
    EXPECT_EQ(w.wanted_by, 4);
    EXPECT_EQ(w.nearest_replica, 4);
    EXPECT_EQ(error.missing()[1].name, "v");
    EXPECT_EQ(error.missing()[1].lost, (std::vector<Rank>{1}));
    for (const char* word : {"tensor w", "0, 2", "[0:4, 0:2]", "rank 4", "--allow-missing"})
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

TEST(Membership, AllowedMissingTensorsAreLeftOutWhole) {
  const Job job = without(kReplicas, "{ranks: [1], allow_missing: true}");
  EXPECT_EQ(unplaced_names(job), (std::vector<std::string>{"v"}));
  EXPECT_EQ(job.problem.names, (std::vector<std::string>{"w"}));
  const Plan plan = make_plan(job);
  expect_proven(plan);
  EXPECT_EQ(plan_totals(plan).payload_bytes, 8u * 8 * 2);
}

TEST(Membership, RefusesRanksAndNicsThatDoNotExist) {
  const auto refusal = [](const std::string& value) -> std::string {
    try {
      without(kReplicas, value);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_NE(refusal("{ranks: [8]}").find("without.ranks"), std::string::npos);
  EXPECT_NE(refusal("{nics: [\"node7:nic0\"]}").find("no node node7"), std::string::npos);
  EXPECT_NE(refusal("{nics: [\"node0:nic9\"]}").find("NIC of node node0"), std::string::npos);
  EXPECT_NE(refusal("{rank: [1]}").find("ranks"), std::string::npos);
}

// A NIC is down: its GPU goes through the NIC of a neighbour, and nothing uses the one that is
// down.
TEST(Membership, NothingUsesANicThatIsDown) {
  const Job job = without(kReplicas, "{nics: [\"node1:nic2\"]}");
  const Plan plan = make_plan(job);
  expect_proven(plan);
  EXPECT_EQ(plan_totals(plan).payload_bytes, 8u * 8 * 2 + 4 * 2);
  for (std::size_t port = 0; port < plan.ports(); ++port)
    EXPECT_EQ(plan_name(plan, plan.port_name[port]).find("node1.nic2"), std::string_view::npos);
}

const std::string kModelJob = R"(
model: qwen3-4b
topology: {name: dgx-h100, nodes: 3}
source:      {engine: megatron, gpus: 4, parallel: {tp: 2, pp: 1}}
destination: {engine: vllm, gpus: 12, parallel: {tp: 4}}
)";

// RC-156: four trainers, three engines, one of them dead: the plan is for the survivors, with the
// same trainers and no operation to a rank of the dead engine, of which only one rank was lost.
TEST(Membership, RC156ADeadEngineIsDroppedWhole) {
  const Job job = without(kModelJob, "{ranks: [13]}");
  EXPECT_EQ(job.problem.source_ranks, (std::vector<Rank>{0, 1, 2, 3}));
  EXPECT_EQ(job.problem.destination_ranks, (std::vector<Rank>{8, 9, 10, 11, 16, 17, 18, 19}));
  const Plan plan = make_plan(job);
  expect_proven(plan);
  for (OpId op = 0; op < plan.operations(); ++op) {
    EXPECT_FALSE(plan.op_destination[op] >= 12 && plan.op_destination[op] < 16);
    EXPECT_FALSE(plan.op_source[op] >= 12 && plan.op_source[op] < 16);
  }
}

// RC-158: a restarted engine gets its weights alone: without the other engines, the refit moves one
// engine's copy, and no operation concerns the others.
TEST(Membership, RC158ARestartedEngineIsFedAlone) {
  const std::uint64_t all = plan_totals(make_plan(job_of(kModelJob))).payload_bytes;
  const Plan plan = make_plan(without(kModelJob, "{ranks: [8-11, 16-19]}"));
  expect_proven(plan);
  EXPECT_EQ(plan_totals(plan).payload_bytes, all / 3);
  EXPECT_EQ(ranks_of(plan), (std::set<std::int32_t>{0, 1, 2, 3, 12, 13, 14, 15}));
}

// Elements of tensor and side that a rank holds, as positions in row-major order.
using Held = std::map<std::string, std::map<Rank, std::set<std::int64_t>>>;
Held held(const Job& job, bool source) {
  Held result;
  for (const TensorGroup& group : job.problem.groups)
    for (std::uint32_t t = group.first; t < group.first + group.count; ++t)
      for (const RankBox& shard :
           job.problem.layouts[source ? group.source : group.destination].shards) {
        std::vector<std::int64_t> at;
        for (std::size_t d = 0; d < shard.box.dims(); ++d) at.push_back(shard.box.lo(d));
        while (true) {
          std::int64_t position = 0;
          for (std::size_t d = 0; d < at.size(); ++d) position = position * group.shape[d] + at[d];
          result[job.problem.names[t]][shard.rank].insert(position);
          std::size_t d = at.size();
          while (d-- > 0) {
            if (++at[d] < shard.box.hi(d)) break;
            at[d] = shard.box.lo(d);
          }
          if (d == static_cast<std::size_t>(-1)) break;
        }
      }
  return result;
}

// How many strategies can do the job; each plan is proven and concerns no lost rank.
int plans_of_all_strategies(const Job& job, const std::set<Rank>& lost) {
  const PlanningInput input = prepare(job);
  int planned = 0;
  for (const StrategyInfo& info : strategies()) {
    SCOPED_TRACE(info.name);
    StrategyChoice choice;
    choice.name = info.name;
    try {
      const Plan plan = make_plan(job, input, choice, Discipline::kWindows);
      expect_proven(plan);
      for (const Rank rank : lost) EXPECT_FALSE(takes_part(plan, rank));
      ++planned;
    } catch (const UnsupportedError&) {
    }
  }
  return planned;
}

// A tensor misses holders exactly where a living destination wants an element of which all holders
// are lost: element by element on random jobs.
TEST(Membership, MissesExactlyWhatNoLivingRankHolds) {
  std::mt19937_64 random(5);
  int with_missing = 0;
  int planned = 0;
  for (int i = 0; i < 60; ++i) {
    const std::string text = random_job(random);
    const Job whole = job_of(text);
    std::set<Rank> lost;
    const std::int64_t count = pick(random, 1, 3);
    for (std::int64_t k = 0; k < count; ++k)
      lost.insert(static_cast<Rank>(
          pick(random, 0, static_cast<std::int64_t>(whole.topology.gpus.size()) - 1)));
    const Held sources = held(whole, true);
    std::set<std::string> expected;
    for (const auto& [name, ranks] : held(whole, false))
      for (const auto& [rank, elements] : ranks) {
        if (lost.contains(rank)) continue;
        for (const std::int64_t element : elements) {
          bool living = false;
          for (const auto& [holder, its] : sources.at(name))
            living |= !lost.contains(holder) && its.contains(element);
          if (!living) expected.insert(name);
        }
      }
    const std::vector<Rank> list(lost.begin(), lost.end());
    const std::string value = "{ranks: " + index_text(list) + ", allow_missing: true}";
    try {
      const Job reduced = without(text, value);
      const std::vector<std::string> missing = unplaced_names(reduced);
      EXPECT_EQ(std::set<std::string>(missing.begin(), missing.end()), expected) << text << value;
      with_missing += expected.empty() ? 0 : 1;
      planned += plans_of_all_strategies(reduced, lost);
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("moves nothing"), std::string::npos)
          << error.what() << text << value;
    }
  }
  EXPECT_GT(planned, 200);
  EXPECT_GT(with_missing, 8);
}

}  // namespace
}  // namespace transload::testing
