#include "planner/schedule/check/memory_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace transload::testing {
namespace {

// How often each byte is used, by plain enumeration.
void count_bytes(const MemoryLayout& layout, std::size_t loop, std::uint64_t offset,
                 std::vector<int>& uses) {
  if (loop == layout.loops.size()) {
    for (std::uint64_t b = 0; b < layout.run; ++b) {
      if (uses.size() <= offset + b) uses.resize(offset + b + 1, 0);
      ++uses[offset + b];
    }
    return;
  }
  for (std::uint64_t i = 0; i < layout.loops[loop].length; ++i)
    count_bytes(layout, loop + 1, offset + i * layout.loops[loop].stride, uses);
}

bool overlap_by_counting(const std::vector<MemoryLayout>& layouts) {
  std::vector<int> uses;
  for (const MemoryLayout& layout : layouts) count_bytes(layout, 0, layout.offset, uses);
  return std::any_of(uses.begin(), uses.end(), [](int count) { return count > 1; });
}

OverlapResult find(std::vector<MemoryLayout> layouts) {
  for (MemoryLayout& layout : layouts) normalise(layout);
  return find_memory_overlap(layouts);
}

TEST(MemoryLayout, DenseViewsBecomeOneRun) {
  MemoryLayout layout{8, 4, {{3, 40}, {5, 8}, {2, 4}, {1, 999}}};
  normalise(layout);
  EXPECT_EQ(layout.run, 120u);  // 3 x 5 x 2 x 4 bytes without a hole
  EXPECT_TRUE(layout.loops.empty());
  // A hole after every 5 x 8 bytes stays a loop; the two outer loops continue one another.
  layout = {0, 4, {{2, 150}, {3, 50}, {10, 4}}};
  normalise(layout);
  EXPECT_EQ(layout.run, 40u);
  ASSERT_EQ(layout.loops.size(), 1u);
  EXPECT_EQ(layout.loops[0].length, 6u);
  EXPECT_EQ(layout.loops[0].stride, 50u);
}

TEST(MemoryLayout, NamesTheTwoThatMeet) {
  const OverlapResult result = find({{0, 4, {}}, {8, 4, {}}, {10, 4, {}}});
  EXPECT_EQ(result.overlap, Overlap::kFound);
  EXPECT_EQ(result.first, 1u);
  EXPECT_EQ(result.second, 2u);
}

// Gate and up of 256 experts, expert by expert, 2^20 runs a layout: decided without expanding them.
TEST(MemoryLayout, FineInterleavingIsDecidedByItsPeriod) {
  const std::uint64_t rows = std::uint64_t{1} << 40;
  const std::vector<MemoryLayout> apart = {{0, 64, {{rows, 128}}}, {64, 64, {{rows, 128}}}};
  EXPECT_EQ(find(apart).overlap, Overlap::kDisjoint);
  // Too long to expand and not disjoint in one period: said to be undecided, never disjoint.
  const std::vector<MemoryLayout> touching = {{0, 65, {{rows, 128}}}, {64, 64, {{rows, 128}}}};
  EXPECT_EQ(find(touching).overlap, Overlap::kUndecided);
}

// [G, R, P] bytes with a taking columns [0, 3) of all rows, b and c the others of rows [0, 5) and
// [5, 8) of every group, and d, a single block in the last column of group 1. a's loops over groups
// and rows are one loop; it is looked at group by group all the same.
TEST(MemoryLayout, ShorterPeriodsAreCutIntoTheLongest) {
  const std::uint64_t groups = std::uint64_t{1} << 36;
  const std::uint64_t row = 8;
  const std::uint64_t group = 8 * row;
  std::vector<MemoryLayout> layouts = {{0, 3, {{groups, group}, {8, row}}},
                                       {3, 4, {{groups, group}, {5, row}}},
                                       {5 * row + 3, 4, {{groups, group}, {3, row}}},
                                       {group + 7, 1, {}}};
  EXPECT_EQ(find(layouts).overlap, Overlap::kDisjoint);
  layouts[3].run = 2;  // into a's first column of the next row
  EXPECT_NE(find(layouts).overlap, Overlap::kDisjoint);
  layouts[3].run = 1;
  layouts[2].offset -= row;  // into b's last row
  EXPECT_NE(find(layouts).overlap, Overlap::kDisjoint);
}

// Strides that divide one another, as views of one buffer have.
TEST(MemoryLayout, AgreesWithCountingOfNestedViews) {
  std::mt19937_64 random(2);
  int disjoint = 0;
  int found = 0;
  for (int i = 0; i < 5000; ++i) {
    std::vector<MemoryLayout> layouts(2 + random() % 3);
    for (MemoryLayout& layout : layouts) {
      layout.offset = random() % 48;
      layout.run = 1 + random() % 2;
      for (const std::uint64_t stride : {48, 12, 4})
        if (random() % 2 == 0) layout.loops.push_back({1 + random() % 4, stride});
    }
    const bool wanted = overlap_by_counting(layouts);
    EXPECT_EQ(find(layouts).overlap, wanted ? Overlap::kFound : Overlap::kDisjoint) << i;
    ++(wanted ? found : disjoint);
  }
  EXPECT_GT(disjoint, 500);
  EXPECT_GT(found, 500);
}

TEST(MemoryLayout, AgreesWithCounting) {
  std::mt19937_64 random(1);
  int disjoint = 0;
  int found = 0;
  for (int i = 0; i < 5000; ++i) {
    std::vector<MemoryLayout> layouts(1 + random() % 3);
    for (MemoryLayout& layout : layouts) {
      layout.offset = random() % 40;
      layout.run = 1 + random() % 3;
      layout.loops.resize(random() % 3);
      for (StrideLoop& loop : layout.loops) loop = {1 + random() % 4, random() % 30};
    }
    const bool wanted = overlap_by_counting(layouts);
    const OverlapResult result = find(layouts);
    EXPECT_EQ(result.overlap, wanted ? Overlap::kFound : Overlap::kDisjoint) << i;
    ++(wanted ? found : disjoint);
  }
  EXPECT_GT(disjoint, 500);
  EXPECT_GT(found, 500);
}

}  // namespace
}  // namespace transload::testing
