#include "executor/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "executor/pattern.h"
#include "executor/zero_fills.h"
#include "tests/executor/small_plans.h"

namespace transload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One source rank with w [4, 8] in a buffer with a gap, one destination rank with its right half,
// dense. Tests play the executor by hand.
class VerifierTest : public ::testing::Test {
 protected:
  static Plan make() {
    SmallPlan small(2);
    const std::uint32_t tensor = small.tensor("w", {4, 8}, DType::kF32);
    ShardSpec shard;
    shard.box = small.builder.add_box(Bounds{0, 4, 0, 8});
    shard.buffer = small.builder.add_buffers(0, Side::kSource, 4 * 40 + 16, 1);
    shard.bit_offset = 16 * 8;
    shard.loops = {{0, 4, 40 * 8}, {1, 8, 32}};  // rows of 32 bytes, 8 bytes apart
    small.builder.add_shard(0, shard);
    small.shard(1, Side::kDestination, tensor, {0, 4, 4, 8});
    small.builder.set_staging(1, SlotClass::kLand, 2, 128);
    small.add(small.transfer(0, 1, small.bundle(tensor, {0, 4, 4, 8})));
    return small.seal();
  }

  void SetUp() override {
    verifier_.fill_sources();
    verifier_.poison_destinations();
  }

  std::byte* source(int row, int column) {
    return memory_.buffer(0, 0) + 16 + row * 40 + column * 4;
  }
  std::byte* destination(int row, int column) {
    return memory_.buffer(1, 0) + row * 16 + (column - 4) * 4;
  }
  void move_all() {
    for (int row = 0; row < 4; ++row) std::memcpy(destination(row, 4), source(row, 4), 16);
  }

  Plan plan_ = make();
  HostMemory memory_{plan_};
  ThreadPool pool_{2};
  Verifier verifier_{plan_, memory_, pool_};
};

TEST_F(VerifierTest, RightBytesPassTwice) {
  for (int round = 0; round < 2; ++round) {
    verifier_.poison_destinations();
    move_all();
    const VerifyReport report = verifier_.check();
    EXPECT_EQ(report.verified_bytes, 64u);
    EXPECT_EQ(report.mismatched_bytes, 0u);
    EXPECT_TRUE(report.mismatches.empty());
  }
}

TEST_F(VerifierTest, ValuesFollowFromNameAndIndex) {
  std::uint32_t value = 0;
  std::memcpy(&value, source(2, 3), 4);
  EXPECT_EQ(value, element_value(tensor_seed("w"), 2 * 8 + 3, 4));
}

TEST_F(VerifierTest, NothingMovedIsNoticedEverywhere) {
  const VerifyReport report = verifier_.check();
  EXPECT_EQ(report.mismatched_bytes, 64u);
  ASSERT_EQ(report.mismatches.size(), 1u);
  EXPECT_THAT(report.mismatches[0], HasSubstr("tensor w, rank 1, element 4 [0, 4]"));
  EXPECT_THAT(report.mismatches[0], HasSubstr("(never written); 16 elements"));
}

TEST_F(VerifierTest, OneFlippedBitIsNoticed) {
  move_all();
  *(destination(3, 6) + 1) ^= std::byte{0x10};
  const VerifyReport report = verifier_.check();
  EXPECT_EQ(report.mismatched_bytes, 4u);
  ASSERT_EQ(report.mismatches.size(), 1u);
  EXPECT_THAT(report.mismatches[0], HasSubstr("tensor w, rank 1, element 30 [3, 6]"));
  EXPECT_THAT(report.mismatches[0], HasSubstr("1 element of"));
}

TEST_F(VerifierTest, SwappedElementsAreNoticed) {
  move_all();
  std::swap_ranges(destination(1, 4), destination(1, 5), destination(1, 5));
  EXPECT_EQ(verifier_.check().mismatched_bytes, 8u);
}

