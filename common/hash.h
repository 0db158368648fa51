// Hashes: the plan digest, and the 64-bit mixer that fills tensors for verification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace transload {

struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

// XXH3-128 of the bytes. Guards against damage, not against an adversary.
Digest digest_of(std::span<const std::byte> bytes);

// 32 lower-case hexadecimal digits.
std::string to_string(const Digest& digest);

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection of 64-bit words.
constexpr std::uint64_t mix64(std::uint64_t value) {
  value ^= value >> 30;
  value *= 0xbf58476d1ce4e5b9ULL;
  value ^= value >> 27;
  value *= 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace transload
