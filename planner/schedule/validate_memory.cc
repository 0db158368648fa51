#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "common/dtype.h"
#include "planner/schedule/validate_rules.h"

namespace transload {
namespace {

class MemoryValidator {
 public:
  explicit MemoryValidator(const ValidateRules& rules) : rules_(rules), plan_(rules.plan()) {
    for (std::uint32_t t = 0; t < plan_.tensors(); ++t)
      has_other_names_ |= plan_.tensor_source[t] != t;
  }

  void run() const {
    validate_shards();
    validate_fills();
  }

 private:
  void validate_shards() const {
    const std::size_t n = plan_.shard_side.size();
    rules_.same_length(
        "shards", n,
        {plan_.shard_tensor_first.size(), plan_.shard_tensor_count.size(), plan_.shard_box.size(),
         plan_.shard_buffer.size(), plan_.shard_inner_count.size(), plan_.shard_bit_offset.size(),
         plan_.shard_inner_bits.size(), plan_.shard_loop_first.size(), plan_.shard_loops.size()});
    rules_.same_length("loops", plan_.loop_dim.size(),
                       {plan_.loop_length.size(), plan_.loop_stride_bits.size()});
    for (std::size_t rank = 0; rank < plan_.ranks(); ++rank)
      for (std::size_t i = plan_.rank_shard_first[rank]; i < plan_.rank_shard_first[rank + 1]; ++i)
        validate_shard(rank, i);
  }

  void validate_shard(std::size_t rank, std::size_t i) const {
    if (plan_.shard_side[i] > 1) rules_.fail("shard_side", i, "a known side");
    rules_.box("shards", i, plan_.shard_box[i], plan_.shard_tensor_first[i],
               plan_.shard_tensor_count[i], 1);
    // Rows are found by binary search.
    if (i > plan_.rank_shard_first[rank] &&
        std::pair(plan_.shard_side[i], plan_.shard_tensor_first[i]) <
            std::pair(plan_.shard_side[i - 1], plan_.shard_tensor_first[i - 1]))
      rules_.fail("shards", i, "a rank's rows by side and first tensor");
    if (has_other_names_ && static_cast<Side>(plan_.shard_side[i]) == Side::kSource)
      validate_source_names(i);
    if (plan_.shard_inner_count[i] == 0) rules_.fail("shard_inner_count", i, "at least 1");
    if (last_buffer(i) >= buffers_of(rank)) rules_.fail("shard_buffer", i, "a buffer of its rank");
    validate_loops(i);
    if (plan_.shard_bit_offset[i] % 8 != 0 || plan_.shard_inner_bits[i] % 8 != 0)
      rules_.fail("shard_bit_offset", i, "whole bytes");
    validate_shard_end(rank, i);
  }

  void validate_source_names(std::size_t i) const {
    for (std::uint32_t k = 0; k < plan_.shard_tensor_count[i]; ++k) {
      const std::uint32_t tensor = plan_.shard_tensor_first[i] + k;
      if (plan_.tensor_source[tensor] != tensor)
        rules_.fail("shards", i, "source shards of the tensor, not of another name of it");
    }
  }

  // The loops of each dimension must enumerate exactly the box's extent along it.
  void validate_loops(std::size_t i) const {
    const std::uint8_t dims = plan_.tensor_dims[plan_.shard_tensor_first[i]];
    const std::size_t first = plan_.shard_loop_first[i];
    if (first > plan_.loop_dim.size() || plan_.loop_dim.size() - first < plan_.shard_loops[i])
      rules_.fail("shard_loops", i, "loops inside the loop table");
    std::array<std::int64_t, 256> product;
    std::array<bool, 256> any{};
    product.fill(1);
    for (std::size_t loop = first; loop < first + plan_.shard_loops[i]; ++loop) {
      const std::uint8_t d = plan_.loop_dim[loop];
      if (d >= dims) rules_.fail("loop_dim", loop, "a dimension of the tensor");
      const std::int64_t length = plan_.loop_length[loop];
      if (length < 0 || length > kMaxExtent || (product[d] > 0 && length > kMaxExtent / product[d]))
        rules_.fail("loop_length", loop, "a sane length");
      product[d] *= length;
      any[d] = true;
      if (plan_.loop_stride_bits[loop] < 0 ||
          plan_.loop_stride_bits[loop] > std::int64_t{1} << 58 ||
          plan_.loop_stride_bits[loop] % 8 != 0)
        rules_.fail("loop_stride_bits", loop, "a non-negative stride in whole bytes");
    }
    for (std::uint8_t d = 0; d < dims; ++d)
      if (!any[d] || product[d] != extent_of(i, d))
        rules_.fail("shard_loops", i, "loops that enumerate the box");
  }

  // The last byte of every tensor of the row lies inside its buffer.
  void validate_shard_end(std::size_t rank, std::size_t i) const {
    const std::uint32_t tensor = plan_.shard_tensor_first[i];
    for (std::uint8_t d = 0; d < plan_.tensor_dims[tensor]; ++d)
      if (extent_of(i, d) == 0) return;
    __int128 span_bits = dtype_bits(static_cast<DType>(plan_.tensor_dtype[tensor]));
    for (std::uint8_t l = 0; l < plan_.shard_loops[i]; ++l) {
      const std::size_t loop = plan_.shard_loop_first[i] + l;
      span_bits +=
          static_cast<__int128>(plan_.loop_length[loop] - 1) * plan_.loop_stride_bits[loop];
    }
    const std::uint64_t inner =
        std::min<std::uint64_t>(plan_.shard_inner_count[i], plan_.shard_tensor_count[i]);
    const __int128 end_bits = static_cast<__int128>(plan_.shard_bit_offset[i]) +
                              static_cast<__int128>(inner - 1) * plan_.shard_inner_bits[i] +
                              span_bits;
    for_each_buffer_row(rank, plan_.shard_buffer[i], last_buffer(i), [&](std::size_t b) {
      if (end_bits > static_cast<__int128>(plan_.buffer_bytes[b]) * 8)
        rules_.fail("shards", i, "a shard inside its buffer");
      if (plan_.buffer_side[b] != plan_.shard_side[i])
        rules_.fail("shards", i, "a buffer of the shard's side");
    });
  }

