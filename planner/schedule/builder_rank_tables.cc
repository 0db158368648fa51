// The tables that are one list per rank: buffers, shards, zero fills.

#include <algorithm>
#include <numeric>
#include <tuple>

#include "planner/schedule/builder.h"

namespace transload {
namespace {

// Rows per rank into a CSR of R + 1 offsets.
template <class Rows, class RankOf>
std::vector<std::uint64_t> offsets_of(const Rows& rows, std::size_t ranks, RankOf&& rank_of) {
  std::vector<std::uint64_t> first(ranks + 1, 0);
  for (const auto& row : rows) ++first[static_cast<std::size_t>(rank_of(row)) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  return first;
}

using RankedShard = std::pair<std::int32_t, ShardSpec>;

// Table order.
bool stands_before(const RankedShard& a, const RankedShard& b) {
  return std::tuple(a.first, a.second.side, a.second.tensor_first) <
         std::tuple(b.first, b.second.side, b.second.tensor_first);
}

// The i-th tensor of the row alone.
ShardSpec tensor_of(const ShardSpec& shard, std::uint32_t i) {
  ShardSpec single = shard;
  single.tensor_first += i;
  single.tensor_count = 1;
  single.buffer += i / shard.inner_count;
  single.bit_offset += i % shard.inner_count * shard.inner_bits;
  single.inner_count = 1;
  single.inner_bits = 0;
  return single;
}

// Marks the rows from `from` on that put the same elements of the same tensor into the same bytes
// as `single`. Rows are single tensors in table order.
void mark_twins(const std::vector<RankedShard>& rows, std::size_t from, const RankedShard& single,
                std::vector<bool>& twin) {
  const auto [first, last] = std::equal_range(rows.begin(), rows.end(), single, stands_before);
  for (auto row = first; row != last; ++row) {
    const auto index = static_cast<std::size_t>(row - rows.begin());
    if (index >= from && row->second == single.second) twin[index] = true;
  }
}

}  // namespace

void PlanBuilder::lay_out_rank_tables() {
  if (has_other_names_) name_sources_by_their_tensor();
  lay_out_buffers();
  lay_out_shards();
  lay_out_fills();
}

// Source shards of another name are shards of its tensor, which mostly has the same ones already.
void PlanBuilder::name_sources_by_their_tensor() {
  const std::vector<std::uint32_t>& source = tables_.tensor_source;
  const auto is_own = [&](const RankedShard& ranked) {
    const ShardSpec& shard = ranked.second;
    bool own = true;
    for (std::uint32_t t = shard.tensor_first; t < shard.tensor_first + shard.tensor_count; ++t)
      own &= shard.side == Side::kDestination || source[t] == t;
    return own;
  };
  const auto others = std::stable_partition(shards_.begin(), shards_.end(), is_own);
  std::vector<RankedShard> renamed;
  for (auto row = others; row != shards_.end(); ++row)
    for (std::uint32_t i = 0; i < row->second.tensor_count; ++i) {
      ShardSpec single = tensor_of(row->second, i);
      single.tensor_first = source[single.tensor_first];
      renamed.emplace_back(row->first, std::move(single));
    }
  shards_.erase(others, shards_.end());
  if (renamed.empty()) return;

  // A tensor's own row may be a range: twins are looked for tensor by tensor.
  std::stable_sort(renamed.begin(), renamed.end(), stands_before);
  std::vector<bool> twin(renamed.size(), false);
  for (const auto& [rank, shard] : shards_)
    for (std::uint32_t i = 0; shard.side == Side::kSource && i < shard.tensor_count; ++i)
      mark_twins(renamed, 0, {rank, tensor_of(shard, i)}, twin);
  for (std::size_t i = 0; i < renamed.size(); ++i)
    if (!twin[i]) mark_twins(renamed, i + 1, renamed[i], twin);
  for (std::size_t i = 0; i < renamed.size(); ++i)
    if (!twin[i]) shards_.push_back(std::move(renamed[i]));
}

void PlanBuilder::lay_out_buffers() {
  std::stable_sort(buffers_.begin(), buffers_.end(),
                   [](const BufferRow& a, const BufferRow& b) { return a.rank < b.rank; });
  tables_.rank_buffer_first =
      offsets_of(buffers_, tables_.rank_node.size(), [](const BufferRow& row) { return row.rank; });
  for (const BufferRow& row : buffers_) {
    tables_.buffer_index.push_back(row.index);
    tables_.buffer_count.push_back(row.count);
    tables_.buffer_bytes.push_back(row.bytes);
    tables_.buffer_alignment.push_back(row.traits.alignment);
    tables_.buffer_side.push_back(static_cast<std::uint8_t>(row.side));
    tables_.buffer_class.push_back(static_cast<std::uint8_t>(row.traits.buffer_class));
    tables_.buffer_commit.push_back(row.traits.shadow_commit ? 1 : 0);
    tables_.buffer_post_group.push_back(row.traits.post_group);
    tables_.buffer_name.push_back(row.name);
  }
}

void PlanBuilder::lay_out_shards() {
  std::stable_sort(shards_.begin(), shards_.end(), stands_before);
  tables_.rank_shard_first = offsets_of(shards_, tables_.rank_node.size(),
                                        [](const auto& ranked) { return ranked.first; });
  for (const auto& [rank, shard] : shards_) {
    tables_.shard_side.push_back(static_cast<std::uint8_t>(shard.side));
    tables_.shard_tensor_first.push_back(shard.tensor_first);
    tables_.shard_tensor_count.push_back(shard.tensor_count);
    tables_.shard_box.push_back(shard.box);
    tables_.shard_buffer.push_back(shard.buffer);
    tables_.shard_inner_count.push_back(shard.inner_count);
    tables_.shard_bit_offset.push_back(shard.bit_offset);
    tables_.shard_inner_bits.push_back(shard.inner_bits);
    tables_.shard_loop_first.push_back(static_cast<std::uint32_t>(tables_.loop_dim.size()));
    tables_.shard_loops.push_back(static_cast<std::uint8_t>(shard.loops.size()));
    for (const LoopSpec& loop : shard.loops) {
      tables_.loop_dim.push_back(loop.dim);
      tables_.loop_length.push_back(loop.length);
      tables_.loop_stride_bits.push_back(loop.stride_bits);
    }
  }
}

void PlanBuilder::lay_out_fills() {
  const auto place = [](const FillRow& row) {
    return std::tuple(row.rank, row.buffer, row.count, row.offset, row.bytes);
  };
  std::sort(fills_.begin(), fills_.end(),
            [&](const FillRow& a, const FillRow& b) { return place(a) < place(b); });
  tables_.rank_fill_first =
      offsets_of(fills_, tables_.rank_node.size(), [](const FillRow& row) { return row.rank; });
  for (const FillRow& row : fills_) {
    tables_.fill_buffer.push_back(row.buffer);
    tables_.fill_buffer_count.push_back(row.count);
    tables_.fill_offset.push_back(row.offset);
    tables_.fill_bytes.push_back(row.bytes);
  }
}

}  // namespace transload
