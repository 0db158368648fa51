// Notices are handed over once each, whenever the taker comes.
#include "executor/peers/notices.h"

#include <gtest/gtest.h>

namespace transload {
namespace {

TEST(Notices, WaitForTheirTaker) {
  Notices notices;
  notices.hear(3);
  notices.hear(5);
  std::vector<std::uint32_t> taken;
  notices.hand_to([&](std::uint32_t operation) { taken.push_back(operation); });
  EXPECT_EQ(taken, (std::vector<std::uint32_t>{3, 5}));
  notices.hear(7);
  EXPECT_EQ(taken, (std::vector<std::uint32_t>{3, 5, 7}));
  notices.hand_to({});
  notices.hear(9);
  EXPECT_EQ(taken.size(), 3u);
  notices.hand_to([&](std::uint32_t operation) { taken.push_back(operation); });
  EXPECT_EQ(taken, (std::vector<std::uint32_t>{3, 5, 7, 9}));
}

}  // namespace
}  // namespace transload