  void validate_fills() const {
    rules_.same_length(
        "fills", plan_.fill_buffer.size(),
        {plan_.fill_buffer_count.size(), plan_.fill_offset.size(), plan_.fill_bytes.size()});
    for (std::size_t rank = 0; rank < plan_.ranks(); ++rank) {
      for (std::size_t i = plan_.rank_fill_first[rank]; i < plan_.rank_fill_first[rank + 1]; ++i)
        validate_fill(rank, i);
      validate_fills_apart(rank);
    }
  }

  void validate_fill(std::size_t rank, std::size_t i) const {
    if (plan_.fill_buffer_count[i] == 0 || plan_.fill_bytes[i] == 0)
      rules_.fail("fills", i, "at least one byte of at least one buffer");
    const std::uint64_t past = std::uint64_t{plan_.fill_buffer[i]} + plan_.fill_buffer_count[i];
    if (past > buffers_of(rank)) rules_.fail("fill_buffer", i, "buffers of its rank");
    for_each_buffer_row(rank, plan_.fill_buffer[i], past - 1, [&](std::size_t b) {
      if (static_cast<Side>(plan_.buffer_side[b]) != Side::kDestination)
        rules_.fail("fills", i, "a destination buffer");
      if (plan_.fill_offset[i] > plan_.buffer_bytes[b] ||
          plan_.fill_bytes[i] > plan_.buffer_bytes[b] - plan_.fill_offset[i])
        rules_.fail("fills", i, "a fill inside its buffer");
    });
  }

  // No byte is filled twice: a sweep over buffers, with the fills of the current one by offset.
  void validate_fills_apart(std::size_t rank) const {
    std::vector<std::size_t> by_end;
    for (std::size_t i = plan_.rank_fill_first[rank]; i < plan_.rank_fill_first[rank + 1]; ++i)
      by_end.push_back(i);
    std::vector<std::size_t> by_begin = by_end;
    const auto end_of = [&](std::size_t i) {
      return std::uint64_t{plan_.fill_buffer[i]} + plan_.fill_buffer_count[i];
    };
    std::ranges::sort(by_begin, {}, [&](std::size_t i) { return plan_.fill_buffer[i]; });
    std::ranges::sort(by_end, {}, end_of);
    std::map<std::uint64_t, std::uint64_t> filled;  // offset, past the end
    std::size_t ended = 0;
    for (const std::size_t i : by_begin) {
      for (; end_of(by_end[ended]) <= plan_.fill_buffer[i]; ++ended)
        filled.erase(plan_.fill_offset[by_end[ended]]);
      const std::uint64_t begin = plan_.fill_offset[i];
      const auto next = filled.lower_bound(begin);
      if ((next != filled.end() && next->first < begin + plan_.fill_bytes[i]) ||
          (next != filled.begin() && std::prev(next)->second > begin))
        rules_.fail("fills", i, "bytes that no other fill names");
      filled.emplace_hint(next, begin, begin + plan_.fill_bytes[i]);
    }
  }

  std::int64_t extent_of(std::size_t shard, std::uint8_t dim) const {
    const std::size_t at = plan_.shard_box[shard] + 2 * dim;
    return plan_.bounds[at + 1] - plan_.bounds[at];
  }

  std::uint64_t last_buffer(std::size_t shard) const {
    return plan_.shard_buffer[shard] +
           (std::uint64_t{plan_.shard_tensor_count[shard]} - 1) / plan_.shard_inner_count[shard];
  }

  std::uint64_t buffers_of(std::size_t rank) const {
    const std::size_t last_row = plan_.rank_buffer_first[rank + 1];
    if (last_row == plan_.rank_buffer_first[rank]) return 0;
    return std::uint64_t{plan_.buffer_index[last_row - 1]} + plan_.buffer_count[last_row - 1];
  }

  // The rows of the buffer table that hold the rank's buffers `first` to `last`, which exist.
  template <class Visit>
  void for_each_buffer_row(std::size_t rank, std::uint64_t first, std::uint64_t last,
                           Visit&& visit) const {
    const auto begin =
        plan_.buffer_index.begin() + static_cast<std::ptrdiff_t>(plan_.rank_buffer_first[rank]);
    const auto end =
        plan_.buffer_index.begin() + static_cast<std::ptrdiff_t>(plan_.rank_buffer_first[rank + 1]);
    for (auto row = std::upper_bound(begin, end, first) - 1; row != end && *row <= last; ++row)
      visit(static_cast<std::size_t>(row - plan_.buffer_index.begin()));
  }

  const ValidateRules& rules_;
  const Plan& plan_;
  bool has_other_names_ = false;
};

}  // namespace

void validate_memory(const ValidateRules& rules) { MemoryValidator(rules).run(); }

}  // namespace transload
