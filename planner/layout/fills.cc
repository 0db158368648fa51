#include "planner/layout/fills.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/error.h"

namespace transload {
namespace {

constexpr std::size_t kMaxSpans = 1'000'000;

// Local indices [begin, end) of a dimension.
using Range = std::pair<std::int64_t, std::int64_t>;

std::int64_t local_extent(const std::vector<StorageDigit>& digits) {
  std::int64_t extent = 1;
  for (const StorageDigit& digit : digits) extent *= digit.length;
  return extent;
}

std::vector<Range> held_ranges(const Segments& segments) {
  std::vector<Range> ranges;
  for (const Segment& segment : segments)
    ranges.emplace_back(segment.local, segment.local + segment.length());
  return ranges;
}

std::vector<Range> gaps(const std::vector<Range>& held, std::int64_t extent) {
  std::vector<Range> ranges;
  std::int64_t at = 0;
  for (const Range& range : held) {
    if (at < range.first) ranges.emplace_back(at, range.first);
    at = range.second;
  }
  if (at < extent) ranges.emplace_back(at, extent);
  return ranges;
}

class FillLister {
 public:
  FillLister(const StorageMap& map, std::int64_t base, std::int64_t bits, const std::string& what)
      : map_(map), base_(base), bits_(bits), what_(what) {}

  // The product of one range per dimension.
  void add(const std::vector<Range>& ranges) {
    std::vector<StorageDigit> digits;
    std::int64_t offset = 0;
    add_dimension(ranges, 0, offset, digits);
  }

  std::vector<PaddingSpan> take() {
    std::sort(fills_.begin(), fills_.end(), [](const PaddingSpan& a, const PaddingSpan& b) {
      return a.offset_bytes < b.offset_bytes;
    });
    std::vector<PaddingSpan> joined;
    for (const PaddingSpan& fill : fills_) {
      if (!joined.empty() && joined.back().offset_bytes + joined.back().bytes == fill.offset_bytes)
        joined.back().bytes += fill.bytes;
      else
        joined.push_back(fill);
    }
    return joined;
  }

 private:
  void add_dimension(const std::vector<Range>& ranges, std::size_t d, std::int64_t offset,
                     const std::vector<StorageDigit>& digits) {
    if (d == ranges.size()) return add_block(offset, digits);
    for (const DigitPiece& piece : digit_pieces(map_.dims[d], ranges[d].first, ranges[d].second)) {
      std::vector<StorageDigit> all = digits;
      all.insert(all.end(), piece.digits.begin(), piece.digits.end());
      add_dimension(ranges, d + 1, offset + piece.offset, all);
    }
  }

  // Loops of any order become spans: those of the smallest strides that join are one span.
  void add_block(std::int64_t offset, std::vector<StorageDigit> digits) {
    std::sort(digits.begin(), digits.end(),
              [](const StorageDigit& a, const StorageDigit& b) { return a.stride < b.stride; });
    std::int64_t run = 1;
    std::size_t inner = 0;
    for (; inner < digits.size() && (digits[inner].stride == run || digits[inner].length == 1);
         ++inner)
      run *= digits[inner].length;
    spans_of(offset, run, std::span(digits).subspan(inner));
  }

  void spans_of(std::int64_t offset, std::int64_t run, std::span<const StorageDigit> outer) {
    if (outer.empty()) {
      const std::int64_t begin = base_ + offset * bits_;
      if (begin % 8 != 0 || run * bits_ % 8 != 0)
        throw InputError(what_ + ": padding does not fall on whole bytes");
      if (fills_.size() == kMaxSpans)
        throw InputError(fmt::format("{}: padding lies in more than {} spans", what_, kMaxSpans));
      fills_.push_back({begin / 8, run * bits_ / 8});
      return;
    }
    for (std::int64_t i = 0; i < outer.back().length; ++i)
      spans_of(offset + i * outer.back().stride, run, outer.first(outer.size() - 1));
  }

  const StorageMap& map_;
  std::int64_t base_;
  std::int64_t bits_;
  const std::string& what_;
  std::vector<PaddingSpan> fills_;
};

}  // namespace

std::vector<PaddingSpan> padding_spans(const std::vector<Segments>& dims, const StorageMap& map,
                                       std::int64_t base, std::int64_t element_bits,
                                       const std::string& what) {
  FillLister lister(map, base, element_bits, what);
  // Everything outside the product of what is held: for each dimension, what is held before it, its
  // gaps, and all after it.
  for (std::size_t d = 0; d < dims.size(); ++d)
    for (const Range& gap : gaps(held_ranges(dims[d]), local_extent(map.dims[d]))) {
      std::vector<std::vector<Range>> choices;
      for (std::size_t e = 0; e < dims.size(); ++e) {
        if (e < d)
          choices.push_back(held_ranges(dims[e]));
        else if (e == d)
          choices.push_back({gap});
        else
          choices.push_back({{0, local_extent(map.dims[e])}});
      }
      std::vector<Range> picked(dims.size());
      const auto pick = [&](const auto& self, std::size_t e) -> void {
        if (e == dims.size()) return lister.add(picked);
        for (const Range& range : choices[e]) {
          picked[e] = range;
          self(self, e + 1);
        }
      };
      pick(pick, 0);
    }
  return lister.take();
}

}  // namespace transload
