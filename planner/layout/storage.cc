#include "planner/layout/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "common/error.h"

namespace transload {
namespace {

std::vector<int> stored_order(const Sharding& sharding, std::size_t dims, const std::string& what) {
  std::vector<int> order(dims);
  std::iota(order.begin(), order.end(), 0);
  if (sharding.stored_order.empty()) return order;
  std::vector<int> sorted = sharding.stored_order;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != order)
    throw InputError(
        fmt::format("{}: the stored order does not name each of {} dimensions once", what, dims));
  return sharding.stored_order;
}

// The digits of a dimension, without strides.
std::vector<StorageDigit> digits_of(const Sharding& sharding, int dim, std::int64_t extent,
                                    const std::string& what) {
  const auto found = sharding.memory.factors.find(dim);
  if (found == sharding.memory.factors.end()) return {{extent, 0}};
  std::vector<StorageDigit> digits;
  std::int64_t product = 1;
  for (std::size_t i = 0; i < found->second.size(); ++i) {
    const std::int64_t factor = found->second[i];
    if (factor < (i == 0 ? 0 : 1) || (factor > 0 && product > (std::int64_t{1} << 50) / factor))
      throw InputError(fmt::format("{}: factor {} of dimension {}", what, factor, dim));
    digits.push_back({factor, 0});
    if (factor > 0) product *= factor;
  }
  const bool open = !digits.empty() && digits[0].length == 0;
  if (open && extent % product == 0) {
    digits[0].length = extent / product;
    product = extent;
  }
  if (digits.empty() || product != extent)
    throw InputError(fmt::format("{}: the factors of dimension {} make {}, its local length is {}",
                                 what, dim, product, extent));
  return digits;
}

void set_dense_strides(StorageMap& map) {
  std::int64_t stride = 1;
  for (std::size_t i = map.order.size(); i-- > 0;) {
    std::vector<StorageDigit>& digits = map.dims[static_cast<std::size_t>(map.order[i])];
    for (std::size_t j = digits.size(); j-- > 0;) {
      digits[j].stride = stride;
      stride *= std::max<std::int64_t>(digits[j].length, 1);
    }
  }
}

// Cuts [begin, end), which lies inside one block of the digits before `level`. `unit` is what one
// step of that digit holds, `offset` the address of the block.
void cut(const std::vector<StorageDigit>& digits, std::size_t level, std::int64_t unit,
         std::int64_t block, std::int64_t begin, std::int64_t end, std::int64_t offset,
         std::vector<DigitPiece>& pieces) {
  if (begin >= end) return;
  const StorageDigit& digit = digits[level];
  const std::int64_t first = (begin - block) / unit;
  const std::int64_t last = (end - 1 - block) / unit;
  const auto address = [&](std::int64_t step) { return offset + step * digit.stride; };
  const std::int64_t first_begin = block + first * unit;
  const auto descend = [&](std::int64_t step, std::int64_t from, std::int64_t to) {
    cut(digits, level + 1, unit / digits[level + 1].length, block + step * unit, from, to,
        address(step), pieces);
  };
  const bool inner = level + 1 < digits.size();
  if (inner && first == last && (begin != first_begin || end != first_begin + unit))
    return descend(first, begin, end);
  std::int64_t from = first;
  if (begin != first_begin) {
    descend(first, begin, first_begin + unit);
    ++from;
  }
  const std::int64_t until = end == block + (last + 1) * unit ? last + 1 : last;
  if (from < until) {
    DigitPiece piece{block + from * unit, block + until * unit, address(from), {}};
    piece.digits.push_back({until - from, digit.stride});
    for (std::size_t i = level + 1; i < digits.size(); ++i) piece.digits.push_back(digits[i]);
    pieces.push_back(std::move(piece));
  }
  if (until == last) descend(last, block + last * unit, end);
}

}  // namespace

