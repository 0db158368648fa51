// Plans run by several processes over TCP, and what they say when a byte is changed on the way.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/testing/peers/run_over_tcp.h"
#include "tests/testing/random_plan.h"

namespace transload::testing {
namespace {

std::int32_t participants(const Plan& plan) {
  std::int32_t count = 0;
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank)
    if (takes_part(plan, static_cast<std::int32_t>(rank))) ++count;
  return count;
}

TEST(NetRun, RandomPlansAreExact) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 40; ++i) {
    const Plan plan = random_plan(random);
    TcpRun run;
    run.processes = 1 + static_cast<std::int32_t>(random() % 4);
    run.processes = std::min(run.processes, participants(plan));
    run.options = {.verify = true, .iterations = 2, .threads = 2};
    const auto outcomes = run_over_tcp(plan, run);
    ASSERT_EQ(first_problem(outcomes), "") << "plan " << i << ", " << run.processes;
    std::uint64_t verified = 0;
    for (const ParticipantOutcome& outcome : outcomes) {
      verified += outcome.result.verified_bytes;
      for (const RankOutcome& rank : outcome.ranks) EXPECT_EQ(rank.state, TensorState::kNew);
    }
    EXPECT_EQ(verified, run_on_host(plan, {.verify = true, .threads = 1}).verified_bytes);
  }
}

// The first crossing operation of process 0.
std::int64_t first_sent(const Plan& plan, std::int32_t processes) {
  const Hosting hosting = Hosting::blocks(plan, processes, 0);
  for (OpId op = 0; op < plan.operations(); ++op)
    if (hosting.crosses(plan, op) && hosting.hosts(plan.op_source[op])) return op;
  return -1;
}

// Every process comes to the same verdict, nobody is dead, and no tensor is said to be what it is
// not.
TEST(NetRun, AChangedByteStopsAllWithTheSameVerdict) {
  std::mt19937_64 random(12);
  int corrupted = 0;
  for (int i = 0; i < 60 && corrupted < 5; ++i) {
    const Plan plan = random_plan(random);
    TcpRun run;
    run.processes = std::min(3, participants(plan));
    run.corrupter = 0;
    run.corrupt_from = first_sent(plan, run.processes);
    run.options = {.verify = true, .threads = 2};
    run.beat_timeout_s = 4;
    if (run.corrupt_from < 0) continue;
    ++corrupted;
    const auto outcomes = run_over_tcp(plan, run);
    for (const ParticipantOutcome& outcome : outcomes) {
      ASSERT_TRUE(outcome.verdict.has_value()) << "plan " << i;
      EXPECT_EQ(*outcome.verdict, *outcomes.front().verdict);
      EXPECT_EQ(outcome.verdict->epoch, 1u);
      EXPECT_TRUE(outcome.verdict->dead.empty());
      EXPECT_NE(outcome.failure->find("checksum"), std::string::npos) << *outcome.failure;
      EXPECT_EQ(outcome.contradictions, std::vector<std::string>{});
    }
  }
  EXPECT_EQ(corrupted, 5);
}

}  // namespace
}  // namespace transload::testing
