#include "executor/host/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "common/error.h"
#include "executor/host/available_memory.h"
#include "tests/executor/small_plans.h"

namespace transload {
namespace {

using ::testing::HasSubstr;

TEST(HostMemory, GuardsSeparateBuffersAndArenas) {
  SmallPlan small(2);
  small.builder.add_buffers(0, Side::kSource, 100, 3);
  small.builder.add_buffers(0, Side::kDestination, 1, 2);
  small.builder.set_staging(0, SlotClass::kSend, 2, 48);
  small.builder.set_staging(0, SlotClass::kBucket, 1, 500);
  const std::uint32_t tensor = small.tensor("w", {50});
  small.shard(0, Side::kSource, tensor, {0, 50});  // so that the rank takes part
  const Plan plan = small.seal();
  const HostMemory memory(plan);
  struct Stretch {
    std::byte* begin;
    std::uint64_t bytes;
  };
  std::vector<Stretch> stretches;
  const std::array<std::uint64_t, 6> sizes{100, 100, 100, 1, 1, 100};
  for (std::uint32_t b = 0; b < sizes.size(); ++b) {
    stretches.push_back({memory.buffer(0, b), sizes[b]});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.buffer(0, b)) % 256, 0u);
  }
  stretches.push_back({memory.slot(0, 0).address, 96});
  stretches.push_back({memory.slot(0, 2).address, 500});
  for (std::size_t i = 0; i + 1 < stretches.size(); ++i)
    EXPECT_GE(stretches[i + 1].begin, stretches[i].begin + stretches[i].bytes + kGuardBytes);
  EXPECT_EQ(memory.slot(0, 1).address, memory.slot(0, 0).address + 48);
  EXPECT_FALSE(memory.slot(0, 1).bucket);
  EXPECT_TRUE(memory.slot(0, 2).bucket);
  // The whole mapping is there, guards included.
  std::memset(memory.at(0, 0), 1, memory.layout(0).bytes);
  EXPECT_GE(stretches[0].begin, memory.at(0, kGuardBytes));
  EXPECT_LE(stretches.back().begin + 500 + kGuardBytes, memory.at(0, memory.layout(0).bytes));
}

TEST(HostMemory, RanksWithoutAPartHaveNone) {
  SmallPlan small(3);
  const std::uint32_t tensor = small.tensor("w", {8});
  small.shard(1, Side::kSource, tensor, {0, 8});
  const Plan plan = small.seal();
  const HostMemory memory(plan);
  EXPECT_EQ(memory.ranks(), 3u);
  EXPECT_EQ(memory.active_ranks(), 1u);
  EXPECT_EQ(memory.layout(0).bytes, 0u);
}

TEST(HostMemory, TooLargeAPlanIsRefusedBeforeAByteIsTouched) {
  SmallPlan small(1);
  const std::int64_t n = std::int64_t{1} << 45;  // 64 TiB of bf16
  const std::uint32_t tensor = small.tensor("w", {n});
  small.shard(0, Side::kSource, tensor, {0, n});
  const Plan plan = small.seal();
  try {
    const HostMemory memory(plan);
    FAIL() << "no machine has 64 TiB";
  } catch (const RunFailure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("need 70.37 TB of host memory"));
    EXPECT_THAT(failure.what(), HasSubstr("try --scale"));
  }
}

TEST(AvailableMemory, SuggestsAScaleThatFits) {
  EXPECT_NO_THROW(require_memory(100, 100));
  EXPECT_NO_THROW(require_memory(UINT64_MAX, std::nullopt));
  try {
    require_memory(100'000'000'000, 20'000'000'000);
    FAIL() << "100 GB do not fit into 20 GB";
  } catch (const RunFailure& failure) {
    // Of 20 GB 18 are used: 100 / 18 = 5.6, so 6.
    EXPECT_STREQ(failure.what(),
                 "the buffers and staging of all ranks need 100 GB of host memory, 20 GB are "
                 "available; try --scale 6");
  }
  const auto available = available_memory();
  ASSERT_TRUE(available.has_value());
  EXPECT_GT(*available, 1'000'000u);
}

}  // namespace
}  // namespace transload