StorageMap storage_map(const Sharding& sharding, std::span<const std::int64_t> extents,
                       const std::string& what) {
  StorageMap map;
  map.order = stored_order(sharding, extents.size(), what);
  std::size_t digits = 0;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    map.dims.push_back(digits_of(sharding, static_cast<int>(d), extents[d], what));
    digits += map.dims.back().size();
  }
  const std::vector<std::int64_t>& strides = sharding.memory.strides;
  if (strides.empty()) {
    set_dense_strides(map);
    return map;
  }
  if (strides.size() != digits)
    throw InputError(fmt::format(
        "{}: {} strides; expected {}, one per dimension and one more per further factor", what,
        strides.size(), digits));
  std::size_t next = 0;
  for (std::vector<StorageDigit>& dim : map.dims)
    for (StorageDigit& digit : dim) digit.stride = strides[next++];
  return map;
}

std::int64_t storage_span(const StorageMap& map) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  std::int64_t last = 0;
  for (const std::vector<StorageDigit>& dim : map.dims)
    for (const StorageDigit& digit : dim) {
      if (digit.length == 0) return 0;
      const std::int64_t steps = digit.length - 1;
      last =
          steps > 0 && digit.stride > (kMost - last) / steps ? kMost : last + steps * digit.stride;
    }
  return last + 1;
}

std::vector<DigitPiece> digit_pieces(const std::vector<StorageDigit>& digits, std::int64_t begin,
                                     std::int64_t end) {
  std::int64_t unit = 1;
  for (std::size_t i = 1; i < digits.size(); ++i) unit *= digits[i].length;
  std::vector<DigitPiece> pieces;
  cut(digits, 0, unit, 0, begin, end, 0, pieces);
  return pieces;
}

namespace {

// A walk over the elements of a box in row-major order, as far as memory follows it.
class RunMeter {
 public:
  explicit RunMeter(std::int64_t element_bits) : element_bits_(element_bits) {}

  // The next outer digit, of which the box takes all `length` steps or `taken` of them. False: the
  // run ends here.
  bool add(const PlaceLoop& digit, std::int64_t taken) {
    if (digit.length > 1 && taken > 1 && digit.stride_bits != run_ * element_bits_) return false;
    run_ *= taken;
    // A digit that is not taken whole, or whose one step is one of several, ends the run.
    return taken == digit.length;
  }
  std::int64_t run() const { return run_; }

 private:
  std::int64_t element_bits_;
  std::int64_t run_ = 1;
};

// Digits of one dimension, outer to inner, with a part [lo, hi) of its coordinate taken. False: the
// run ends within the dimension.
bool add_dimension(RunMeter& meter, std::span<const PlaceLoop> digits, std::int64_t lo,
                   std::int64_t hi) {
  while (!digits.empty()) {
    const PlaceLoop& inner = digits.back();
    digits = digits.first(digits.size() - 1);
    if (digits.empty()) return meter.add(inner, hi - lo);
    if (lo % inner.length == 0 && hi % inner.length == 0) {
      if (!meter.add(inner, inner.length)) return false;
      lo /= inner.length;
      hi /= inner.length;
      continue;
    }
    if (lo / inner.length == (hi - 1) / inner.length) return meter.add(inner, hi - lo);
    if (inner.stride_bits != 0) meter.add(inner, std::gcd(std::gcd(lo, hi), inner.length));
    return false;
  }
  return true;
}

}  // namespace

std::int64_t contiguous_run(const PlaceLoops& loops, std::span<const std::int64_t> extents,
                            std::span<const std::int64_t> bounds, std::int64_t element_bits) {
  RunMeter meter(element_bits);
  for (std::size_t d = extents.size(); d-- > 0;) {
    PlaceLoops digits;
    for (const PlaceLoop& loop : loops)
      if (loop.dim == d) digits.push_back(loop);
    if (!add_dimension(meter, digits, bounds[2 * d], bounds[2 * d + 1])) break;
  }
  return std::max<std::int64_t>(meter.run(), 1);
}

}  // namespace transload
