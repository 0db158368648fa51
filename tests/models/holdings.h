// What the sharding tests compare: for every rank the boxes of one tensor that it holds, and which
// element lies where in each of its buffers.
//
// `holdings_of` and `image_of` read a Sharding in the slowest obvious way, one rank and one element
// at a time; the tests compute the same from the rank's number and the engine's rules in words and
// compare.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "common/error.h"
#include "models/library.h"
#include "models/model.h"
#include "models/sharding.h"

namespace transload {

using Holdings = std::map<Rank, ExplicitBox>;

// The box that the rank at `position` of a mesh holds; `padded_box` instead keeps the padding.
inline ExplicitBox mesh_box(const Sharding& sharding, std::size_t position,
                            const std::vector<std::int64_t>& shape, bool padded_box = false) {
  std::vector<std::int64_t> coordinate(sharding.mesh.size());
  auto rest = static_cast<std::int64_t>(position);
  for (std::size_t axis = sharding.mesh.size(); axis-- > 0;) {
    coordinate[axis] = rest % sharding.mesh[axis].size;
    rest /= sharding.mesh[axis].size;
  }
  EXPECT_EQ(rest, 0) << "more ranks than the mesh has places";
  ExplicitBox box;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const auto padded = sharding.padded.find(static_cast<int>(dim));
    box.push_back({0, padded == sharding.padded.end() ? shape[dim] : padded->second.extent});
  }
  std::vector<std::size_t> order;
  for (const int axis : sharding.order) order.push_back(static_cast<std::size_t>(axis));
  for (std::size_t axis = 0; axis < sharding.mesh.size(); ++axis)
    if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  for (const std::size_t axis : order) {
    if (!sharding.placements[axis].shards()) continue;
    auto& bounds = box.at(static_cast<std::size_t>(sharding.placements[axis].dim));
    const std::int64_t ways = sharding.mesh[axis].size;
    const std::int64_t part = (bounds[1] - bounds[0] + ways - 1) / ways;
    const std::int64_t low = bounds[0] + coordinate[axis] * part;
    bounds = {std::min(low, bounds[1]), std::min(low + part, bounds[1])};
  }
  for (std::size_t dim = 0; dim < shape.size() && !padded_box; ++dim)
    box[dim] = {std::min(box[dim][0], shape[dim]), std::min(box[dim][1], shape[dim])};
  return box;
}

inline Holdings holdings_of(const Sharding& sharding, const std::vector<std::int64_t>& shape) {
  EXPECT_FALSE(sharding.explicit_boxes());
  EXPECT_EQ(sharding.mesh.size(), sharding.placements.size());
  Holdings holdings;
  for (std::size_t position = 0; position < sharding.ranks.size(); ++position)
    EXPECT_TRUE(
        holdings.emplace(sharding.ranks[position], mesh_box(sharding, position, shape)).second)
        << "a rank stands twice";
  return holdings;
}

inline ExplicitBox whole_box(const std::vector<std::int64_t>& shape) {
  ExplicitBox box;
  for (const std::int64_t extent : shape) box.push_back({0, extent});
  return box;
}

// Part `index` of `ways` equal parts along one dimension.
inline ExplicitBox cut_box(const std::vector<std::int64_t>& shape, std::size_t dim,
                           std::int64_t index, std::int64_t ways) {
  ExplicitBox box = whole_box(shape);
  const std::int64_t part = shape[dim] / ways;
  box[dim] = {index * part, (index + 1) * part};
  return box;
}

inline std::vector<Rank> first_ranks(std::int64_t count) {
  std::vector<Rank> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

inline std::size_t index_of(const Model& model, const std::string& name) {
  const auto found =
      std::find_if(model.parameters.begin(), model.parameters.end(),
                   [&](const Parameter& parameter) { return parameter.name == name; });
  EXPECT_NE(found, model.parameters.end()) << name;
  return static_cast<std::size_t>(found - model.parameters.begin());
}

inline std::size_t index_of(const std::vector<LogicalTensor>& tensors, const std::string& name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const LogicalTensor& tensor) { return tensor.name == name; });
  EXPECT_NE(found, tensors.end()) << name;
  return static_cast<std::size_t>(found - tensors.begin());
}

