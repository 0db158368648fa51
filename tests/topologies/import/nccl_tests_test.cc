#include "topologies/import/nccl_tests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/import/fabric_refusal.h"
#include "topologies/import/readers.h"
#include "topologies/import/scaling.h"

namespace transload {
namespace {

using testing::changed;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::joined;

std::string refusal(const std::string& text) { return testing::refusal(read_nccl_tests, text); }

struct Figure {
  std::int64_t size;
  double time_us;
  double algorithm_rate;  // GB/s
  double bus_rate;        // GB/s
};

std::string row(const Figure& f, const std::string& wrong = "0") {
  return fmt::format(
      "  {}  {}  float  none  -1  {:.2f}  {:.2f}  {:.2f}  {}  1.00  1.00  1.00  N/A\n", f.size,
      f.size / 64, f.time_us, f.algorithm_rate, f.bus_rate, wrong);
}

// Figures of data/cases.json RC-132 (files/logs/nccl-tests-alltoall-roce-16gpu.log): out-of-place
// time, algorithm and bus bandwidth of an all-to-all of 16 GPUs over RoCE.
const std::vector<Figure> kCollapse = {
    {1024, 40.78, 0.03, 0.02},           {2048, 30.55, 0.07, 0.06},
    {4096, 30.75, 0.13, 0.12},           {8192, 30.93, 0.26, 0.25},
    {16384, 33.17, 0.49, 0.46},          {32768, 33.89, 0.97, 0.91},
    {65536, 35.95, 1.82, 1.71},          {131072, 43.50, 3.01, 2.82},
    {262144, 43.37, 6.04, 5.67},         {524288, 50.77, 10.33, 9.68},
    {1048576, 71.44, 14.68, 13.76},      {2097152, 91.68, 22.87, 21.44},
    {4194304, 161.19, 26.02, 24.39},     {8388608, 5686.63, 1.48, 1.38},
    {16777216, 10427.5, 1.61, 1.51},     {33554432, 809.44, 41.45, 38.86},
    {67108864, 103605, 0.65, 0.61},      {134217728, 91092.4, 1.47, 1.38},
    {268435456, 99272.0, 2.70, 2.54},    {536870912, 95578.5, 5.62, 5.27},
    {1073741824, 99415.3, 10.80, 10.13}, {2147483648, 115136, 18.65, 17.49},
    {4294967296, 161268, 26.63, 24.97},  {8589934592, 246641, 34.83, 32.65}};

std::string collapse_log() {
  std::string text =
      "# Collective test starting: alltoall_perf\n"
      "#  Rank  0 Group  0 Pid   1 on host-a device  0 [0000:06:00] NVIDIA Device\n"
      "#  Rank 15 Group  0 Pid   9 on host-b device  7 [0000:f9:00] NVIDIA Device\n"
      "NCCL version 2.30.3+cuda13.0\n";
  for (const Figure& figure : kCollapse) text += row(figure);
  return text + "# Avg bus bandwidth    : 8.9909\n";
}

TEST(NcclTests, RC132_KeepsAndFlagsCollapsedRows) {
  const NcclTestLog log = parse_nccl_tests_log(collapse_log(), "FILE");
  ASSERT_EQ(log.tables.size(), 1U);
  const NcclTestTable& table = log.tables[0];
  EXPECT_EQ(table.test, "alltoall");
  EXPECT_EQ(table.ranks, 16);
  EXPECT_EQ(table.hosts, 2);
  ASSERT_EQ(table.rows.size(), kCollapse.size());
  EXPECT_EQ(table.rows[13].out_of_place.time_ps, 5'686'630'000);
  EXPECT_EQ(table.rows[13].out_of_place.bus_rate, 1'380'000'000);
  std::vector<std::int64_t> flagged;
  for (const NcclTestRow& one : table.rows)
    if (one.flagged) flagged.push_back(one.size_bytes);
  EXPECT_THAT(flagged, ElementsAre(8388608, 16777216, 67108864, 134217728, 268435456, 536870912,
                                   1073741824, 2147483648));
}

TEST(NcclTests, RC132_NothingIsFittedToFlaggedRows) {
  NcclTestLog log = parse_nccl_tests_log(collapse_log(), "FILE");
  NcclTestTable& table = log.tables[0];
  ASSERT_NE(best_row(table), nullptr);
  EXPECT_EQ(best_row(table)->size_bytes, 33554432);
  // The flat rows are those up to 512 KiB (61.1 us is twice the least time); the fifth of ten,
  // after their bytes at 41.45 GB/s are taken off, is 32 KiB: 33.89 us - 32768 B / 41.45 GB/s.
  EXPECT_NEAR(static_cast<double>(fitted_latency_ps(table)) * 1e-6, 33.89 - 32768 / 41.45e3, 1e-4);
  // Flagged rows may say what they like.
  const std::int64_t before = fitted_latency_ps(table);
  for (NcclTestRow& one : table.rows)
    if (one.flagged) one.out_of_place.time_ps = 1;
  EXPECT_EQ(fitted_latency_ps(table), before);
  const ImportFindings found = read_nccl_tests(collapse_log(), "FILE");
  EXPECT_THAT(joined(found.warnings), HasSubstr("collapses at 8 sizes"));
  // Half of an all-to-all over two hosts crosses: 33554432 / 2 bytes in 809.44 us are 20.73 GB/s.
  ASSERT_EQ(found.measurements.size(), 1U);
  EXPECT_EQ(found.measurements[0].link, "nic");
  EXPECT_NEAR(static_cast<double>(found.measurements[0].rate) * 1e-9, 20.727, 0.001);
}

TEST(NcclTests, HealthyRowsAreNotFlagged) {
  std::vector<NcclTestRow> rows(3);
  rows[0].size_bytes = 1;
  rows[0].out_of_place.bus_rate = 100;
  rows[1].size_bytes = 2;
  rows[1].out_of_place.bus_rate = 50;  // exactly half is not below half
  rows[2].size_bytes = 3;
  rows[2].out_of_place.bus_rate = 49;
  flag_collapsed_rows(rows);
  EXPECT_FALSE(rows[0].flagged);
  EXPECT_FALSE(rows[1].flagged);
  EXPECT_TRUE(rows[2].flagged);
  // The order in the file does not matter, and rows of one size are not held against each other.
  std::swap(rows[0], rows[2]);
  rows.push_back(rows[2]);
  rows.back().out_of_place.bus_rate = 1;
  flag_collapsed_rows(rows);
  EXPECT_TRUE(rows[0].flagged);
  EXPECT_FALSE(rows[2].flagged);
  EXPECT_FALSE(rows[3].flagged);
}

// Figures of RC-147 (files/logs/nccl-tests-alltoall-gb300.log): one rack and two racks of GB300.
std::string racks_log() {
  return "# alltoall_perf by somebody\n"
         "# ---- 1 host, 4 ranks\n"
         "#  Rank  0 Group  0 Pid 1 on h1 device  0 [0008:06:00] NVIDIA GB300\n"
         "#  Rank  3 Group  0 Pid 4 on h1 device  3 [0019:06:00] NVIDIA GB300\n" +
         row({17179869184, 20527, 836.92, 627.69}) + "# ---- 16 hosts of one rack, 64 ranks\n" +
         row({17179869184, 25357, 677.51, 666.92}) + "# ---- 32 hosts over 2 racks, 128 ranks\n" +
         row({8589934592, 180191, 47.67, 47.30}) + row({17179869184, 357610, 48.04, 47.67});
}

TEST(NcclTests, RC147_RateBetweenRacksIsMeasuredNotAssumed) {
  const NcclTestLog log = parse_nccl_tests_log(racks_log(), "FILE");
  ASSERT_EQ(log.tables.size(), 3U);
  const NcclTestTable& two_racks = log.tables[2];
  EXPECT_EQ(two_racks.ranks, 128);
  EXPECT_EQ(two_racks.racks, 2);
  EXPECT_EQ(two_racks.gpu, "NVIDIA GB300");
  // Half of the 17179869184 bytes of a GPU leave its rack: 8589934592 in 0.35761 s, 24.02 GB/s.
  const NcclTestRow& largest = two_racks.rows[1];
  EXPECT_EQ(largest.size_bytes * 64 / 128, 8589934592);
  EXPECT_NEAR(static_cast<double>(alltoall_rate_beyond_group(largest, 128, 64)) * 1e-9, 24.02,
              0.005);
  const ImportFindings found = read_nccl_tests(racks_log(), "FILE");
  ASSERT_EQ(found.measurements.size(), 3U);
  EXPECT_EQ(found.measurements[0].link, "nvlink");
  EXPECT_EQ(found.measurements[1].rate, 666'920'000'000);
  EXPECT_EQ(found.measurements[2].link, "nic");
  EXPECT_NEAR(static_cast<double>(found.measurements[2].rate) * 1e-9, 24.02, 0.005);
  // The peak of its cards, 100 GB/s, is 4 times too fast.
  EXPECT_NEAR(100.0 / (static_cast<double>(found.measurements[2].rate) * 1e-9), 4.16, 0.01);
}

TEST(NcclTests, AsksWhatALogCannotSay) {
  const std::string racks = changed(racks_log(), "32 hosts over 2 racks", "32 hosts");
  EXPECT_THAT(joined(read_nccl_tests(racks, "FILE").asked), HasSubstr("how many racks"));
  const std::string bare = row({1024, 10, 1, 1});
  EXPECT_THAT(joined(read_nccl_tests("# alltoall_perf\n" + bare, "FILE").asked),
              HasSubstr("how many hosts"));
  const std::string one_host = "# alltoall_perf, 1 host, 8 ranks\n" + bare;
  EXPECT_THAT(joined(read_nccl_tests(one_host, "FILE").asked), HasSubstr("NVLink or by PCIe"));
  const ImportFindings other =
      read_nccl_tests("# all_reduce_perf, 1 host, 8 ranks\n" + bare, "FILE");
  EXPECT_THAT(other.measurements, IsEmpty());
  EXPECT_THAT(joined(other.ignored), HasSubstr("only alltoall and sendrecv"));
}

TEST(NcclTests, WrongElementsAreSaidAndNotUsed) {
  const std::string text = "# sendrecv_perf, 2 hosts, 16 ranks\n" + row({1024, 10, 40, 40}) +
                           row({2048, 10, 45, 45}, "3");
  const ImportFindings found = read_nccl_tests(text, "FILE");
  ASSERT_EQ(found.measurements.size(), 1U);
  EXPECT_EQ(found.measurements[0].rate, 40'000'000'000);
  EXPECT_THAT(joined(found.warnings), HasSubstr("1 rows report wrong elements"));
}

TEST(NcclTests, RefusesBrokenRows) {
  EXPECT_THAT(refusal("# alltoall_perf\n"), HasSubstr("no row of a benchmark"));
  EXPECT_THAT(refusal("# alltoall_perf\n 1024 16 float none -1 40.78 0.03\n"),
              HasSubstr("FILE:2: expected a row"));
  EXPECT_THAT(refusal(changed(collapse_log(), "40.78", "40,78")), HasSubstr("40,78"));
  EXPECT_THAT(refusal(changed(collapse_log(), "38.86", "99999999")), HasSubstr("million GB/s"));
}

// Figures of RC-131 (files/logs/nccl-tests-sendrecv-b200-scaling.csv), GB/s per GPU at 256M.
constexpr const char* kScaling =
    "# nccl-tests sendrecv_perf (ring), busbw GB/s, 8 GPUs/node\n"
    "size,2_nodes,4_nodes,8_nodes,16_nodes,32_nodes\n"
    "1M,20.72,19.07,15.25,10.48,10.36\n"
    "256M,41.98,44.40,26.15,14.67,14.50\n";

std::vector<ScalingPoint> scaling_points(std::size_t first) {
  std::vector<ScalingPoint> points;
  const NcclTestLog log = parse_nccl_scaling_csv(kScaling, "FILE");
  for (std::size_t i = first; i < log.tables.size(); ++i)
    points.push_back({log.tables[i].hosts, log.tables[i].rows.back().out_of_place.bus_rate});
  return points;
}

TEST(NcclTests, RC131_KeepsEveryColumn) {
  const NcclTestLog log = parse_nccl_scaling_csv(kScaling, "FILE");
  ASSERT_EQ(log.tables.size(), 5U);
  EXPECT_EQ(log.tables[3].hosts, 16);
  EXPECT_EQ(log.tables[3].ranks, 128);
  ASSERT_EQ(log.tables[3].rows.size(), 2U);
  EXPECT_EQ(log.tables[3].rows[0].size_bytes, 1048576);
  EXPECT_EQ(log.tables[3].rows[1].size_bytes, 268435456);
  EXPECT_EQ(log.tables[3].rows[1].out_of_place.bus_rate, 14'670'000'000);
}

TEST(NcclTests, RC131_LinksSharedBy1And2And3And3FlowsFit) {
  constexpr std::int64_t kTolerance = 200'000;                 // 20 %
  const std::vector<ScalingPoint> points = scaling_points(1);  // 4, 8, 16, 32 nodes
  EXPECT_THAT(flows_per_link(points), ElementsAre(1, 2, 3, 3));
  EXPECT_TRUE(shared_links_fit(points, {1, 2, 3, 3}, kTolerance));
  // 44.4 / 2 = 22.2 is 15.1 % below 26.15, and no better than that.
  EXPECT_FALSE(shared_links_fit(points, {1, 2, 3, 3}, 150'000));
  // One bandwidth fits 2 and 4 nodes, and no more.
  EXPECT_TRUE(shared_links_fit({{2, 41'980'000'000}, points[0]}, {1, 1}, kTolerance));
  EXPECT_FALSE(shared_links_fit(points, {1, 1, 1, 1}, kTolerance));
}

TEST(NcclTests, RC131_OneSharedCoreLinkDoesNotFit) {
  constexpr std::int64_t kTolerance = 200'000;
  const std::vector<ScalingPoint> points = scaling_points(2);  // 8, 16, 32 nodes
  EXPECT_FALSE(one_core_link_fits(points, kTolerance));
  // 8 and 16 nodes alone are met by 188 to 251 GB/s: 14.67 * 16 * 0.8 = 187.8, 26.15 * 8 * 1.2 =
  // 251.0; then 32 nodes would see 7.8 GB/s at most.
  EXPECT_TRUE(one_core_link_fits({points[0], points[1]}, kTolerance));
  EXPECT_FALSE(one_core_link_fits({points[1], points[2]}, kTolerance));
  EXPECT_THAT(joined(read_nccl_tests(kScaling, "FILE").warnings),
              HasSubstr("one core link that all nodes share does not fit"));
}

TEST(NcclTests, ScalingTableGivesTheUndisturbedRate) {
  const ImportFindings found = read_nccl_tests(kScaling, "FILE");
  ASSERT_EQ(found.measurements.size(), 1U);
  EXPECT_EQ(found.measurements[0].link, "nic");
  EXPECT_EQ(found.measurements[0].rate, 44'400'000'000);
}

TEST(NcclTests, RefusesBrokenScalingTables) {
  EXPECT_THAT(refusal(changed(kScaling, "busbw", "rate")), HasSubstr("which bandwidth"));
  EXPECT_THAT(refusal(changed(kScaling, "4_nodes", "four")), HasSubstr("expected a column"));
  EXPECT_THAT(refusal(changed(kScaling, "41.98,", "")), HasSubstr("FILE:4:"));
  EXPECT_THAT(refusal(changed(kScaling, "1M,", "1Q,")), HasSubstr("expected a size"));
  EXPECT_THAT(refusal(changed(kScaling, "20.72", "fast")), HasSubstr("number of GB/s"));
}

}  // namespace
}  // namespace transload
