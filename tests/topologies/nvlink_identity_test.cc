#include "topologies/nvlink_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"

namespace transload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kZeros = "00000000-0000-0000-0000-000000000000";

std::vector<NvlinkIdentity> ranks_of(int hosts, int gpus_per_host, const std::string& cluster) {
  std::vector<NvlinkIdentity> ranks;
  for (int host = 0; host < hosts; ++host)
    for (int gpu = 0; gpu < gpus_per_host; ++gpu)
      ranks.push_back({"host" + std::to_string(host), cluster, 32766, ""});
  return ranks;
}

TEST(NvlinkIdentity, RC138_OneCliqueNumberInThreeClustersIsThreeDomains) {
  const std::vector<NvlinkIdentity> ranks = {
      {"a", "c1", 32766, ""}, {"b", "c2", 32766, ""}, {"c", "c3", 32766, ""}};
  for (const MultiNodeNvlink multi_node :
       {MultiNodeNvlink::kUnknown, MultiNodeNvlink::kOn, MultiNodeNvlink::kOff}) {
    const NvlinkDomains domains = group_nvlink_domains(ranks, multi_node);
    EXPECT_EQ(domains.count, 3);
    EXPECT_THAT(domains.domain_of, ElementsAre(0, 1, 2));
  }
}

TEST(NvlinkIdentity, RC139_AllZeroClusterIsNoFabric) {
  for (const char* cluster : {kZeros, "", "0", "0x0000"}) {
    const NvlinkDomains domains =
        group_nvlink_domains(ranks_of(2, 8, cluster), MultiNodeNvlink::kOn);
    EXPECT_EQ(domains.count, 2) << cluster;
    EXPECT_EQ(domains.domain_of[7], 0) << cluster;
    EXPECT_EQ(domains.domain_of[8], 1) << cluster;
    EXPECT_THAT(domains.asked, IsEmpty());
  }
}

TEST(NvlinkIdentity, RC139_EqualIdsOfTwoHostsNeedSomebodysWord) {
  const std::vector<NvlinkIdentity> ranks = ranks_of(2, 8, "d1e2-0003");
  const NvlinkDomains unknown = group_nvlink_domains(ranks, MultiNodeNvlink::kUnknown);
  EXPECT_EQ(unknown.count, 2);
  ASSERT_THAT(unknown.asked, SizeIs(1));
  EXPECT_THAT(unknown.asked[0], HasSubstr("host0, host1"));
  const NvlinkDomains on = group_nvlink_domains(ranks, MultiNodeNvlink::kOn);
  EXPECT_EQ(on.count, 1);
  EXPECT_THAT(on.asked, IsEmpty());
}

TEST(NvlinkIdentity, RC140_DomainsEndAtImexDomainsAndCanBeSwitchedOff) {
  std::vector<NvlinkIdentity> ranks = ranks_of(4, 2, "c1");
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i].imex_domain = i < 4 ? "imex0" : "imex1";
  const NvlinkDomains on = group_nvlink_domains(ranks, MultiNodeNvlink::kOn);
  EXPECT_EQ(on.count, 2);
  EXPECT_THAT(on.domain_of, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  const NvlinkDomains off = group_nvlink_domains(ranks, MultiNodeNvlink::kOff);
  EXPECT_EQ(off.count, 4);
  EXPECT_THAT(off.domain_of, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(off.asked, IsEmpty());
}

TEST(NvlinkIdentity, RC142_PartitionNumberCountsOnlyWithinItsCluster) {
  const std::vector<NvlinkIdentity> ranks = {
      {"a", "c1", 1, ""}, {"b", "c1", 1, ""}, {"c", "c1", 2, ""}, {"d", "c2", 1, ""}};
  const NvlinkDomains domains = group_nvlink_domains(ranks, MultiNodeNvlink::kOn);
  EXPECT_THAT(domains.domain_of, ElementsAre(0, 0, 1, 2));
}

TEST(NvlinkIdentity, SpellingOfAClusterDoesNotMatter) {
  const std::vector<NvlinkIdentity> ranks = {{"a", "AB-CD", 1, ""}, {"b", "abcd", 1, ""}};
  EXPECT_EQ(group_nvlink_domains(ranks, MultiNodeNvlink::kOn).count, 1);
}

TEST(NvlinkIdentity, RefusesByRank) {
  const auto refusal = [](const std::vector<NvlinkIdentity>& ranks) {
    try {
      group_nvlink_domains(ranks, MultiNodeNvlink::kOn);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refusal({{"a", "c1", 1, ""}, {"", "c1", 1, ""}}), HasSubstr("rank 1"));
  EXPECT_THAT(refusal({{"a", "rack nine", 1, ""}}), HasSubstr("hexadecimal"));
}

TEST(NvlinkIdentity, RC141_HalfTheLinksAreHalfTheRate) {
  EXPECT_EQ(degraded_nvlink_rate(900'000'000'000, 0xaa, 8), 450'000'000'000);
  EXPECT_EQ(degraded_nvlink_rate(900'000'000'000, 0xff, 8), 900'000'000'000);
  EXPECT_EQ(degraded_nvlink_rate(900'000'000'000, 0, 8), 0);
  EXPECT_EQ(degraded_nvlink_rate(450, 0x3ffff, 18), 450);  // 18 links of an H100
  EXPECT_EQ(degraded_nvlink_rate(64, ~std::uint64_t{0}, 64), 64);
}

}  // namespace
}  // namespace transload
