#include "common/units.h"

#include <gtest/gtest.h>

namespace transload {
namespace {

TEST(Units, BytesTakeDecimalAndBinaryPrefixes) {
  EXPECT_EQ(parse_bytes("4194304"), 4194304);
  EXPECT_EQ(parse_bytes("4MiB"), 4194304);
  EXPECT_EQ(parse_bytes("1.5 kB"), 1500);
  EXPECT_EQ(parse_bytes("2TB"), 2'000'000'000'000);
}

TEST(Units, RatesMayBeBits) {
  EXPECT_EQ(parse_rate("50GB/s"), 50'000'000'000);
  EXPECT_EQ(parse_rate("400Gb/s"), 50'000'000'000);
  EXPECT_EQ(parse_rate("1B/s"), 1);
}

TEST(Units, TimesAreExactPicoseconds) {
  EXPECT_EQ(parse_duration_ps("5us"), 5'000'000);
  EXPECT_EQ(parse_duration_ps("0.02"), 20'000'000'000);
  EXPECT_EQ(parse_duration_ps("20ms"), 20'000'000'000);
}

TEST(Units, RefusesWhatIsNotAQuantity) {
  for (const char* text : {"", "GB", "-1", "1e400", "5 parsecs", "nan", "inf", "1GB/s"})
    EXPECT_FALSE(parse_bytes(text)) << text;
  for (const char* text : {"50GB", "50Gb/h", "-5GB/s"}) EXPECT_FALSE(parse_rate(text)) << text;
  EXPECT_FALSE(parse_bytes("99999999999TB")) << "more than 63 bits";
}

TEST(Units, DurationRoundsUpAndZeroRateIsFree) {
  EXPECT_EQ(duration_ps(1, 3), 333'333'333'334);  // 1/3 s
  EXPECT_EQ(duration_ps(50'000'000'000, 50'000'000'000), kPicosecondsPerSecond);
  EXPECT_EQ(duration_ps(123, 0), 0);
  EXPECT_EQ(duration_ps(INT64_MAX, 1), INT64_MAX) << "saturates";
}

TEST(Units, PrintsFourDigitsWithAPrefix) {
  EXPECT_EQ(format_bytes(1.342e12), "1.342 TB");
  EXPECT_EQ(format_bytes(999.97), "1 kB");
  EXPECT_EQ(format_seconds(0.8426), "842.6 ms");
  EXPECT_EQ(format_rate(47.5e9), "47.5 GB/s");
}

}  // namespace
}  // namespace transload
