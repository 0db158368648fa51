// NCCL_IB_HCA: prefixes, exact names, exclusions, ports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/import/node_files.h"
#include "topologies/import/nic_choice.h"

namespace transload {
namespace {

const std::vector<std::string> kNics = {"mlx5_0", "mlx5_1", "mlx5_10", "bond0"};

std::vector<std::string> selected(const std::string& filter,
                                  const std::vector<std::string>& nics = kNics) {
  std::vector<std::string> names;
  for (const std::int32_t nic : select_nics(nics, filter))
    names.push_back(nics[static_cast<std::size_t>(nic)]);
  return names;
}

using testing::ElementsAre;
using testing::IsEmpty;

// data/cases.json RC-137: a bare word is a prefix, "=" is exact, an empty exclusion selects none.
TEST(NicFilter, RC137_AsNcclReadsIt) {
  EXPECT_THAT(selected("mlx5"), ElementsAre("mlx5_0", "mlx5_1", "mlx5_10"));
  EXPECT_THAT(selected("mlx5_1"), ElementsAre("mlx5_1", "mlx5_10"));
  EXPECT_THAT(selected("=mlx5_1"), ElementsAre("mlx5_1"));
  EXPECT_THAT(selected("^mlx5_1"), ElementsAre("mlx5_0", "bond0"));
  EXPECT_THAT(selected("^=mlx5_1"), ElementsAre("mlx5_0", "mlx5_10", "bond0"));
  EXPECT_THAT(selected("^"), IsEmpty());
}

TEST(NicFilter, EmptyListSelectsAll) {
  EXPECT_EQ(selected(""), kNics);
  EXPECT_EQ(selected("="), kNics);
  EXPECT_EQ(selected(","), kNics);
  EXPECT_THAT(selected("^="), IsEmpty());
}

TEST(NicFilter, ListsAndWordsThatMatchNothing) {
  EXPECT_THAT(selected("=mlx5_0,mlx5_10"), ElementsAre("mlx5_0", "mlx5_10"));
  EXPECT_THAT(selected("^=mlx5_0,bond0"), ElementsAre("mlx5_1", "mlx5_10"));
  EXPECT_THAT(selected("bond,,mlx5_10"), ElementsAre("mlx5_10", "bond0"));
  EXPECT_THAT(selected("ib"), IsEmpty());
  EXPECT_EQ(selected("^ib"), kNics);
}

TEST(NicFilter, Ports) {
  const std::vector<std::string> ports = {"mlx5_0:1", "mlx5_0:2", "mlx5_1:1", "mlx5_2"};
  EXPECT_THAT(selected("=mlx5_0:2", ports), ElementsAre("mlx5_0:2"));
  EXPECT_THAT(selected("=mlx5_0", ports), ElementsAre("mlx5_0:1", "mlx5_0:2"));
  EXPECT_THAT(selected("mlx5:1", ports), ElementsAre("mlx5_0:1", "mlx5_1:1", "mlx5_2"));
  EXPECT_THAT(selected("^=mlx5_0:1", ports), ElementsAre("mlx5_0:2", "mlx5_1:1", "mlx5_2"));
  EXPECT_EQ(import_refusal([&] { select_nics(ports, "mlx5_0:one"); }),
            "mlx5_0:one: expected a port number after the colon, found \"one\"");
}

// Cards without a name are called by their PCI address, whose colons are no ports.
TEST(NicFilter, PciAddresses) {
  const std::vector<std::string> cards = {"0000:10:1b.0", "0000:20:1b.0"};
  EXPECT_THAT(selected("=0000:20:1b.0", cards), ElementsAre("0000:20:1b.0"));
}

}  // namespace
}  // namespace transload
