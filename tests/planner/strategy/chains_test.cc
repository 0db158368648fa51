#include "planner/strategy/chains.h"

#include <gtest/gtest.h>

#include "planner/strategy/helper_ranks.h"
#include "planner/strategy/transload/deliveries.h"
#include "tests/planner/strategy/small_jobs.h"

namespace transload {
namespace {

struct Assigned {
  Job job;
  PlanningInput input;
  PlanBuilder builder;
  Fabric fabric;
  RouteSet routes;
};

std::unique_ptr<Assigned> chains_of(const std::string& tensors, int nodes, int gpus) {
  auto all = std::make_unique<Assigned>();
  all->job = testing::small_job(tensors, nodes, gpus);
  all->input = prepare(all->job);
  all->fabric = add_fabric(all->builder, all->job.topology, all->job.problem);
  all->routes = assign_chains(all->job.problem, all->input.demand, all->fabric,
                              {may_help(all->job), all->input.wire_bound_ps, 0});
  return all;
}

// Rank 0 holds what four nodes of one GPU want: it sends once, each node but the last forwards.
TEST(Chains, ASourceThatIsShortSendsOnce) {
  const auto all = chains_of(R"(
  - {name: w, shape: [8388608], dtype: uint8, source: {mesh: {x: 1}, placements: [R], ranks: 0},
     destination: {mesh: {y: 4}, placements: [R], ranks: 1-4}}
)",
                             5, 1);
  ASSERT_EQ(all->routes.routes.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const Route& route = all->routes.routes[i];
    EXPECT_EQ(route.source, static_cast<Rank>(i));
    EXPECT_EQ(route.landing, static_cast<Rank>(i + 1));
    EXPECT_EQ(route.parent, i == 0 ? kNoRoute : static_cast<std::uint32_t>(i - 1));
    EXPECT_EQ(route.end - route.begin, 8388608);
    EXPECT_TRUE(route.wanted);
  }
}

// Four holders could send as much as four nodes land: every node gets its own copy.
TEST(Chains, SourcesWithRoomSendEveryCopy) {
  const auto all = chains_of(R"(
  - {name: w, shape: [8388608], dtype: uint8, source: {mesh: {x: 4}, placements: [R], ranks: 0-3},
     destination: {mesh: {y: 4}, placements: [R], ranks: 4-7}}
)",
                             8, 1);
  for (const Route& route : all->routes.routes) EXPECT_EQ(route.parent, kNoRoute);
}

// Two trainers, three nodes of four GPUs, cut differently on both sides: a rank forwards at most
// what it lands, and every node lands every byte once.
TEST(Chains, ForwardNoMoreThanTheyLand) {
  const auto all = chains_of(R"(
  - {name: w, shape: [4096, 4096], dtype: uint8,
     source: {mesh: {x: 2}, placements: [S(0)], ranks: 0-1},
     destination: {mesh: {y: 3, z: 4}, placements: [R, S(1)], ranks: 4-15}}
  - {name: v, shape: [1024, 4096], dtype: uint8,
     source: {mesh: {x: 2}, placements: [R], ranks: 0-1},
     destination: {mesh: {y: 12}, placements: [R], ranks: 4-15}}
)",
                             4, 4);
  std::map<Rank, std::int64_t> landed;
  std::map<Rank, std::int64_t> forwarded;
  std::map<std::int32_t, std::int64_t> into;
  for (const Route& route : all->routes.routes) {
    const std::int64_t bytes = route.end - route.begin;
    landed[route.landing] += bytes;
    if (route.parent != kNoRoute) forwarded[route.source] += bytes;
    into[all->fabric.domain[static_cast<std::size_t>(route.landing)]] += bytes;
    if (route.parent == kNoRoute) continue;
    const Route& parent = all->routes.routes[route.parent];
    EXPECT_EQ(parent.landing, route.source);
    EXPECT_LE(parent.begin, route.begin);
    EXPECT_LE(route.end, parent.end);
  }
  for (const auto& [rank, bytes] : forwarded)
    if (rank > 3) EXPECT_LE(bytes, landed[rank]) << rank;
  for (std::int32_t domain = 1; domain < 4; ++domain)
    EXPECT_EQ(into[domain], 4096 * 4096 + 1024 * 4096);
}

}  // namespace
}  // namespace transload
