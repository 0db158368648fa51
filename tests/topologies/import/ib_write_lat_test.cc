#include "topologies/import/ib_write_lat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/import/fabric_refusal.h"
#include "topologies/import/readers.h"

namespace transload {
namespace {

using testing::changed;
using ::testing::HasSubstr;
using testing::joined;

std::string refusal(const std::string& text) { return testing::refusal(read_ib_write_lat, text); }

constexpr const char* kSummary =
    "# 8-byte ib_write_lat, microseconds, two pairs of hosts\n"
    "a b mlx5_0 -> NUMA 0: 2.75\n"
    "a b mlx5_1 -> NUMA 0: 2.82\n"
    "a b mlx5_5 -> NUMA 1: 2.79\n"
    "a c mlx5_0 -> NUMA 0: 5.12\n";

TEST(IbWriteLat, ReadsOneLinePerPort) {
  const auto rows = parse_ib_write_lat(kSummary, "FILE");
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[2].nic, "mlx5_5");
  EXPECT_EQ(rows[2].numa, 1);
  EXPECT_EQ(rows[2].bytes, 8);
  EXPECT_EQ(rows[2].latency_ps, 2'790'000);
  EXPECT_EQ(rows[3].destination, "c");
}

TEST(IbWriteLat, OneMeasurementPerPairOfHosts) {
  const ImportFindings found = read_ib_write_lat(kSummary, "FILE");
  ASSERT_EQ(found.measurements.size(), 2U);
  EXPECT_EQ(found.measurements[0].link, "nic");
  EXPECT_EQ(found.measurements[0].rate, 0);
  EXPECT_EQ(found.measurements[0].latency_ps, 2'790'000);  // the median of 2.75, 2.79, 2.82
  EXPECT_EQ(found.measurements[1].latency_ps, 5'120'000);
  EXPECT_THAT(joined(found.asked), HasSubstr("which of the pairs"));
}

TEST(IbWriteLat, ReadsTheToolsOwnTable) {
  const std::string table =
      " Dual-port       : OFF    Device : mlx5_0\n"
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]\n"
      " 2       1000          1.60           3.00         1.66               1.67\n"
      " 4096    1000          2.60           4.00         2.66               2.67\n";
  const ImportFindings found = read_ib_write_lat(table, "FILE");
  ASSERT_EQ(found.measurements.size(), 1U);
  EXPECT_EQ(found.measurements[0].latency_ps, 1'660'000);
  EXPECT_EQ(parse_ib_write_lat(table, "FILE")[1].bytes, 4096);
}

TEST(IbWriteLat, RefusesBrokenLines) {
  EXPECT_THAT(refusal(changed(kSummary, "microseconds", "times")), HasSubstr("names the unit"));
  EXPECT_THAT(refusal(changed(kSummary, "2.82", "2.8x")), HasSubstr("FILE:3:"));
  EXPECT_THAT(refusal(changed(kSummary, "NUMA 1:", "NUMA:")), HasSubstr("FILE:4:"));
  EXPECT_THAT(refusal("# microseconds\n"), HasSubstr("no latency"));
}

}  // namespace
}  // namespace transload
