#include "planner/schedule/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/graph/filtered_graph.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <boost/graph/topological_sort.hpp>

#include "common/error.h"
#include "tests/planner/schedule/sample_plans.h"

namespace transload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<OpGraph>));
BOOST_CONCEPT_ASSERT((boost::EdgeListGraphConcept<OpGraph>));
BOOST_CONCEPT_ASSERT((boost::IncidenceGraphConcept<OpGraph>));

TEST(OpGraph, ShowsTheEdgesOfThePlan) {
  const OpGraph graph(testing::two_domains());
  EXPECT_EQ(num_vertices(graph), 8u);
  EXPECT_EQ(num_edges(graph), 6u);
  std::vector<OpEdge> all;
  for (auto [e, end] = edges(graph); e != end; ++e) all.push_back(*e);
  EXPECT_THAT(all, ElementsAre(OpEdge{0, 1, false}, OpEdge{1, 2, false}, OpEdge{1, 3, true},
                               OpEdge{2, 6, false}, OpEdge{3, 4, false}, OpEdge{4, 7, false}));
  EXPECT_EQ(out_degree(1, graph), 2u);
  EXPECT_EQ(out_degree(5, graph), 0u);
  const auto [first, last] = out_edges(5, graph);
  EXPECT_TRUE(first == last);
}

TEST(OpGraph, RunsBoostsOwnTopologicalSort) {
  const OpGraph graph(testing::two_domains());
  std::vector<OpId> reversed;
  boost::topological_sort(graph, std::back_inserter(reversed));
  EXPECT_EQ(reversed.size(), 8u);
  EXPECT_LT(std::find(reversed.begin(), reversed.end(), 7),
            std::find(reversed.begin(), reversed.end(), 0));
}

TEST(TopologicalOrder, PutsEveryOperationAfterWhatItWaitsFor) {
  const Plan plan = testing::half_and_half(4, 4);
  const std::vector<OpId> order = topological_order(plan);
  ASSERT_EQ(order.size(), plan.operations());
  std::vector<std::size_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::size_t edges_seen = 0;
  for (OpId op = 0; op < plan.operations(); ++op)
    for (const OpId before : op_after(plan, op)) {
      EXPECT_LT(place[before], place[op]);
      ++edges_seen;
    }
  EXPECT_EQ(edges_seen, 16u);  // 8 sources x 2 destination domains, a fan-out each
}

Plan cyclic_plan() {
  testing::Cluster c(2, 1);
  const std::int32_t bundle = c.whole_tensor("w", 4);
  const OpId a = c.transfer(0, OpRole::kInject, 0, 1, bundle, 16, true);
  const OpId b = c.transfer(1, OpRole::kInject, 0, 1, bundle, 16, true);
  c.builder.add_after(b, a);
  c.builder.add_stream(a, b);
  return c.seal();
}

TEST(TopologicalOrder, RefusesACycleAndNamesIt) {
  try {
    topological_order(cyclic_plan());
    FAIL() << "a cycle has no order";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cycle: operation 0 waits for operation 1"));
  }
  const std::vector<double> durations = {1, 1};
  EXPECT_THROW(critical_path(cyclic_plan(), durations), InputError);
}

TEST(CriticalPath, AddsUpAfterEdges) {
  // pack 1 s, inject 2 s, then unpack 5 s and load 1 s: 9 s. The other branch: fan-out streams
  // behind the inject, starts with it at 1 s, takes 1 s by itself, ends with it at 3 s; unpack 1 s:
  // 4 s.
  const std::vector<double> durations = {1, 2, 5, 1, 1, 0.5, 1, 0};
  const CriticalPath path = critical_path(testing::two_domains(), durations);
  EXPECT_DOUBLE_EQ(path.length_s, 9);
  EXPECT_THAT(path.operations, ElementsAre(0, 1, 2, 6));
}

TEST(CriticalPath, RunsStreamsBesideTheirUpstream) {
  // The fan-out starts with the inject at 1 s and takes 4 s: 5 s, not 1 + 2 + 4; unpack 1 s: 6 s.
  const std::vector<double> slow_hop = {1, 2, 0, 4, 1, 0, 0, 0};
  EXPECT_DOUBLE_EQ(critical_path(testing::two_domains(), slow_hop).length_s, 6);
  EXPECT_THAT(critical_path(testing::two_domains(), slow_hop).operations, ElementsAre(0, 1, 3, 4));
  // It takes 1 s by itself but ends no earlier than the inject at 1 + 4 s; unpack 1 s: 6 s.
  const std::vector<double> slow_upstream = {1, 4, 0, 1, 1, 0, 0, 0};
  EXPECT_DOUBLE_EQ(critical_path(testing::two_domains(), slow_upstream).length_s, 6);
  EXPECT_THAT(critical_path(testing::two_domains(), slow_upstream).operations,
              ElementsAre(0, 1, 3, 4));
}

TEST(CriticalPath, OfNothingIsEmpty) {
  testing::Cluster c(1, 1);
  const CriticalPath path = critical_path(c.seal(), {});
  EXPECT_EQ(path.length_s, 0);
  EXPECT_TRUE(path.operations.empty());
}

}  // namespace
}  // namespace transload
