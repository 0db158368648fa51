// FSDP's layout against an oracle that cuts the published parameters element by element, and what
// is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/engines/engines.h"
#include "tests/models/oracle.h"

namespace transload {
namespace {

using ::testing::HasSubstr;

std::int64_t ceil_part(std::int64_t length, std::int64_t parts) {
  return (length + parts - 1) / parts;
}

// The element of which logical tensor lies at `index` of a published parameter.
StoredElement logical_element(const Model& model, const std::vector<LogicalTensor>& tensors,
                              const std::vector<std::vector<std::size_t>>& of_parameter,
                              std::size_t parameter, const std::vector<std::int64_t>& index) {
  const Parameter& published = model.parameters[parameter];
  const std::vector<std::size_t>& own = of_parameter[parameter];
  if (published.fusion < 0)
    return {static_cast<std::int64_t>(own[0]), row_major(index, published.shape)};
  const Fusion& fusion = model.fusions[static_cast<std::size_t>(published.fusion)];
  std::vector<std::int64_t> logical = index;
  std::size_t piece = 0;
  if (!fusion.pieces.empty()) {
    std::int64_t block = 0;
    for (const Fusion::Piece& part : fusion.pieces) block += part.extent;
    const std::int64_t at = index[static_cast<std::size_t>(fusion.dim)];
    std::int64_t in_block = at % block;
    while (in_block >= fusion.pieces[piece].extent) in_block -= fusion.pieces[piece++].extent;
    logical[static_cast<std::size_t>(fusion.dim)] =
        at / block * fusion.pieces[piece].extent + in_block;
  }
  std::size_t number = piece;
  if (fusion.experts) {
    number += static_cast<std::size_t>(index[0]) * std::max<std::size_t>(1, fusion.pieces.size());
    logical.erase(logical.begin());
  }
  if (fusion.transposed && logical.size() >= 2)
    std::swap(logical[logical.size() - 1], logical[logical.size() - 2]);
  return {static_cast<std::int64_t>(own[number]), row_major(logical, tensors[own[number]].shape)};
}

// The tensor-parallel plan: -1 nothing, else the dimension; by name.
int plan_of(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("o_proj.weight") || has("down_proj")) return 1;
  if (has("q_proj") || has("k_proj") || has("v_proj") || has("gate_proj") || has("up_proj") ||
      has("q_b_proj") || has("kv_b_proj") || has("embed") || has("lm_head") ||
      has("shared_head.head") || has("eh_proj"))
    return 0;
  return -1;
}

// Every parameter as published: the plan's part of the tp rank, of that the chunk of the shard rank
// along dimension 0, dense and row-major.
Image oracle(const Model& model, const std::vector<LogicalTensor>& tensors, const FsdpSizes& sizes,
             const std::vector<Rank>& ranks) {
  std::vector<std::vector<std::size_t>> of_parameter(model.parameters.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) of_parameter[tensors[i].parameter].push_back(i);
  Image image;
  for (std::size_t number = 0; number < ranks.size(); ++number) {
    const auto n = static_cast<std::int64_t>(number);
    for (std::size_t p = 0; p < model.parameters.size(); ++p) {
      const Parameter& parameter = model.parameters[p];
      ExplicitBox box = whole_box(parameter.shape);
      const auto cut = [&](std::size_t dim, std::int64_t parts, std::int64_t index) {
        const std::int64_t length = box[dim][1] - box[dim][0];
        const std::int64_t part = ceil_part(length, parts);
        const std::int64_t low = box[dim][0];
        box[dim] = {low + std::min(index * part, length),
                    low + std::min((index + 1) * part, length)};
      };
      if (const int plan = plan_of(parameter.name); plan >= 0)
        cut(static_cast<std::size_t>(plan), sizes.tp, n % sizes.tp);
      cut(0, sizes.shard, n / sizes.tp % sizes.shard);
      std::int64_t at = 0;
      for_each_index(box, [&](const std::vector<std::int64_t>& index) {
        store(image[{ranks[number], parameter.name}], at++,
              logical_element(model, tensors, of_parameter, p, index), parameter.name);
      });
    }
  }
  return image;
}

void expect_oracle(const Model& model, const FsdpSizes& sizes, const std::vector<Rank>& ranks) {
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ShardedModel sharded = shard_fsdp(model, tensors, sizes, ranks);
  EXPECT_EQ(image_difference(image_of(tensors, sharded), oracle(model, tensors, sizes, ranks)), "")
      << model.name << " shard " << sizes.shard << " replicate " << sizes.replicate << " tp "
      << sizes.tp;
}

// Without what the tensor-parallel plan is not known for.
Model dense_part(const Model& model) {
  Model dense = model;
  std::erase_if(dense.parameters, [](const Parameter& parameter) {
    return parameter.name.find("experts") != std::string::npos ||
           parameter.kind == ParameterKind::kSinks ||
           parameter.kind == ParameterKind::kQueryNormFull ||
           parameter.kind == ParameterKind::kKeyNormFull;
  });
  dense.experts = 0;
  return dense;
}

TEST(Fsdp, AgreesWithTheOracle) {
  std::vector<Rank> scattered = first_ranks(12);
  for (Rank& rank : scattered) rank = 3 + rank * 5 % 12;  // 5 and 12 share no factor
  // 12 shards of 10 rows: the last are empty.
  for (const Model& model : {tiny_deepseek(), tiny_qwen(), hybrid_model()})
    for (const std::int64_t shard : {1, 2, 3, 4, 6, 12}) {
      expect_oracle(model, {.shard = shard, .replicate = 12 / shard}, scattered);
      if (HasFailure()) return;
    }
}

TEST(Fsdp, TensorPlanComesFirst) {
  std::vector<Rank> scattered = first_ranks(12);
  for (Rank& rank : scattered) rank = 3 + rank * 5 % 12;
  for (const Model& model :
       {dense_part(tiny_deepseek()), dense_part(tiny_qwen()), dense_part(hybrid_model())})
    for (const std::int64_t shard : {1, 2, 3, 6}) {
      expect_oracle(model, {.shard = shard, .replicate = 6 / shard, .tp = 2}, scattered);
      if (HasFailure()) return;
    }
}

// Facts 3.3(m): [E, H, 2 MI] and [E, MI, H], transposed; experts over ep, dimension 1 over the
// rest.
void expect_stacks(const Model& model, std::int64_t shard, std::int64_t ep) {
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const Image image =
      image_of(tensors, shard_fsdp(model, tensors, {.shard = shard, .ep = ep}, first_ranks(shard)));
  const std::int64_t ways = shard / ep;
  const std::string experts = "model.layers.2.mlp.experts.";
  for (Rank rank = 0; rank < shard; ++rank) {
    const std::int64_t member = rank % ep;
    const std::int64_t way = rank / ep;
    const std::int64_t local = model.experts / ep;
    std::vector<StoredElement> gate_and_up;
    std::vector<StoredElement> down;
    // Rows `in` of the stack are columns of the checkpoint's matrix.
    const auto stack = [&](const std::vector<std::string>& parts, std::vector<StoredElement>& to) {
      const std::int64_t in = tensors[index_of(tensors, parts[0])].shape[1];
      const std::int64_t part = ceil_part(in, ways);
      for (std::int64_t i = way * part; i < std::min(in, (way + 1) * part); ++i)
        for (const std::string& name : parts) {
          const std::size_t number = index_of(tensors, name);
          for (std::int64_t out = 0; out < tensors[number].shape[0]; ++out)
            to.push_back({static_cast<std::int64_t>(number), out * in + i});
        }
    };
    for (std::int64_t slot = 0; slot < local; ++slot) {
      const std::string name = experts + std::to_string(member * local + slot);
      stack({name + ".gate_proj.weight", name + ".up_proj.weight"}, gate_and_up);
      stack({name + ".down_proj.weight"}, down);
    }
    if (gate_and_up.empty()) continue;
    EXPECT_EQ(image.at({rank, experts + "gate_and_up_projs"}), gate_and_up) << rank;
    EXPECT_EQ(image.at({rank, experts + "down_projs"}), down) << rank;
  }
}

TEST(Fsdp, ExpertsAreStackedAndTransposedUnderEp) {
  expect_stacks(tiny_qwen(), 2, 2);
  expect_stacks(tiny_qwen(), 4, 2);
  expect_stacks(tiny_qwen(), 6, 2);  // 4 input channels over 3: 2, 2 and none
  expect_stacks(without_mtp(tiny_deepseek()), 8, 4);
}

// Llama-4 stores [gate | up] halves with the input dimension first.
TEST(Fsdp, TransposedHalvesOfAStack) {
  HandModel hand("halves");
  hand.model.layers = 1;
  hand.model.query_heads = hand.model.kv_heads = 1;
  hand.model.experts = 3;
  const auto halves = hand.fusion(
      {.experts = true,
       .dim = 2,
       .pieces = {{"gate", ParameterKind::kExpertGate, 2}, {"up", ParameterKind::kExpertUp, 2}},
       .transposed = true});
  hand.add("layers.0.feed_forward.experts.gate_up_proj", {3, 5, 4}, ParameterKind::kExpertGate, 0,
           -1, halves);
  for (const std::int64_t shard : {1, 2, 3, 4})
    expect_oracle(hand.model, {.shard = shard}, first_ranks(shard));
}

TEST(Fsdp, PlainShardsAreFew) {
  const Model model = load_library_model("kimi-k2");
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ShardedModel sharded = shard_fsdp(model, tensors, {.shard = 256}, first_ranks(256));
  EXPECT_EQ(sharded.shardings.size(), 1U);
  const Holdings holdings = holdings_of(tensors, sharded, "model.norm.weight");
  EXPECT_EQ(holdings.at(255), (ExplicitBox{{7140, 7168}}));
}

TEST(Fsdp, WhatIsNotKnownIsNotGuessed) {
  const Model model = hybrid_model();
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const auto unknown = [&](const FsdpSizes& sizes) {
    std::map<std::string, std::string> reasons;
    const ShardedModel sharded =
        shard_fsdp(model, tensors, sizes, first_ranks(sizes.shard * sizes.tp));
    for (const Conversion& reason : sharded.unknown)
      reasons[tensors[reason.tensor].name] = reason.what;
    return reasons;
  };
  const auto tp = unknown({.tp = 2});
  EXPECT_THAT(tp.at("model.layers.4.self_attn.sinks"), HasSubstr("tensor-parallel plan"));
  EXPECT_THAT(tp.at("model.layers.3.mlp.experts.down_proj/0"), HasSubstr("tensor-parallel plan"));
  EXPECT_FALSE(tp.contains("model.layers.0.self_attn.q_proj.weight/q"));
  const auto ep = unknown({.shard = 2, .ep = 2});
  EXPECT_THAT(ep.at("model.layers.4.mlp.experts.gate_up_proj/0/up"), HasSubstr("alternating"));
  EXPECT_THAT(ep.at("model.layers.4.mlp.experts.down_proj_bias/1"), HasSubstr("expert biases"));
  EXPECT_TRUE(unknown({.shard = 2}).empty());
}

TEST(Fsdp, RefusesWhatDoesNotFit) {
  const Model model = tiny_qwen();
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const auto message = [&](const FsdpSizes& sizes, std::int64_t gpus) {
    return input_error([&] { shard_fsdp(model, tensors, sizes, first_ranks(gpus)); });
  };
  EXPECT_THAT(message({.shard = 4}, 8),
              HasSubstr("source.gpus: expected shard 4 * replicate 1 * tp 1 = 4, found 8"));
  EXPECT_THAT(message({.shard = 0}, 8), HasSubstr("source.parallel.shard: 0 is below 1"));
  EXPECT_THAT(message({.shard = 2, .tp = 4}, 8), HasSubstr("4 does not divide 2 KV heads"));
  EXPECT_THAT(message({.shard = 8, .ep = 3}, 8), HasSubstr("3 does not divide shard 8"));
  EXPECT_THAT(message({.shard = 4, .ep = 4}, 4), HasSubstr("4 does not divide 6 routed experts"));
  EXPECT_THAT(message({.shard = 4, .replicate = 2, .ep = 2}, 8), HasSubstr("two readings"));
  EXPECT_THAT(message({.shard = 2, .tp = 2, .ep = 2}, 4), HasSubstr("under both tp and ep"));
}

}  // namespace
}  // namespace transload
