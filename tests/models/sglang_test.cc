// SGLang's layout against an oracle written from its rules in words, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/engines/engines.h"
#include "tests/models/inference_oracle.h"

namespace transload {
namespace {

using ::testing::HasSubstr;

SglangOptions sized(const ParallelSizes& sizes) {
  SglangOptions options;
  options.sizes = sizes;
  return options;
}

InferenceNames names_of(const SglangOptions& options) {
  InferenceNames names;
  names.qkv_down = "fused_qkv_a_proj_with_mqa";
  names.up_first = options.up_first;
  return names;
}

// Ranks of an engine are pp-tp, tp fastest; attention parts are tp rank mod (tp / dp); the expert
// member is tp rank / (tp / ep).
Image oracle(const Model& model, const std::vector<LogicalTensor>& tensors,
             const SglangOptions& options, const PipelineLayout& layers,
             const std::vector<Rank>& ranks) {
  InferenceOracle result(model, tensors, names_of(options));
  const ParallelSizes& sizes = options.sizes;
  const std::int64_t attention_tp = sizes.tp / std::max<std::int64_t>(1, sizes.dp);
  const std::int64_t moe_tp = sizes.tp / sizes.ep;
  for (std::size_t number = 0; number < ranks.size(); ++number) {
    const std::int64_t tp = static_cast<std::int64_t>(number) % sizes.tp;
    const std::int64_t stage = static_cast<std::int64_t>(number) / sizes.tp % sizes.pp;
    const PartOf whole_tp{tp, sizes.tp};
    const PartOf attention{tp % attention_tp, attention_tp};
    const PartOf dense = options.moe_dense_tp == 1 ? PartOf{} : whole_tp;
    InferenceRank rank{ranks[number],
                       stage == 0,
                       stage == sizes.pp - 1,
                       {},
                       attention,
                       dense,
                       whole_tp,
                       attention,
                       options.dp_lm_head ? attention : whole_tp,
                       {tp % moe_tp, moe_tp},
                       {}};
    std::int64_t first = 0;
    for (std::int64_t s = 0; s < stage; ++s) first += layers[static_cast<std::size_t>(s)];
    for (std::int64_t i = 0; i < layers[static_cast<std::size_t>(stage)]; ++i)
      rank.layers.push_back(first + i);
    const std::int64_t local = model.experts / sizes.ep;
    for (std::int64_t slot = 0; slot < local; ++slot)
      rank.experts.push_back(tp / moe_tp * local + slot);
    result.add(rank);
  }
  return result.image();
}

void expect_oracle(const Model& model, const SglangOptions& options, const PipelineLayout& layers,
                   const std::vector<Rank>& ranks) {
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ShardedModel sharded = shard_sglang(model, tensors, options, ranks);
  EXPECT_EQ(
      image_difference(image_of(tensors, sharded), oracle(model, tensors, options, layers, ranks)),
      "")
      << model.name << " tp " << options.sizes.tp << " dp " << options.sizes.dp << " ep "
      << options.sizes.ep;
}

TEST(Sglang, AgreesWithTheOracle) {
  std::vector<Rank> scattered = first_ranks(16);
  for (Rank& rank : scattered) rank = 5 + rank * 9 % 16;
  for (const Model& model : {without_mtp(tiny_deepseek()), tiny_qwen()})
    for (const std::int64_t tp : {1, 2, 4})
      for (const std::int64_t dp : {1, 2, 4})
        for (const std::int64_t ep : {1, 2, 4})
          for (const bool up_first : {false, true}) {
            if (tp % dp != 0 || tp % ep != 0 || model.experts % ep != 0) continue;
            SglangOptions options = sized({.tp = tp, .ep = ep, .dp = dp});
            options.up_first = up_first;
            options.dp_lm_head = up_first;
            options.moe_dense_tp = up_first ? 1 : 0;
            expect_oracle(model, options, {3}, scattered);
            if (HasFailure()) return;
          }
}

TEST(Sglang, PipelineStagesGiveTheRestToTheLast) {
  expect_oracle(tiny_qwen(), sized({.tp = 2, .pp = 2}), {1, 2}, first_ranks(8));
}

// With the shared expert fused it is expert number E: the slot after the last.
TEST(Sglang, FusedSharedExpertIsTheLastSlot) {
  const Model model = without_mtp(tiny_deepseek());
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  SglangOptions options = sized({.tp = 2});
  options.fused_shared_expert = true;
  const Image image = image_of(tensors, shard_sglang(model, tensors, options, first_ranks(2)));
  const std::string mlp = "model.layers.1.mlp.";
  for (Rank rank = 0; rank < 2; ++rank) {
    Oracle oracle(tensors);
    for (int expert = 0; expert < 4; ++expert) {
      const std::string name = mlp + "experts." + std::to_string(expert);
      oracle.rows_of(rank, "w13", name + ".gate_proj.weight", rank, 2);
      oracle.rows_of(rank, "w13", name + ".up_proj.weight", rank, 2);
      oracle.columns_of(rank, "w2", name + ".down_proj.weight", rank, 2);
    }
    oracle.rows_of(rank, "w13", mlp + "shared_experts.gate_proj.weight", rank, 2);
    oracle.rows_of(rank, "w13", mlp + "shared_experts.up_proj.weight", rank, 2);
    oracle.columns_of(rank, "w2", mlp + "shared_experts.down_proj.weight", rank, 2);
    const std::string experts = mlp + "experts.";
    EXPECT_EQ(image.at({rank, experts + "w13_weight"}), oracle.image().at({rank, "w13"}));
    EXPECT_EQ(image.at({rank, experts + "w2_weight"}), oracle.image().at({rank, "w2"}));
  }
}

TEST(Sglang, AbsorbedKvUp) {
  const Model model = without_mtp(tiny_deepseek());
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ShardedModel sharded = shard_sglang(model, tensors, sized({}), first_ranks(1));
  ASSERT_EQ(sharded.conversions.size(), 3U);
  EXPECT_THAT(sharded.conversions[0].what, HasSubstr("w_kc and w_vc"));
  EXPECT_EQ(
      sharded.buffers.at(sharded.buffer_of[sharded.conversions[0].tensor].buffer).destination_class,
      DestinationClass::kShadow);
}

TEST(Sglang, WhatIsNotKnownIsNotGuessed) {
  const Model model = hybrid_model();
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ShardedModel sharded = shard_sglang(model, tensors, sized({.tp = 2}), first_ranks(2));
  std::vector<std::string> unknown;
  for (const Conversion& reason : sharded.unknown) unknown.push_back(tensors[reason.tensor].name);
  EXPECT_THAT(unknown, ::testing::Contains("model.layers.1.mixer.in_proj.weight/z"));
  EXPECT_THAT(unknown, ::testing::Contains("model.layers.2.linear_attn.in_proj_z.weight"));
  EXPECT_THAT(unknown, ::testing::Contains("model.layers.4.mlp.experts.down_proj_bias/0"));
  // Packed halves are known, alternating columns are not.
  EXPECT_THAT(unknown,
              ::testing::Not(::testing::Contains("model.layers.3.mlp.experts.gate_up_proj/0/up")));
  EXPECT_THAT(unknown, ::testing::Contains("model.layers.4.mlp.experts.gate_up_proj/0/up"));
}

TEST(Sglang, RefusesWhatDoesNotFit) {
  const Model model = without_mtp(tiny_deepseek());
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const auto message = [&](const SglangOptions& options, std::int64_t gpus) {
    return input_error([&] { shard_sglang(model, tensors, options, first_ranks(gpus)); });
  };
  EXPECT_THAT(message(sized({.tp = 4, .dp = 3}), 4),
              HasSubstr("parallel.dp: 3 does not divide tp 4"));
  EXPECT_THAT(message(sized({.tp = 4, .ep = 3}), 4),
              HasSubstr("parallel.ep: 3 does not divide tp 4"));
  EXPECT_THAT(message(sized({.tp = 4, .etp = 2}), 4), HasSubstr("sglang has no etp"));
  SglangOptions fused = sized({.tp = 4, .ep = 2});
  fused.fused_shared_expert = true;
  EXPECT_THAT(message(fused, 4), HasSubstr("only without expert parallelism"));
}

}  // namespace
}  // namespace transload
