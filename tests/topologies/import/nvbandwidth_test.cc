#include "topologies/import/nvbandwidth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/import/fabric_refusal.h"
#include "topologies/import/readers.h"

namespace transload {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::joined;

std::string refusal(const std::string& text) { return testing::refusal(read_nvbandwidth, text); }

// Sums of a machine with four GB300 (files/logs/nvbandwidth-gb300-sums.txt).
constexpr const char* kSums =
    "SUM device_to_device_memcpy_read_ce 9222.82\n"
    "SUM device_to_device_memcpy_write_ce 9310.53\n"
    "SUM host_to_device_memcpy_ce 845.90\n"
    "SUM device_to_host_memcpy_ce 773.99\n"
    "SUM all_to_one_write_ce 3179.47\n"
    "SUM device_to_device_latency_sm 20525.53\n"
    "SUM device_local_copy 13249.68\n";

TEST(Nvbandwidth, SumsBecomeRatesOnceTheGpusAreKnown) {
  const auto tests = parse_nvbandwidth(kSums, "FILE");
  ASSERT_EQ(tests.size(), 7U);
  EXPECT_EQ(tests[5].sum, 20'525'530);  // ns as ps
  const auto measured = rates_of_sums(nvbandwidth_sums(tests), 4);
  ASSERT_EQ(measured.size(), 3U);
  // Twelve ordered pairs; reading is slower than writing: 9222.82 / 12 = 768.5683 GB/s.
  EXPECT_EQ(measured[0].link, "nvlink");
  EXPECT_EQ(measured[0].rate, 768'568'333'333);
  // The slower direction: 773.99 / 4 = 193.4975 GB/s, as facts/hardware.md has for C2C (193).
  EXPECT_EQ(measured[1].link, "host");
  EXPECT_EQ(measured[1].rate, 193'497'500'000);
  // Read and written: 2 * 13249.68 / 4 = 6624.84 GB/s of 8 TB/s.
  EXPECT_EQ(measured[2].link, "copy");
  EXPECT_EQ(measured[2].rate, 6'624'840'000'000);
}

TEST(Nvbandwidth, SumsAloneAreAskedFor) {
  const ImportFindings found = read_nvbandwidth(kSums, "FILE");
  EXPECT_THAT(found.measurements, IsEmpty());
  EXPECT_EQ(found.sums.size(), 5U);
  EXPECT_THAT(joined(found.asked), HasSubstr("how many GPUs"));
  EXPECT_THAT(joined(found.ignored), HasSubstr("all_to_one_write_ce"));
}

constexpr const char* kMatrix =
    "nvbandwidth Version: v0.8\n"
    "Running device_to_device_memcpy_read_ce.\n"
    "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
    "           0         1\n"
    " 0       N/A    276.00\n"
    " 1    274.00       N/A\n"
    "\n"
    "SUM device_to_device_memcpy_read_ce 550.00\n";

TEST(Nvbandwidth, MatricesTellTheGpus) {
  const ImportFindings found = read_nvbandwidth(kMatrix, "FILE");
  ASSERT_EQ(found.measurements.size(), 1U);
  EXPECT_EQ(found.measurements[0].rate, 275'000'000'000);
  EXPECT_THAT(found.asked, IsEmpty());
}

TEST(Nvbandwidth, OneGpuHasNoPairs) {
  EXPECT_THAT(rates_of_sums({{"nvlink", 5, true, "x"}}, 1), IsEmpty());
  EXPECT_EQ(rates_of_sums({{"host", 5, false, "x"}}, 1)[0].rate, 5);
}

TEST(Nvbandwidth, RefusesBrokenOutput) {
  EXPECT_THAT(refusal("nothing\n"), HasSubstr("no line SUM"));
  EXPECT_THAT(refusal("SUM device_local_copy\n"), HasSubstr("FILE:1:"));
  EXPECT_THAT(refusal("SUM device_local_copy -3\n"), HasSubstr("cut off?"));
  EXPECT_THAT(refusal(std::string(kSums) + "SUM device_local_copy 1\n"), HasSubstr("stands twice"));
  EXPECT_THAT(refusal(std::string(kMatrix) + "  0 1 2\nSUM x 1.0\n"), HasSubstr("two machines"));
}

}  // namespace
}  // namespace transload
