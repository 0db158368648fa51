// Ports that could start a transfer at once, the one with the most left to do first. Internal to
// planner/strategy.
//
// List scheduling asks, whenever a port becomes free: which free port of the other side, among
// those that it still has something for, has the most left? With a thousand peers per port a look
// at each of them costs more than all the rest of planning. Few ports are free at a time, so this
// keeps those sorted, and a bit per pair of ports says whether anything is left between them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace transload {

// Free ports of one side, by what is left for them (descending), equal ones by number (ascending).
class FreePorts {
 public:
  struct Entry {
    std::int64_t left = 0;
    std::int32_t port = 0;
    // Ascends in the order of the list.
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.left != b.left ? a.left > b.left : a.port < b.port;
    }
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  void insert(std::int64_t left, std::int32_t port);
  void erase(std::int64_t left, std::int32_t port);
  const std::vector<Entry>& entries() const { return entries_; }

  // The first port that `accepts` takes, where equal ones are asked in the cyclic order of their
  // numbers from `first_of_equals`; -1: none.
  template <class Accepts>
  std::int32_t first(std::int32_t first_of_equals, Accepts&& accepts) const;

 private:
  std::vector<Entry> entries_;
};

// One bit per (row, column).
class BitMatrix {
 public:
  BitMatrix() = default;
  BitMatrix(std::size_t rows, std::size_t columns)
      : words_per_row_((columns + 63) / 64), words_(rows * words_per_row_, 0) {}
  bool get(std::size_t row, std::size_t column) const {
    return (words_[row * words_per_row_ + column / 64] >> (column % 64) & 1) != 0;
  }
  void set(std::size_t row, std::size_t column, bool value) {
    std::uint64_t& word = words_[row * words_per_row_ + column / 64];
    const std::uint64_t bit = std::uint64_t{1} << (column % 64);
    word = value ? word | bit : word & ~bit;
  }
  // The bits of a row, 64 columns a word; those behind the last column are 0.
  std::span<const std::uint64_t> row(std::size_t row) const {
    return {words_.data() + row * words_per_row_, words_per_row_};
  }

 private:
  std::size_t words_per_row_ = 0;
  std::vector<std::uint64_t> words_;
  friend class RankedBitMatrix;
};

// A BitMatrix that knows how many bits of a row are set before a column.
class RankedBitMatrix : public BitMatrix {
 public:
  using BitMatrix::BitMatrix;
  // After the last change.
  void count();
  std::uint32_t rank(std::size_t row, std::size_t column) const {
    const std::size_t word = row * words_per_row_ + column / 64;
    const std::uint64_t below = words_[word] & ((std::uint64_t{1} << (column % 64)) - 1);
    return before_[word] + static_cast<std::uint32_t>(std::popcount(below));
  }

 private:
  std::vector<std::uint32_t> before_;  // by word: set bits of its row before it
};

// ---- implementation of the template ----

template <class Accepts>
std::int32_t FreePorts::first(std::int32_t first_of_equals, Accepts&& accepts) const {
  for (auto begin = entries_.begin(); begin != entries_.end();) {
    const auto start = std::lower_bound(begin, entries_.end(), Entry{begin->left, first_of_equals});
    auto at = start;
    for (; at != entries_.end() && at->left == begin->left; ++at)
      if (accepts(at->port)) return at->port;
    for (auto before = begin; before != start; ++before)
      if (accepts(before->port)) return before->port;
    begin = at;
  }
  return -1;
}

}  // namespace transload