TEST_F(VerifierTest, AChangedSourceIsNoticed) {
  move_all();
  *source(0, 0) ^= std::byte{1};
  const VerifyReport report = verifier_.check();
  EXPECT_EQ(report.mismatched_bytes, 4u);
  ASSERT_EQ(report.mismatches.size(), 1u);
  EXPECT_THAT(report.mismatches[0], HasSubstr("tensor w, rank 0, element 0 [0, 0]"));
  EXPECT_THAT(report.mismatches[0], HasSubstr("the source was changed"));
}

TEST_F(VerifierTest, BytesBesideElementsMustStay) {
  move_all();
  *(source(1, 7) + 4) ^= std::byte{1};  // in the gap behind row 1
  *(source(0, 0) - 1) ^= std::byte{1};  // in front of the shard
  const VerifyReport report = verifier_.check();
  EXPECT_EQ(report.mismatched_bytes, 2u);
  EXPECT_THAT(report.mismatches,
              ElementsAre("rank 0, buffer 0: 2 bytes that belong to no tensor were changed"));
}

TEST_F(VerifierTest, GuardsAreChecked) {
  move_all();
  *(destination(0, 4) - 1) ^= std::byte{1};
  std::memset(memory_.slot(1, 1).address + 128, 0, 3);
  std::memset(memory_.buffer(0, 0) + 4 * 40 + 16, 0, 64);
  const VerifyReport report = verifier_.check();
  EXPECT_GE(report.mismatched_bytes, 1u + 2 + 60);  // poison may hold a zero byte
  EXPECT_LE(report.mismatched_bytes, 1u + 3 + 64);
  ASSERT_EQ(report.mismatches.size(), 3u);
  EXPECT_THAT(report.mismatches[0], HasSubstr("rank 0, buffer 0: the guard after it"));
  EXPECT_THAT(report.mismatches[1], HasSubstr("rank 1, buffer 0: the guard before it"));
  EXPECT_THAT(report.mismatches[2], HasSubstr("rank 1, staging class 1: the guard after it"));
}

TEST_F(VerifierTest, StagingAndDestinationsHoldDifferentPoison) {
  EXPECT_NE(std::memcmp(memory_.slot(1, 0).address, memory_.buffer(1, 0), 8), 0);
  EXPECT_NE(std::memcmp(memory_.buffer(1, 0) - 8, memory_.buffer(1, 0), 8), 0);
}

// Rank 1 has "tied", another name of w, in a buffer with 8 zero bytes in front and 8 bytes behind
// that nobody writes.
class PaddedVerifierTest : public ::testing::Test {
 protected:
  static Plan make() {
    SmallPlan small(2);
    const std::uint32_t w = small.tensor("w", {4, 8}, DType::kF32);
    const std::uint32_t tied = small.builder.add_tensor("tied", Bounds{4, 8}, DType::kF32, w);
    small.shard(0, Side::kSource, w, {0, 4, 0, 8});
    ShardSpec shard;
    shard.side = Side::kDestination;
    shard.tensor_first = tied;
    shard.box = small.builder.add_box(Bounds{0, 4, 0, 8});
    shard.buffer = small.builder.add_buffers(1, Side::kDestination, 8 + 128 + 8, 1, "padded");
    shard.bit_offset = 64;
    shard.loops = {{0, 4, 256}, {1, 8, 32}};
    small.builder.add_shard(1, shard);
    small.builder.add_fill(1, shard.buffer, 1, 0, 8);
    small.add(small.transfer(0, 1, small.bundle(tied, {0, 4, 0, 8})));
    return small.seal();
  }

  std::byte* destination() { return memory_.buffer(1, 0); }
  void refit() {
    fills_.write(pool_);
    std::memcpy(destination() + 8, memory_.buffer(0, 0), 128);
  }
  void SetUp() override {
    verifier_.fill_sources();
    verifier_.poison_destinations();
  }

