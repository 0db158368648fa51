#include "executor/pattern.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "common/hash.h"

namespace transload {
namespace {

TEST(Pattern, ValuesAreLowBytesOfTheMixedIndex) {
  const std::uint64_t seed = tensor_seed("w");
  EXPECT_NE(seed, tensor_seed("v"));
  for (std::uint64_t bytes : {1u, 2u, 4u, 8u}) {
    // 37 elements from element 5'000'000'000, at an odd address.
    std::vector<std::byte> memory(37 * bytes + 1);
    fill_elements(memory.data() + 1, seed, 5'000'000'000, 37, bytes);
    for (std::uint64_t i = 0; i < 37; ++i) {
      std::uint64_t found = 0;
      std::memcpy(&found, memory.data() + 1 + i * bytes, bytes);
      std::uint64_t wanted = mix64(seed + (5'000'000'000 + i) * kElementStep);
      if (bytes < 8) wanted %= std::uint64_t{1} << (8 * bytes);
      EXPECT_EQ(found, wanted);
      EXPECT_EQ(element_value(seed, 5'000'000'000 + i, bytes), wanted);
    }
    EXPECT_EQ(count_wrong_elements(memory.data() + 1, seed, 5'000'000'000, 37, bytes), 0u);
  }
}

TEST(Pattern, CountsWrongElements) {
  for (std::uint64_t bytes : {1u, 2u, 4u, 8u}) {
    std::vector<std::byte> memory(1000 * bytes);
    fill_elements(memory.data(), 1, 0, 1000, bytes);
    memory[0] ^= std::byte{1};
    memory[500 * bytes + bytes - 1] ^= std::byte{0x80};
    memory[999 * bytes] ^= std::byte{4};
    EXPECT_EQ(count_wrong_elements(memory.data(), 1, 0, 1000, bytes), 3u);
    EXPECT_EQ(count_wrong_elements(memory.data(), 1, 0, 500, bytes), 1u);
    // Elements that are off by one are wrong, all but chance hits.
    EXPECT_GT(count_wrong_elements(memory.data(), 1, 1, 1000, bytes), 950u);
  }
}

TEST(Pattern, PoisonKeepsItsPhase) {
  const std::uint64_t word = 0x0807060504030201;
  std::vector<std::byte> memory(100);
  fill_poison(memory, word, 0);
  EXPECT_EQ(memory[9], std::byte{2});
  const std::vector<std::byte> whole = memory;
  // Parts of any place and length write the same bytes again.
  for (std::size_t at : {1u, 3u, 8u, 13u})
    for (std::size_t length : {0u, 1u, 7u, 8u, 9u, 50u}) {
      const std::span part(memory.data() + at, length);
      EXPECT_EQ(count_not_poison(part, word, at), 0u);
      std::memset(part.data(), 0xee, length);
      EXPECT_EQ(count_not_poison(part, word, at), length);
      fill_poison(part, word, at);
      ASSERT_EQ(memory, whole);
    }
  memory[98] = std::byte{0};
  memory[4] = std::byte{0};
  EXPECT_EQ(count_not_poison(memory, word, 0), 2u);
}

}  // namespace
}  // namespace transload
