#include "planner/schedule/runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "common/dtype.h"
#include "common/error.h"
#include "planner/schedule/access.h"
#include "planner/schedule/region_cursor.h"
#include "planner/schedule/row_index.h"

namespace transload {
namespace {

std::uint64_t element_bytes(const Plan& plan, std::uint32_t tensor) {
  return static_cast<std::uint64_t>(dtype_bits(static_cast<DType>(plan.tensor_dtype[tensor]))) / 8;
}

// Buffer and byte at which a tensor of a shard row begins.
struct TensorPlace {
  std::uint32_t buffer;
  std::uint64_t offset;
};

TensorPlace tensor_place(const Plan& plan, std::uint64_t row, std::uint32_t tensor) {
  const std::uint32_t i = tensor - plan.shard_tensor_first[row];
  const std::uint32_t inner = plan.shard_inner_count[row];
  return {plan.shard_buffer[row] + i / inner,
          (plan.shard_bit_offset[row] + i % inner * plan.shard_inner_bits[row]) / 8};
}

// Visit: bool(const Run&), false ends the walk.
template <class Visit>
class RunWalk {
 public:
  RunWalk(const Plan& plan, std::int32_t rank, Side side, Missing missing, Visit visit)
      : plan_(plan),
        rank_(rank),
        side_(side),
        missing_(missing),
        rows_(plan, rank, side),
        visit_(std::move(visit)) {}

  void walk(std::int32_t bundle, std::uint64_t begin, std::uint64_t bytes) {
    const auto b = static_cast<std::size_t>(bundle);
    if (begin > plan_.bundle_bytes[b] || bytes > plan_.bundle_bytes[b] - begin)
      throw InputError(fmt::format("bytes [{}, {}) leave bundle {}, which has {}", begin,
                                   begin + bytes, bundle, plan_.bundle_bytes[b]));
    if (bytes == 0) return;
    const std::uint64_t end = begin + bytes;
    std::uint64_t at = 0;
    for (std::uint64_t s = plan_.bundle_slice_first[b]; s < plan_.bundle_slice_first[b + 1]; ++s) {
      if (at >= end || stopped_) break;
      const std::uint64_t box_bytes = measure(s);
      const std::uint64_t slice_bytes = box_bytes * plan_.slice_tensor_count[s];
      if (box_bytes > 0 && at + slice_bytes > begin) walk_slice(s, at, box_bytes, begin, end);
      at += slice_bytes;
    }
    flush();
  }

 private:
  // Bytes of the slice's box of one tensor; leaves the box's packed strides in strides_.
  std::uint64_t measure(std::uint64_t slice) {
    const std::uint32_t tensor = plan_.slice_tensor_first[slice];
    const std::size_t dims = plan_.tensor_dims[tensor];
    strides_.resize(dims);
    std::uint64_t bytes = element_bytes(plan_, tensor);
    for (std::size_t d = dims; d-- > 0;) {
      strides_[d] = bytes;
      const std::uint64_t at = plan_.slice_box[slice] + 2 * d;
      bytes *= static_cast<std::uint64_t>(plan_.bounds[at + 1] - plan_.bounds[at]);
    }
    return bytes;
  }

  void walk_slice(std::uint64_t slice, std::uint64_t at, std::uint64_t box_bytes,
                  std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t from = begin > at ? begin - at : 0;
    const std::uint64_t to = std::min(end - at, box_bytes * plan_.slice_tensor_count[slice]);
    const std::size_t dims = strides_.size();
    const auto bounds = box_bounds(plan_, plan_.slice_box[slice], static_cast<int>(dims));
    lower_.resize(dims);
    upper_.resize(dims);
    for (std::uint64_t i = from / box_bytes; i * box_bytes < to && !stopped_; ++i) {
      tensor_ = plan_.slice_tensor_first[slice] +
                static_cast<std::uint32_t>(i) * plan_.slice_tensor_step[slice];
      held_ = side_ == Side::kSource ? plan_.tensor_source[tensor_] : tensor_;
      for (std::size_t d = 0; d < dims; ++d) {
        lower_[d] = bounds[2 * d];
        upper_[d] = bounds[2 * d + 1];
      }
      packed_ = at + i * box_bytes;
      begin_ = std::max(begin, packed_) - packed_;
      end_ = std::min(end, packed_ + box_bytes) - packed_;
      rows_.find(held_, dims > 0 ? lower_[0] : 0, dims > 0 ? upper_[0] : 1, holders_);
      std::erase_if(holders_, [&](std::uint64_t row) {
        for (std::size_t d = 0; d < dims; ++d)
          if (!overlaps(row, d, lower_[d], upper_[d])) return true;
        return false;
      });
      cover(0, 0, holders_);
    }
  }

