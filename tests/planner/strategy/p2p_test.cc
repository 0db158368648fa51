// p2p's full-tensor mode on small jobs by hand.
#include "planner/strategy/p2p_tasks.h"
#include "tests/planner/strategy/small_jobs.h"

namespace transload {
namespace {

using testing::choice_of;
using testing::PairBytes;
using testing::pairs_of;
using testing::plan_of;
using testing::small_job;

// A mesh of two shards of 50 bytes: both ranks gather all 100, then write 50 to either receiver,
// the second one from the rank that has nothing assigned yet.
TEST(P2pFullTensor, GathersTheMeshAndBalancesTheWrites) {
  const Job job = small_job(
      "  - {name: w, shape: [10, 10], dtype: uint8, source: {mesh: {fsdp: 2}, placements: [S(0)], "
      "ranks: 0-1}, destination: {mesh: {tp: 2}, placements: [S(1)], ranks: 2-3}}\n",
      4);
  const Plan plan = plan_of(job, choice_of("p2p:full-tensor"));
  EXPECT_EQ(pairs_of(plan, OpRole::kExport), (PairBytes{{{0, 1}, 50}, {{1, 0}, 50}}));
  EXPECT_EQ(pairs_of(plan, OpRole::kInject), (PairBytes{{{0, 2}, 50}, {{1, 3}, 50}}));
}

// HSDP: two replicas of two shards gather among themselves, and all four can write.
TEST(P2pFullTensor, EveryReplicaOfAMeshGathersByItself) {
  const Job job = small_job(
      "  - {name: w, shape: [8], dtype: uint8, source: {mesh: {dp: 2, fsdp: 2}, placements: [R, "
      "S(0)], ranks: 0-3}, destination: {mesh: {dp: 4}, placements: [R], ranks: 4-7}}\n",
      8);
  const Plan plan = plan_of(job, choice_of("p2p:full-tensor"));
  EXPECT_EQ(pairs_of(plan, OpRole::kExport),
            (PairBytes{{{0, 1}, 4}, {{1, 0}, 4}, {{2, 3}, 4}, {{3, 2}, 4}}));
  EXPECT_EQ(pairs_of(plan, OpRole::kInject),
            (PairBytes{{{0, 4}, 8}, {{1, 5}, 8}, {{2, 6}, 8}, {{3, 7}, 8}}));
}

// Dense weights on {0, 1} and {2, 3}, experts on {0, 2} and {1, 3}: two mesh groups of two, and the
// gathers of the second wait for the barrier behind those of the first.
TEST(P2pFullTensor, MeshGroupsFollowOneAnother) {
  std::string tensors;
  for (const char* ranks : {"[0, 1]", "[2, 3]", "[0, 2]", "[1, 3]"})
    tensors += std::string("  - {name: w") + ranks[1] + ranks[4] +
               ", shape: [8], dtype: uint8, source: {mesh: {fsdp: 2}, placements: [S(0)], ranks: " +
               ranks + "}, destination: {mesh: {x: 1}, placements: [R], ranks: 4}}\n";
  const Job job = small_job(tensors, 5);
  const std::vector<Mesh> meshes = {{{0, 1}, {}}, {{0, 2}, {}}, {{1, 3}, {}}, {{2, 3}, {}}};
  EXPECT_EQ(mesh_groups(meshes), (std::vector<std::vector<std::size_t>>{{0, 3}, {1, 2}}));
  const Plan plan = plan_of(job, choice_of("p2p:full-tensor"));
  std::vector<OpId> fences;
  std::size_t gathers_before = 0;
  std::size_t gathers_after = 0;
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (op_kind(plan, op) == OpKind::kFence) fences.push_back(op);
    if (op_role(plan, op) != OpRole::kExport) continue;
    const auto after = op_after(plan, op);
    const bool waits =
        !fences.empty() && std::find(after.begin(), after.end(), fences.front()) != after.end();
    ++(waits ? gathers_after : gathers_before);
  }
  EXPECT_EQ(fences.size(), 2u);
  EXPECT_EQ(gathers_before, 4u);
  EXPECT_EQ(gathers_after, 4u);
}

}  // namespace
}  // namespace transload
