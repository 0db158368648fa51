// A digest of structures, field by field: for keys of caches, where two inputs that differ anywhere
// must have different keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/hash.h"

namespace transload {

// Add fields in a fixed order, and the length in front of whatever may vary in length. Memory stays
// small: full blocks are replaced by their digest.
class ContentHash {
 public:
  // Integers, enumerations and booleans, each as eight bytes.
  template <class... Values>
  void add(const Values&... values) {
    (add_word(static_cast<std::uint64_t>(values)), ...);
  }
  template <class Integer>
  void add_all(const std::vector<Integer>& values) {
    add_word(values.size());
    for (const Integer value : values) add_word(static_cast<std::uint64_t>(value));
  }
  void add_text(std::string_view text) {
    add_word(text.size());
    add_bytes(text.data(), text.size());
  }
  Digest finish() const { return digest_of(block_); }

 private:
  void add_word(std::uint64_t word) { add_bytes(&word, sizeof word); }

  void add_bytes(const void* data, std::size_t count) {
    const auto* bytes = static_cast<const std::byte*>(data);
    block_.insert(block_.end(), bytes, bytes + count);
    if (block_.size() < kBlock) return;
    const Digest digest = digest_of(block_);
    block_.clear();
    add_bytes(&digest, sizeof digest);
  }

  static constexpr std::size_t kBlock = std::size_t{1} << 20;
  std::vector<std::byte> block_;
};

}  // namespace transload