  std::int64_t low(std::uint64_t row, std::size_t d) const {
    return plan_.bounds[plan_.shard_box[row] + 2 * d];
  }
  std::int64_t high(std::uint64_t row, std::size_t d) const {
    return plan_.bounds[plan_.shard_box[row] + 2 * d + 1];
  }
  bool overlaps(std::uint64_t row, std::size_t d, std::int64_t from, std::int64_t to) const {
    return std::max(low(row, d), from) < std::min(high(row, d), to);
  }
  bool covers(std::uint64_t row, std::size_t from_dim) const {
    for (std::size_t d = from_dim; d < lower_.size(); ++d)
      if (low(row, d) > lower_[d] || high(row, d) < upper_[d]) return false;
    return true;
  }
  // Do the rows answer for the whole of dimensions from_dim and up? The first one does on the
  // source side.
  bool settled(const std::vector<std::uint64_t>& rows, std::size_t from_dim) const {
    if (rows.empty()) return true;
    if (side_ == Side::kSource) return covers(rows[0], from_dim);
    return std::all_of(rows.begin(), rows.end(),
                       [&](std::uint64_t row) { return covers(row, from_dim); });
  }

  // The region lower_ .. upper_ is fixed to one coordinate in the dimensions before `dim`, and
  // `rows` hold all of those; `at` is its packed position in the slice's box. Cuts it where boxes
  // begin and end.
  void cover(std::size_t dim, std::uint64_t at, const std::vector<std::uint64_t>& rows) {
    if (settled(rows, dim)) return emit(at, rows);
    const std::int64_t origin = lower_[dim];
    const std::int64_t limit = upper_[dim];
    const std::uint64_t stride = strides_[dim];
    // Only the coordinates that the byte range touches.
    const std::int64_t from =
        origin + static_cast<std::int64_t>((std::max(begin_, at) - at) / stride);
    const std::int64_t to =
        std::min(limit, origin + static_cast<std::int64_t>((end_ - at + stride - 1) / stride));
    std::vector<std::uint64_t> by_low;
    std::vector<std::int64_t> cuts{from, to};
    for (std::uint64_t row : rows) {
      if (!overlaps(row, dim, from, to)) continue;
      by_low.push_back(row);
      cuts.push_back(std::max(low(row, dim), from));
      cuts.push_back(std::min(high(row, dim), to));
    }
    std::stable_sort(by_low.begin(), by_low.end(),
                     [&](std::uint64_t a, std::uint64_t b) { return low(a, dim) < low(b, dim); });
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());

    std::vector<std::uint64_t> active;
    std::size_t next = 0;
    for (std::size_t c = 0; c + 1 < cuts.size() && !stopped_; ++c) {
      std::erase_if(active, [&](std::uint64_t row) { return high(row, dim) <= cuts[c]; });
      for (; next < by_low.size() && low(by_low[next], dim) <= cuts[c]; ++next)
        active.insert(std::upper_bound(active.begin(), active.end(), by_low[next]), by_low[next]);
      const auto place = [&](std::int64_t x) {
        return at + static_cast<std::uint64_t>(x - origin) * stride;
      };
      lower_[dim] = cuts[c];
      upper_[dim] = cuts[c + 1];
      if (settled(active, dim + 1)) {
        emit(place(cuts[c]), active);
        continue;
      }
      for (std::int64_t x = cuts[c]; x < cuts[c + 1] && !stopped_; ++x) {
        lower_[dim] = x;
        upper_[dim] = x + 1;
        cover(dim + 1, place(x), active);
      }
    }
    lower_[dim] = origin;
    upper_[dim] = limit;
  }

  // Visits the region, which is contiguous in packed order from `at`.
  void emit(std::uint64_t at, const std::vector<std::uint64_t>& rows) {
    std::uint64_t region = strides_.empty() ? element_bytes(plan_, tensor_) : strides_.back();
    for (std::size_t d = 0; d < lower_.size(); ++d)
      region *= static_cast<std::uint64_t>(upper_[d] - lower_[d]);
    const std::uint64_t from = std::max(begin_, at);
    const std::uint64_t to = std::min(end_, at + region);
    if (from >= to) return;
    if (rows.empty()) {
      if (missing_ == Missing::kFail) fail();
      return;
    }
    const std::size_t count = side_ == Side::kSource ? 1 : rows.size();
    if (cursors_.size() < count) cursors_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      cursors_[i].open(plan_, rows[i], lower_, upper_, strides_);
      cursors_[i].seek(from - at, to - at);
    }
    Stretch stretch;
    if (count == 1) {
      const TensorPlace place = tensor_place(plan_, rows[0], held_);
      while (!stopped_ && cursors_[0].next(stretch)) add(at, place, stretch);
    } else {
      emit_merged(at, rows);
    }
  }

  // Several boxes hold the region: their runs in packed order, equal positions by row.
  void emit_merged(std::uint64_t at, const std::vector<std::uint64_t>& rows) {
    std::vector<Stretch> heads(rows.size());
    std::vector<std::size_t> live;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (cursors_[i].next(heads[i])) live.push_back(i);
    while (!live.empty() && !stopped_) {
      const auto least = std::min_element(
          live.begin(), live.end(),
          [&](std::size_t a, std::size_t b) { return heads[a].image < heads[b].image; });
      add(at, tensor_place(plan_, rows[*least], held_), heads[*least]);
      if (!cursors_[*least].next(heads[*least])) live.erase(least);
    }
  }

