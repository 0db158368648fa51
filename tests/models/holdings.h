// What the sharding tests compare: for every rank the box of one tensor that it holds.
//
// `holdings_of` reads a Sharding in the slowest obvious way, one rank at a time; the tests compute
// the same boxes from the rank's number by integer arithmetic and compare the two maps.
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

inline Holdings holdings_of(const Sharding& sharding, const std::vector<std::int64_t>& shape) {
  EXPECT_FALSE(sharding.explicit_boxes());
  EXPECT_EQ(sharding.mesh.size(), sharding.placements.size());
  Holdings holdings;
  for (std::size_t position = 0; position < sharding.ranks.size(); ++position) {
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
      box.push_back({0, padded == sharding.padded.end() ? shape[dim] : padded->second});
    }
    for (std::size_t axis = 0; axis < sharding.mesh.size(); ++axis) {
      if (!sharding.placements[axis].shards()) continue;
      auto& bounds = box.at(static_cast<std::size_t>(sharding.placements[axis].dim));
      const std::int64_t ways = sharding.mesh[axis].size;
      const std::int64_t part = (bounds[1] - bounds[0] + ways - 1) / ways;
      const std::int64_t low = bounds[0] + coordinate[axis] * part;
      bounds = {std::min(low, bounds[1]), std::min(low + part, bounds[1])};
    }
    for (std::size_t dim = 0; dim < shape.size(); ++dim)
      box[dim] = {std::min(box[dim][0], shape[dim]), std::min(box[dim][1], shape[dim])};
    EXPECT_TRUE(holdings.emplace(sharding.ranks[position], box).second) << "a rank stands twice";
  }
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

inline Holdings holdings_of(const Model& model, const ShardedModel& sharded,
                            const std::string& name) {
  const std::size_t index = index_of(model, name);
  return holdings_of(sharded.shardings.at(sharded.sharding_of.at(index)),
                     model.parameters.at(index).shape);
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
