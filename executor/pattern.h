// The bytes that a verified run puts into buffers, and the tight loops that write and compare them.
//
// A source element holds the low bytes of mix64(seed + element * kElementStep): seed from the
// tensor's name, element its row-major index in the whole tensor; so every sharding of a tensor
// agrees about its values. Everything else holds poison: one random-looking 64-bit word per buffer,
// repeated from its first byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace transload {

inline constexpr std::uint64_t kElementStep = 0x9e3779b97f4a7c15ULL;  // odd: 2^64 / golden ratio

std::uint64_t tensor_seed(std::string_view name);

// Elements are 1, 2, 4 or 8 bytes and may lie unaligned.
std::uint64_t element_value(std::uint64_t seed, std::uint64_t element, std::uint64_t element_bytes);
void fill_elements(std::byte* to, std::uint64_t seed, std::uint64_t element, std::uint64_t count,
                   std::uint64_t element_bytes);
// How many of the elements do not hold their value.
std::uint64_t count_wrong_elements(const std::byte* from, std::uint64_t seed, std::uint64_t element,
                                   std::uint64_t count, std::uint64_t element_bytes);

// `offset`: where `to` lies in its buffer, which decides the phase of the word.
void fill_poison(std::span<std::byte> to, std::uint64_t word, std::uint64_t offset);
// How many bytes are not poison.
std::uint64_t count_not_poison(std::span<const std::byte> from, std::uint64_t word,
                               std::uint64_t offset);

}  // namespace transload