inline Holdings holdings_of(const std::vector<LogicalTensor>& tensors, const ShardedModel& sharded,
                            const std::string& name) {
  const std::size_t index = index_of(tensors, name);
  return holdings_of(sharded.shardings.at(sharded.sharding_of.at(index)), tensors.at(index).shape);
}

// Element `index` (row-major) of a tensor, as a buffer holds it.
struct StoredElement {
  std::int64_t tensor = -1;  // -1: nothing
  std::int64_t index = 0;
  friend bool operator==(const StoredElement&, const StoredElement&) = default;
};

// What lies at each element of each buffer of a rank; buffers have the names of the engine or,
// where a tensor has one of its own, of the tensor.
using Image = std::map<std::pair<Rank, std::string>, std::vector<StoredElement>>;

inline void store(std::vector<StoredElement>& buffer, std::int64_t at, const StoredElement& element,
                  const std::string& what) {
  ASSERT_GE(at, 0) << what;
  ASSERT_LT(at, 1 << 22) << what;
  if (static_cast<std::size_t>(at) >= buffer.size())
    buffer.resize(static_cast<std::size_t>(at) + 1);
  StoredElement& place = buffer[static_cast<std::size_t>(at)];
  ASSERT_EQ(place.tensor, -1) << what << ": two elements at " << at;
  place = element;
}

// Elements from the shard's first to element `local` of a shard with these extents.
inline std::int64_t stored_distance(const Sharding& sharding,
                                    const std::vector<std::int64_t>& local,
                                    const std::vector<std::int64_t>& extents) {
  const MemoryView& view = sharding.memory;
  std::int64_t distance = 0;
  if (view.strides.empty()) {
    for (std::size_t dim = 0; dim < local.size(); ++dim)
      distance = distance * extents[dim] + local[dim];
    return distance;
  }
  std::size_t at = 0;
  for (std::size_t dim = 0; dim < local.size(); ++dim) {
    const auto factors = view.factors.find(static_cast<int>(dim));
    if (factors == view.factors.end()) {
      distance += local[dim] * view.strides.at(at++);
      continue;
    }
    std::int64_t rest = local[dim];
    for (std::size_t i = factors->second.size(); i-- > 0;) {
      const bool outermost = i == 0;
      const std::int64_t factor = factors->second[i];
      const std::int64_t digit = outermost ? rest : rest % factor;
      distance += digit * view.strides.at(at + i);
      if (!outermost) rest /= factor;
    }
    at += factors->second.size();
  }
  EXPECT_EQ(at, view.strides.size());
  return distance;
}

inline std::int64_t row_major(const std::vector<std::int64_t>& index,
                              const std::vector<std::int64_t>& shape) {
  std::int64_t position = 0;
  for (std::size_t dim = 0; dim < shape.size(); ++dim)
    position = position * shape[dim] + index[dim];
  return position;
}

// Calls `visit` for every index of a box.
template <typename Visit>
void for_each_index(const ExplicitBox& box, const Visit& visit) {
  std::vector<std::int64_t> index;
  for (const auto& bounds : box) {
    if (bounds[0] >= bounds[1]) return;
    index.push_back(bounds[0]);
  }
  while (true) {
    visit(index);
    std::size_t dim = box.size();
    while (dim-- > 0) {
      if (++index[dim] < box[dim][1]) break;
      index[dim] = box[dim][0];
    }
    if (dim == static_cast<std::size_t>(-1)) return;
  }
}

// Adds what one tensor's sharding says.
inline void add_to_image(Image& image, const Sharding& sharding, const LogicalTensor& tensor,
                         std::int64_t number, const std::string& buffer, std::uint32_t slot) {
  const std::int64_t bytes = dtype_bits(tensor.dtype) / 8;
  const auto add_box = [&](Rank rank, const ExplicitBox& box, const ExplicitBox& stored,
                           std::int64_t offset_bytes) {
    EXPECT_EQ(offset_bytes % bytes, 0) << tensor.name;
    std::vector<std::int64_t> extents;
    for (const auto& bounds : stored) extents.push_back(bounds[1] - bounds[0]);
    for_each_index(box, [&](const std::vector<std::int64_t>& index) {
      std::vector<std::int64_t> local = index;
      for (std::size_t dim = 0; dim < local.size(); ++dim) local[dim] -= stored[dim][0];
      store(image[{rank, buffer}], offset_bytes / bytes + stored_distance(sharding, local, extents),
            {number, row_major(index, tensor.shape)}, tensor.name + " in " + buffer);
    });
  };
  if (sharding.explicit_boxes()) {
    for (const auto& [rank, boxes] : sharding.boxes)
      for (const PlacedBox& placed : boxes)
        add_box(rank, placed.box, placed.box, placed.offset_bytes.value());
    return;
  }
  EXPECT_TRUE(sharding.rank_slots.empty());
  for (std::size_t position = 0; position < sharding.ranks.size(); ++position) {
    const Rank rank = sharding.ranks[position];
    const auto own = sharding.memory.rank_offsets.find(rank);
    const std::int64_t offset =
        own == sharding.memory.rank_offsets.end() ? sharding.memory.offset_bytes : own->second;
    add_box(rank, mesh_box(sharding, position, tensor.shape),
            mesh_box(sharding, position, tensor.shape, true),
            offset + sharding.memory.slot_bytes * slot);
  }
}

