#include "executor/zero_fills.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/executor/small_plans.h"

namespace transload {
namespace {

// Large fills are cut, thousands of small ones are taken together: every byte of both, no other.
TEST(ZeroFills, WriteEveryByteAndNoOther) {
  constexpr std::uint64_t kLarge = (std::uint64_t{9} << 20) + 5;
  constexpr std::uint64_t kRows = 10'000;
  SmallPlan small(2);
  small.builder.add_buffers(0, Side::kDestination, kLarge + 2, 1);
  small.builder.add_buffers(1, Side::kDestination, 16 * kRows, 2);
  small.builder.add_fill(0, 0, 1, 1, kLarge);
  for (std::uint64_t row = 0; row < kRows; ++row) small.builder.add_fill(1, 0, 2, 16 * row + 3, 5);
  const Plan plan = small.seal();
  const HostMemory memory(plan);
  ThreadPool pool(2);
  const ZeroFills fills(plan, memory);
  EXPECT_FALSE(fills.empty());
  const auto bytes = [&](std::int32_t rank, std::uint32_t buffer) {
    return std::span(memory.buffer(rank, buffer), rank == 0 ? kLarge + 2 : 16 * kRows);
  };
  for (const auto& [rank, buffer] : {std::pair{0, 0u}, {1, 0u}, {1, 1u}})
    std::ranges::fill(bytes(rank, buffer), std::byte{0xa5});

  const std::vector<ZeroFills::Wrong> wrong = fills.check(pool);
  ASSERT_EQ(wrong.size(), 3u);
  EXPECT_EQ(wrong[0].bytes, kLarge);
  EXPECT_EQ(wrong[2].rank, 1);
  EXPECT_EQ(wrong[2].buffer, 1u);
  EXPECT_EQ(wrong[2].bytes, 5 * kRows);

  fills.write(pool);
  EXPECT_TRUE(fills.check(pool).empty());
  EXPECT_EQ(std::ranges::count(bytes(0, 0), std::byte{0xa5}), 2);
  for (const std::uint32_t buffer : {0u, 1u}) {
    const auto padded = bytes(1, buffer);
    EXPECT_EQ(std::ranges::count(padded, std::byte{0xa5}), 11 * static_cast<long>(kRows));
    EXPECT_EQ(padded[2], std::byte{0xa5});
    EXPECT_EQ(padded[3], std::byte{0});
    EXPECT_EQ(padded[7], std::byte{0});
    EXPECT_EQ(padded[8], std::byte{0xa5});
  }
}

TEST(ZeroFills, NoneAreNothingToDo) {
  SmallPlan small(1);
  const Plan plan = small.seal();
  const HostMemory memory(plan);
  ThreadPool pool(1);
  const ZeroFills fills(plan, memory);
  EXPECT_TRUE(fills.empty());
  fills.write(pool);
  EXPECT_TRUE(fills.check(pool).empty());
}

}  // namespace
}  // namespace transload
