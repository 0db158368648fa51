// What docs/topologies.md and the examples say is what there is.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/topologies/loading.h"

namespace transload {
namespace {

std::string text_of(const std::string& file) {
  std::ifstream stream(std::string(TRANSLOAD_SOURCE_DIR "/") + file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(TopologyDocuments, AClusterOfOnesOwnTakesFewerThanTwentyLines) {
  const std::string example = text_of("examples/my-cluster.yaml");
  EXPECT_LT(std::count(example.begin(), example.end(), '\n'), 20);
  EXPECT_THAT(text_of("docs/topologies.md"), testing::HasSubstr(example));
  const Topology topology = load("topology: my-cluster.yaml", TRANSLOAD_SOURCE_DIR "/examples");
  EXPECT_EQ(topology.nodes.size(), 24U);
  EXPECT_EQ(topology.gpus.size(), 192U);
  EXPECT_EQ(topology.nics.size(), 16U * 8 + 8U * 4);
  EXPECT_EQ(topology.domain_count, 24);
  EXPECT_EQ(topology.nodes[15].name, "train15");
  EXPECT_EQ(topology.nodes[16].name, "serve0");
  // Two units of eight leaves, one of four, and a spine.
  EXPECT_EQ(topology.switches.size(), 2U * 8 + 4 + 1);
}

TEST(TopologyDocuments, TheTableHasEverySystem) {
  const std::string page = text_of("docs/topologies.md");
  for (const std::string& name : topology_library())
    EXPECT_THAT(page, testing::HasSubstr("| `" + name + "` |"));
}

}  // namespace
}  // namespace transload
