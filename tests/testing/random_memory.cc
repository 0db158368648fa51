#include "tests/testing/random_memory.h"

#include <algorithm>

namespace transload::testing {
namespace {

// Offsets in bits of all elements of the shard's tensors in one buffer.
std::vector<std::uint64_t> element_offsets(const ShardSpec& shard) {
  std::vector<std::uint64_t> offsets{shard.bit_offset};
  const auto repeat = [&](std::uint64_t length, std::uint64_t stride) {
    std::vector<std::uint64_t> all;
    for (const std::uint64_t offset : offsets)
      for (std::uint64_t i = 0; i < length; ++i) all.push_back(offset + i * stride);
    offsets = std::move(all);
  };
  repeat(std::min(shard.inner_count, shard.tensor_count), shard.inner_bits);
  for (const LoopSpec& loop : shard.loops)
    repeat(static_cast<std::uint64_t>(loop.length), static_cast<std::uint64_t>(loop.stride_bits));
  return offsets;
}

}  // namespace

// Loops in a random order of dimensions with random padding on every level; a dimension is
// sometimes two loops, between which the tensors of the range or other dimensions may stand.
ShardSpec RandomMemory::lay_out(std::uint32_t tensor, std::uint32_t count, std::uint32_t inner,
                                const std::vector<std::int64_t>& box, DType dtype) {
  ShardSpec shard;
  shard.tensor_first = tensor;
  shard.tensor_count = count;
  shard.inner_count = inner;
  shard.box = builder_.add_box(box);
  constexpr std::uint8_t kTensors = 255;  // the step from tensor to tensor, as a loop
  std::vector<LoopSpec> loops;            // outermost first
  loops.push_back({kTensors, std::min(inner, count), 0});
  for (std::uint8_t d = 0; d < box.size() / 2; ++d) {
    const std::int64_t length = box[2 * d + 1] - box[2 * d];
    if (length % 2 == 0 && draw(2) == 0) {
      loops.push_back({d, 2, 0});
      loops.push_back({d, length / 2, 0});
    } else {
      loops.push_back({d, length, 0});
    }
  }
  // Digits of a dimension keep their order, so only neighbours of unlike dimensions change places.
  for (std::size_t swaps = draw(3) == 0 ? draw(6) : draw(2); swaps > 0; --swaps) {
    const std::size_t at = draw(loops.size());
    if (at > 0 && loops[at - 1].dim != loops[at].dim) std::swap(loops[at - 1], loops[at]);
  }
  const std::int64_t element = dtype_bits(dtype);
  std::int64_t stride = element;
  for (std::size_t l = loops.size(); l-- > 0;) {
    loops[l].stride_bits = stride;
    stride *= loops[l].length;
    if (draw(4) == 0) stride += element * static_cast<std::int64_t>(1 + draw(3));
    if (draw(4) == 0) stride *= 2;
  }
  for (const LoopSpec& loop : loops) {
    if (loop.dim == kTensors)
      shard.inner_bits = static_cast<std::uint64_t>(loop.stride_bits);
    else
      shard.loops.push_back(loop);
  }
  return shard;
}

// At the first element-aligned place where none of its bytes is in use: tensors interleave where
// their gaps allow it.
void RandomMemory::place(OpenBuffer& buffer, ShardSpec shard, std::int64_t element_bits) {
  const auto element = static_cast<std::uint64_t>(element_bits / 8);
  const std::vector<std::uint64_t> offsets = element_offsets(shard);
  const auto is_free = [&](std::uint64_t at) {
    return std::all_of(offsets.begin(), offsets.end(), [&](std::uint64_t bits) {
      for (std::uint64_t b = 0; b < element; ++b)
        if (at + bits / 8 + b < buffer.used.size() && buffer.used[at + bits / 8 + b]) return false;
      return true;
    });
  };
  std::uint64_t at = 0;
  while (!is_free(at)) at += element;
  for (const std::uint64_t bits : offsets) {
    const std::uint64_t end = at + bits / 8 + element;
    if (buffer.used.size() < end) buffer.used.resize(end, false);
    std::fill_n(buffer.used.begin() + static_cast<std::ptrdiff_t>(end - element), element, true);
  }
  shard.bit_offset = 8 * at;
  buffer.shards.push_back(std::move(shard));
}

void RandomMemory::add_shard(std::int32_t rank, Side side, std::uint32_t tensor,
                             std::uint32_t count, const std::vector<std::int64_t>& box,
                             DType dtype) {
  bool empty = false;
  for (std::size_t d = 0; d < box.size(); d += 2) empty |= box[d] == box[d + 1];
  if (empty || draw(4) == 0) {
    builder_.add_dense_shard(rank, side, tensor, count, box);
    return;
  }
  const auto inner = static_cast<std::uint32_t>(1 + draw(count));
  ShardSpec shard = lay_out(tensor, count, inner, box, dtype);
  shard.side = side;
  const std::uint32_t buffers = (count + inner - 1) / inner;
  auto& open = open_[{rank, side}];
  const auto joined = std::find_if(open.begin(), open.end(), [&](const OpenBuffer& candidate) {
    return candidate.count == buffers && draw(4) > 0;
  });
  OpenBuffer& buffer = joined != open.end() ? *joined : open.emplace_back();
  buffer.count = buffers;
  place(buffer, std::move(shard), dtype_bits(dtype));
}

void RandomMemory::finish() {
  for (auto& [place, buffers] : open_) {
    const auto [rank, side] = place;
    for (OpenBuffer& buffer : buffers) {
      buffer.used.resize(buffer.used.size() + 4 * draw(5), false);
      const std::uint32_t first =
          builder_.add_buffers(rank, side, buffer.used.size(), buffer.count, "shared");
      for (ShardSpec& shard : buffer.shards) {
        shard.buffer = first;
        builder_.add_shard(rank, shard);
      }
      if (side == Side::kDestination) fill_gaps(rank, first, buffer);
    }
  }
}

void RandomMemory::fill_gaps(std::int32_t rank, std::uint32_t first, const OpenBuffer& buffer) {
  const std::size_t style = draw(3);  // none, all, some
  if (style == 0) return;
  for (std::size_t begin = 0; begin < buffer.used.size();) {
    const auto from = buffer.used.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto to = std::find(from, buffer.used.end(), !buffer.used[begin]);
    const auto end = static_cast<std::size_t>(to - buffer.used.begin());
    if (!buffer.used[begin] && (style == 1 || draw(2) == 0)) {
      const std::size_t bytes = style == 1 ? end - begin : 1 + draw(end - begin);
      builder_.add_fill(rank, first, buffer.count, begin, bytes);
    }
    begin = end;
  }
}

}  // namespace transload::testing
