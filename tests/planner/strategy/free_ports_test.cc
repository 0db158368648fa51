#include "planner/strategy/free_ports.h"

#include <gtest/gtest.h>

#include <random>

namespace transload {
namespace {

FreePorts ports(std::initializer_list<FreePorts::Entry> entries) {
  FreePorts result;
  for (const FreePorts::Entry& entry : entries) result.insert(entry.left, entry.port);
  return result;
}

TEST(FreePorts, MostLeftComesFirst) {
  const FreePorts free = ports({{10, 1}, {30, 2}, {20, 3}});
  const auto any = [](std::int32_t) { return true; };
  EXPECT_EQ(free.first(0, any), 2);
  EXPECT_EQ(free.first(0, [](std::int32_t port) { return port != 2; }), 3);
  EXPECT_EQ(free.first(0, [](std::int32_t) { return false; }), -1);
}

TEST(FreePorts, EqualOnesInCyclicOrder) {
  const FreePorts free = ports({{5, 4}, {5, 2}, {5, 7}, {9, 1}});
  std::vector<std::int32_t> asked;
  free.first(4, [&](std::int32_t port) {
    asked.push_back(port);
    return false;
  });
  EXPECT_EQ(asked, (std::vector<std::int32_t>{1, 4, 7, 2}));
}

TEST(FreePorts, AnErasedPortIsNotAsked) {
  FreePorts free = ports({{5, 4}, {5, 2}});
  free.erase(5, 4);
  EXPECT_EQ(free.first(4, [](std::int32_t) { return true; }), 2);
}

TEST(RankedBitMatrix, RankCountsBitsBeforeTheColumn) {
  constexpr std::size_t kRows = 3;
  constexpr std::size_t kColumns = 200;
  RankedBitMatrix matrix(kRows, kColumns);
  std::mt19937 random(1);
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t column = 0; column < kColumns; ++column)
      matrix.set(row, column, random() % 3 == 0);
  matrix.count();
  for (std::size_t row = 0; row < kRows; ++row) {
    std::uint32_t before = 0;
    for (std::size_t column = 0; column < kColumns; ++column) {
      EXPECT_EQ(matrix.rank(row, column), before);
      before += matrix.get(row, column) ? 1 : 0;
    }
  }
}

}  // namespace
}  // namespace transload