  void add(std::uint64_t at, const TensorPlace& place, const Stretch& stretch) {
    const Run run{packed_ + at + stretch.image, place.buffer, place.offset + stretch.memory,
                  stretch.bytes};
    if (pending_.bytes > 0 && pending_.buffer == run.buffer &&
        pending_.packed + pending_.bytes == run.packed &&
        pending_.offset + pending_.bytes == run.offset) {
      pending_.bytes += run.bytes;
      return;
    }
    flush();
    pending_ = run;
  }

  void flush() {
    if (pending_.bytes > 0 && !stopped_) stopped_ = !visit_(pending_);
    pending_.bytes = 0;
  }

  [[noreturn]] void fail() const {
    std::vector<std::string> ranges;
    for (std::size_t d = 0; d < lower_.size(); ++d)
      ranges.push_back(fmt::format("{}:{}", lower_[d], upper_[d]));
    throw InputError(
        {"", 0, fmt::format("tensor {}, rank {}", tensor_name(plan_, tensor_), rank_)},
        fmt::format("the plan moves elements [{}], which the rank's {} shards do not hold",
                    fmt::join(ranges, ", "), side_ == Side::kSource ? "source" : "destination"));
  }

  const Plan& plan_;
  std::int32_t rank_;
  Side side_;
  Missing missing_;
  RowIndex rows_;
  Visit visit_;
  bool stopped_ = false;
  Run pending_{};

  // The slice's box of one tensor, and the bytes of it that are wanted.
  std::uint32_t tensor_ = 0;
  std::uint32_t held_ = 0;    // the tensor whose shards hold it: its source, on the source side
  std::uint64_t packed_ = 0;  // where it begins in the bundle
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::vector<std::uint64_t> strides_;
  std::vector<std::int64_t> lower_;
  std::vector<std::int64_t> upper_;
  std::vector<std::uint64_t> holders_;
  std::vector<RegionCursor> cursors_;
};

}  // namespace

void for_each_run(const Plan& plan, std::int32_t bundle, std::uint64_t begin, std::uint64_t bytes,
                  std::int32_t rank, Side side, Missing missing,
                  const std::function<void(const Run&)>& visit) {
  RunWalk walk(plan, rank, side, missing, [&](const Run& run) {
    visit(run);
    return true;
  });
  walk.walk(bundle, begin, bytes);
}

std::uint64_t count_runs(const Plan& plan, std::int32_t bundle, std::uint64_t begin,
                         std::uint64_t bytes, std::int32_t rank, Side side, Missing missing,
                         std::uint64_t limit) {
  std::uint64_t runs = 0;
  if (limit == 0) return 0;
  RunWalk walk(plan, rank, side, missing, [&](const Run&) { return ++runs < limit; });
  walk.walk(bundle, begin, bytes);
  return runs;
}

void for_each_element_run(const Plan& plan, std::uint64_t shard_row, std::int32_t rank,
                          const std::function<void(const ElementRun&)>& visit) {
  const auto r = static_cast<std::size_t>(rank);
  if (shard_row < plan.rank_shard_first[r] || shard_row >= plan.rank_shard_first[r + 1])
    throw InputError(fmt::format("shard row {} is not of rank {}", shard_row, rank));
  const std::uint32_t first = plan.shard_tensor_first[shard_row];
  const std::size_t dims = plan.tensor_dims[first];
  const auto bounds = box_bounds(plan, plan.shard_box[shard_row], static_cast<int>(dims));
  std::vector<std::int64_t> lower(dims);
  std::vector<std::int64_t> upper(dims);
  for (std::size_t d = 0; d < dims; ++d) {
    lower[d] = bounds[2 * d];
    upper[d] = bounds[2 * d + 1];
    if (lower[d] == upper[d]) return;
  }
  const std::uint64_t bytes = element_bytes(plan, first);
  std::vector<std::uint64_t> strides(dims);
  RegionCursor cursor;
  for (std::uint32_t i = 0; i < plan.shard_tensor_count[shard_row]; ++i) {
    const std::uint32_t tensor = first + i;
    const auto shape = tensor_shape(plan, tensor);
    std::uint64_t stride = bytes;
    std::uint64_t origin = 0;  // element index of the box's first element
    for (std::size_t d = dims; d-- > 0;) {
      strides[d] = stride;
      origin += static_cast<std::uint64_t>(lower[d]) * (stride / bytes);
      stride *= static_cast<std::uint64_t>(shape[d]);
    }
    cursor.open(plan, shard_row, lower, upper, strides);
    const TensorPlace place = tensor_place(plan, shard_row, tensor);
    Stretch stretch;
    while (cursor.next(stretch))
      visit({tensor, origin + stretch.image / bytes, stretch.bytes / bytes, place.buffer,
             place.offset + stretch.memory});
  }
}

}  // namespace transload