  Plan plan_ = make();
  HostMemory memory_{plan_};
  ThreadPool pool_{2};
  ZeroFills fills_{plan_, memory_};
  Verifier verifier_{plan_, memory_, pool_};
};

TEST_F(PaddedVerifierTest, TiedNamesHaveTheTensorsValues) {
  for (int round = 0; round < 2; ++round) {
    verifier_.poison_destinations();
    refit();
    const VerifyReport report = verifier_.check();
    EXPECT_EQ(report.verified_bytes, 128u);
    EXPECT_EQ(report.mismatched_bytes, 0u);
    EXPECT_TRUE(report.mismatches.empty());
  }
  std::uint32_t value = 0;
  std::memcpy(&value, memory_.buffer(0, 0) + 4 * 9, 4);
  EXPECT_EQ(value, element_value(tensor_seed("w"), 9, 4));
}

TEST_F(PaddedVerifierTest, ZerosThatWereNotWrittenAreNoticed) {
  std::memcpy(destination() + 8, memory_.buffer(0, 0), 128);
  const VerifyReport report = verifier_.check();
  EXPECT_GE(report.mismatched_bytes, 1u);  // poison may hold zero bytes
  EXPECT_LE(report.mismatched_bytes, 8u);
  ASSERT_EQ(report.mismatches.size(), 1u);
  EXPECT_THAT(report.mismatches[0], HasSubstr("rank 1, buffer 0"));
  EXPECT_THAT(report.mismatches[0], HasSubstr("padding that must be zero"));
}

TEST_F(PaddedVerifierTest, OneBitInThePaddingIsNoticed) {
  refit();
  destination()[7] ^= std::byte{1};
  EXPECT_THAT(verifier_.check().mismatches,
              ElementsAre("rank 1, buffer 0: 1 bytes of padding that must be zero are not"));
}

TEST_F(PaddedVerifierTest, BytesBehindTheElementsMustStay) {
  refit();
  destination()[136] ^= std::byte{1};
  EXPECT_THAT(verifier_.check().mismatches,
              ElementsAre("rank 1, buffer 0: 1 bytes that belong to no tensor were changed"));
}

TEST(Verifier, LargeRowsAreCheckedInParts) {
  // 40 MB in runs of 2 KiB on the destination: cut into parts that share one row.
  SmallPlan small(2);
  const std::int64_t rows = 10'000;
  const std::uint32_t tensor = small.tensor("big", {rows, 4096}, DType::kU8);
  small.shard(0, Side::kDestination, tensor, {0, rows, 2048, 4096});
  small.shard(1, Side::kDestination, tensor, {0, rows, 0, 4096});
  const Plan plan = small.seal();
  const HostMemory memory(plan);
  ThreadPool pool(2);
  Verifier verifier(plan, memory, pool);
  verifier.poison_destinations();
  const std::uint64_t seed = tensor_seed("big");
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto element = static_cast<std::uint64_t>(row) * 4096;
    fill_elements(memory.buffer(0, 0) + row * 2048, seed, element + 2048, 2048, 1);
    fill_elements(memory.buffer(1, 0) + row * 4096, seed, element, 4096, 1);
  }
  EXPECT_EQ(verifier.check().verified_bytes, 3u * 2048 * rows);
  EXPECT_EQ(verifier.check().mismatched_bytes, 0u);
  *(memory.buffer(0, 0) + 2048 * rows - 1) ^= std::byte{1};
  *(memory.buffer(1, 0)) ^= std::byte{1};
  const VerifyReport report = verifier.check();
  EXPECT_EQ(report.mismatched_bytes, 2u);
  ASSERT_EQ(report.mismatches.size(), 1u);
  // The first by rank: the last element of rank 0.
  EXPECT_THAT(report.mismatches[0], HasSubstr("rank 0, element 40959999 [9999, 4095]"));
}

}  // namespace
}  // namespace transload