inline Image image_of(const std::vector<LogicalTensor>& tensors, const ShardedModel& sharded) {
  Image image;
  EXPECT_EQ(sharded.sharding_of.size(), tensors.size());
  EXPECT_TRUE(sharded.unknown.empty())
      << tensors.at(sharded.unknown[0].tensor).name << ": " << sharded.unknown[0].what;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (sharded.sharding_of[i] == ShardedModel::kNotHeld) continue;
    const BufferRef ref = sharded.buffer_of.at(i);
    const std::string buffer =
        ref.buffer == BufferRef::kOwnBuffer ? tensors[i].name : sharded.buffers.at(ref.buffer).name;
    add_to_image(image, sharded.shardings.at(sharded.sharding_of[i]), tensors[i],
                 static_cast<std::int64_t>(i), buffer, ref.slot);
  }
  return image;
}

// The first difference of two images in words; "" if there is none.
inline std::string image_difference(const Image& is, const Image& should) {
  const auto name = [](const auto& key) {
    return "rank " + std::to_string(key.first) + ", " + key.second;
  };
  for (const auto& [key, buffer] : should) {
    const auto found = is.find(key);
    if (found == is.end()) return name(key) + " is missing";
    if (found->second.size() != buffer.size())
      return name(key) + " has " + std::to_string(found->second.size()) + " elements, expected " +
             std::to_string(buffer.size());
    for (std::size_t at = 0; at < buffer.size(); ++at)
      if (!(found->second[at] == buffer[at]))
        return name(key) + " holds tensor " + std::to_string(found->second[at].tensor) + " [" +
               std::to_string(found->second[at].index) + "] at " + std::to_string(at) +
               ", expected tensor " + std::to_string(buffer[at].tensor) + " [" +
               std::to_string(buffer[at].index) + "]";
  }
  for (const auto& [key, buffer] : is)
    if (!should.contains(key)) return name(key) + " should not be there";
  return "";
}

// The message of the InputError that `action` throws; "" if it throws none.
template <typename Action>
std::string input_error(const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// A model small enough for exhaustive comparison, with every kind of parameter of its family.
inline Model small_deepseek() {
  return read_model(YamlValue::from_text(R"(
family: deepseek_v3
dtype: bf16
sources: [made up]
hyper_parameters: {hidden_size: 64, num_hidden_layers: 6, first_k_dense_replace: 2,
  intermediate_size: 96, moe_intermediate_size: 32, n_routed_experts: 12, n_shared_experts: 2,
  num_attention_heads: 8, q_lora_rank: 24, kv_lora_rank: 16, qk_nope_head_dim: 6,
  qk_rope_head_dim: 2, v_head_dim: 4, vocab_size: 1000, num_nextn_predict_layers: 1,
  mtp_stores_copies: true}
)",
                                         "small-deepseek.yaml"),
                    "small-deepseek");
}

inline Model small_qwen() {
  return read_model(YamlValue::from_text(R"(
family: qwen3_moe
dtype: bf16
sources: [made up]
hyper_parameters: {hidden_size: 64, num_hidden_layers: 4, num_attention_heads: 16,
  num_key_value_heads: 4, head_dim: 8, moe_intermediate_size: 48, num_experts: 12, vocab_size: 1000}
)",
                                         "small-qwen.yaml"),
                    "small-qwen");
}

}  // namespace transload
