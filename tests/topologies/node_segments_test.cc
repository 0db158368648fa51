#include "topologies/node_segments.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "common/error.h"

namespace transload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(NodeSegments, RC144_UnknownDomainsAreNeverPreferred) {
  const ChosenNodes chosen = choose_segments({{"head", ""}, {"n1", "A"}, {"n2", "A"}}, 2, 2);
  EXPECT_THAT(chosen.nodes, ElementsAre(1, 2));
  EXPECT_EQ(chosen.whole_segments, 1);
  EXPECT_THAT(chosen.warnings, IsEmpty());
}

TEST(NodeSegments, RC144_TwoUnknownNodesAreNoSegment) {
  const ChosenNodes chosen =
      choose_segments({{"x", ""}, {"y", ""}, {"n1", "A"}, {"n2", "A"}}, 2, 4);
  EXPECT_THAT(chosen.nodes, ElementsAre(2, 3, 0, 1));
  EXPECT_EQ(chosen.whole_segments, 1);
  ASSERT_THAT(chosen.warnings, SizeIs(1));
  EXPECT_THAT(chosen.warnings[0], HasSubstr("begins with x"));
  EXPECT_THAT(chosen.warnings[0], HasSubstr("2 nodes of unknown domain"));
}

TEST(NodeSegments, SegmentsStayInsideDomains) {
  const ChosenNodes chosen = choose_segments(
      {{"a1", "A"}, {"b1", "B"}, {"a2", "A"}, {"b2", "B"}, {"a3", "A"}, {"b3", "B"}}, 2, 6);
  // a1 a2, b1 b2, then what is left over.
  EXPECT_THAT(chosen.nodes, ElementsAre(0, 2, 1, 3, 4, 5));
  EXPECT_EQ(chosen.whole_segments, 2);
  ASSERT_THAT(chosen.warnings, SizeIs(1));
  EXPECT_THAT(chosen.warnings[0], HasSubstr("2 domains"));
}

TEST(NodeSegments, RefusesWhatCannotBeMet) {
  EXPECT_THROW(choose_segments({{"a", "A"}, {"b", "A"}}, 2, 4), InputError);
  EXPECT_THROW(choose_segments({{"a", "A"}, {"b", "A"}, {"c", "A"}}, 2, 3), InputError);
  EXPECT_THROW(choose_segments({{"a", "A"}}, 0, 1), InputError);
  EXPECT_THROW(choose_segments({}, 1, 0), InputError);
}

// Counted by hand for random clusters: no choice has more whole segments, and unknown nodes are
// taken only when all known ones are.
TEST(NodeSegments, RandomClustersGetAsManyWholeSegmentsAsThereAre) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<NodeInDomain> nodes;
    std::map<std::string, std::int64_t> sizes;
    const std::size_t total = 1 + random() % 24;
    for (std::size_t i = 0; i < total; ++i) {
      const unsigned domain = random() % 5;
      nodes.push_back({fmt::format("n{}", i), domain == 0 ? "" : std::to_string(domain)});
      if (domain > 0) ++sizes[nodes.back().domain];
    }
    const auto segment = static_cast<std::int64_t>(1 + random() % 4);
    const std::int64_t most = static_cast<std::int64_t>(total) / segment;
    if (most == 0) continue;
    const std::int64_t segments = 1 + static_cast<std::int64_t>(random()) % most;
    const ChosenNodes chosen = choose_segments(nodes, segment, segments * segment);
    std::int64_t possible = 0;
    std::int64_t known = 0;
    for (const auto& [domain, size] : sizes) {
      possible += size / segment;
      known += size;
    }
    EXPECT_EQ(chosen.whole_segments, std::min(possible, segments));
    EXPECT_EQ(chosen.whole_segments + static_cast<std::int64_t>(chosen.warnings.size()), segments);
    EXPECT_EQ(std::set<std::int32_t>(chosen.nodes.begin(), chosen.nodes.end()).size(),
              static_cast<std::size_t>(segments * segment));
    std::int64_t unknown = 0;
    for (std::size_t i = 0; i < chosen.nodes.size(); ++i) {
      const std::string& domain = nodes[static_cast<std::size_t>(chosen.nodes[i])].domain;
      const auto in_segment = static_cast<std::int64_t>(i) / segment;
      const auto first = static_cast<std::size_t>(in_segment * segment);
      if (in_segment < chosen.whole_segments) {
        EXPECT_EQ(domain, nodes[static_cast<std::size_t>(chosen.nodes[first])].domain);
      }
      if (domain.empty()) ++unknown;
    }
    EXPECT_EQ(unknown, std::max<std::int64_t>(0, segments * segment - known));
  }
}

}  // namespace
}  // namespace transload
