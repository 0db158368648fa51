#include "executor/pattern.h"

#include <bit>
#include <cstring>

#include "common/check.h"
#include "common/hash.h"

namespace transload {
namespace {

// mix64 is two 64-bit multiplications: the loops below vectorise, and AVX-512DQ has the instruction
// for it. The machine decides at run time; results are the same integers everywhere.
#if defined(__x86_64__) && defined(__GNUC__)
#define TRANSLOAD_WIDE_LOOPS 1
#define TRANSLOAD_WIDE \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")))
bool has_wide_loops() {
  static const bool has = __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  return has;
}
#else
#define TRANSLOAD_WIDE_LOOPS 0
#endif

template <class T>
[[gnu::always_inline]] inline void fill_loop(std::byte* to, std::uint64_t first,
                                             std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(mix64(first + i * kElementStep));
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

template <class T>
[[gnu::always_inline]] inline std::uint64_t compare_loop(const std::byte* from, std::uint64_t first,
                                                         std::uint64_t count) {
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    wrong += value != static_cast<T>(mix64(first + i * kElementStep)) ? 1u : 0u;
  }
  return wrong;
}

#if TRANSLOAD_WIDE_LOOPS
template <class T>
TRANSLOAD_WIDE void fill_wide(std::byte* to, std::uint64_t first, std::uint64_t count) {
  fill_loop<T>(to, first, count);
}
template <class T>
TRANSLOAD_WIDE std::uint64_t compare_wide(const std::byte* from, std::uint64_t first,
                                          std::uint64_t count) {
  return compare_loop<T>(from, first, count);
}
#endif

template <class T>
void fill(std::byte* to, std::uint64_t first, std::uint64_t count) {
#if TRANSLOAD_WIDE_LOOPS
  if (has_wide_loops()) return fill_wide<T>(to, first, count);
#endif
  fill_loop<T>(to, first, count);
}

template <class T>
std::uint64_t compare(const std::byte* from, std::uint64_t first, std::uint64_t count) {
#if TRANSLOAD_WIDE_LOOPS
  if (has_wide_loops()) return compare_wide<T>(from, first, count);
#endif
  return compare_loop<T>(from, first, count);
}

// The word as it reads from a byte `offset` on.
std::uint64_t turned(std::uint64_t word, std::uint64_t offset) {
  return std::rotr(word, static_cast<int>(8 * (offset % 8)));
}

}  // namespace

std::uint64_t tensor_seed(std::string_view name) {
  return digest_of(std::as_bytes(std::span(name.data(), name.size()))).low;
}

std::uint64_t element_value(std::uint64_t seed, std::uint64_t element,
                            std::uint64_t element_bytes) {
  const std::uint64_t value = mix64(seed + element * kElementStep);
  return element_bytes < 8 ? value & ((std::uint64_t{1} << (8 * element_bytes)) - 1) : value;
}

void fill_elements(std::byte* to, std::uint64_t seed, std::uint64_t element, std::uint64_t count,
                   std::uint64_t element_bytes) {
  const std::uint64_t first = seed + element * kElementStep;
  switch (element_bytes) {
    case 1:
      return fill<std::uint8_t>(to, first, count);
    case 2:
      return fill<std::uint16_t>(to, first, count);
    case 4:
      return fill<std::uint32_t>(to, first, count);
    case 8:
      return fill<std::uint64_t>(to, first, count);
    default:
      TRANSLOAD_CHECK(false, "elements are 1, 2, 4 or 8 bytes");
  }
}

std::uint64_t count_wrong_elements(const std::byte* from, std::uint64_t seed, std::uint64_t element,
                                   std::uint64_t count, std::uint64_t element_bytes) {
  const std::uint64_t first = seed + element * kElementStep;
  switch (element_bytes) {
    case 1:
      return compare<std::uint8_t>(from, first, count);
    case 2:
      return compare<std::uint16_t>(from, first, count);
    case 4:
      return compare<std::uint32_t>(from, first, count);
    case 8:
      return compare<std::uint64_t>(from, first, count);
    default:
      TRANSLOAD_CHECK(false, "elements are 1, 2, 4 or 8 bytes");
  }
  return count;
}

void fill_poison(std::span<std::byte> to, std::uint64_t word, std::uint64_t offset) {
  const std::uint64_t pattern = turned(word, offset);
  const std::size_t words = to.size() / 8;
  for (std::size_t i = 0; i < words; ++i) std::memcpy(to.data() + 8 * i, &pattern, 8);
  if (to.size() % 8 != 0) std::memcpy(to.data() + 8 * words, &pattern, to.size() % 8);
}

std::uint64_t count_not_poison(std::span<const std::byte> from, std::uint64_t word,
                               std::uint64_t offset) {
  const std::uint64_t pattern = turned(word, offset);
  const std::size_t words = from.size() / 8;
  std::uint64_t wrong_words = 0;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, from.data() + 8 * i, 8);
    wrong_words += value != pattern ? 1u : 0u;
  }
  std::uint64_t wrong = 0;
  const auto count_from = [&](std::size_t first) {
    for (std::size_t i = first; i < from.size(); ++i)
      wrong +=
          static_cast<std::uint8_t>(from[i]) != static_cast<std::uint8_t>(pattern >> (8 * (i % 8)))
              ? 1u
              : 0u;
  };
  count_from(wrong_words > 0 ? 0 : 8 * words);
  return wrong;
}

}  // namespace transload
