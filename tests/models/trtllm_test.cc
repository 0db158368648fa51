// TensorRT-LLM's layout against an oracle written from its rules in words, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/engines/engines.h"
#include "tests/models/inference_oracle.h"

namespace transload {
namespace {

using ::testing::HasSubstr;

InferenceOptions sized(const ParallelSizes& sizes) {
  InferenceOptions options;
  options.sizes = sizes;
  return options;
}

// Ranks of an engine are pp-tp, tp fastest; the expert member is tp rank mod ep. Under
// data-parallel attention attention, embedding and output layer are whole.
Image oracle(const Model& model, const std::vector<LogicalTensor>& tensors,
             const ParallelSizes& sizes, const PipelineLayout& layers,
             const std::vector<Rank>& ranks) {
  InferenceOracle result(model, tensors,
                         {.w13 = "w3_w1_",
                          .qkv_down = "kv_a_proj_with_mqa",
                          .up_first = true,
                          .vocabulary_multiple = 0});
  for (std::size_t number = 0; number < ranks.size(); ++number) {
    const std::int64_t tp = static_cast<std::int64_t>(number) % sizes.tp;
    const std::int64_t stage = static_cast<std::int64_t>(number) / sizes.tp % sizes.pp;
    const PartOf cut{tp, sizes.tp};
    const PartOf attention = sizes.dp > 1 ? PartOf{} : cut;
    InferenceRank rank{ranks[number],
                       stage == 0,
                       stage == sizes.pp - 1,
                       {},
                       attention,
                       cut,
                       cut,
                       attention,
                       attention,
                       {tp / sizes.ep, sizes.tp / sizes.ep},
                       {}};
    std::int64_t first = 0;
    for (std::int64_t s = 0; s < stage; ++s) first += layers[static_cast<std::size_t>(s)];
    for (std::int64_t i = 0; i < layers[static_cast<std::size_t>(stage)]; ++i)
      rank.layers.push_back(first + i);
    const std::int64_t local = model.experts / sizes.ep;
    for (std::int64_t slot = 0; slot < local; ++slot)
      rank.experts.push_back(tp % sizes.ep * local + slot);
    result.add(rank);
  }
  return result.image();
}

void expect_oracle(const Model& model, const ParallelSizes& sizes, const PipelineLayout& layers,
                   const std::vector<Rank>& ranks) {
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ShardedModel sharded = shard_trtllm(model, tensors, sized(sizes), ranks);
  EXPECT_EQ(
      image_difference(image_of(tensors, sharded), oracle(model, tensors, sizes, layers, ranks)),
      "")
      << model.name << " tp " << sizes.tp << " dp " << sizes.dp << " ep " << sizes.ep;
}

TEST(Trtllm, AgreesWithTheOracle) {
  std::vector<Rank> scattered = first_ranks(16);
  for (Rank& rank : scattered) rank = 5 + rank * 9 % 16;
  for (const Model& model : {without_mtp(tiny_deepseek()), tiny_qwen()})
    for (const std::int64_t tp : {1, 2, 4})
      for (const std::int64_t ep : {1, 2, 4}) {
        if (tp % ep != 0 || model.experts % ep != 0) continue;
        expect_oracle(model, {.tp = tp, .ep = ep}, {3}, scattered);
        if (HasFailure()) return;
      }
  expect_oracle(tiny_qwen(), {.tp = 4, .ep = 2, .dp = 4}, {3}, scattered);
  // The first stages take what is left over.
  expect_oracle(tiny_qwen(), {.tp = 2, .pp = 2}, {2, 1}, first_ranks(8));
}

// Facts 3.3(e): ceil(V / tp) rows, the last rank padded.
TEST(Trtllm, VocabularyIsPaddedOnTheLastRank) {
  const Model model = tiny_qwen();  // 10 rows
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ShardedModel sharded = shard_trtllm(model, tensors, sized({.tp = 4}), first_ranks(4));
  const Holdings holdings = holdings_of(tensors, sharded, "lm_head.weight");
  EXPECT_EQ(holdings.at(0), (ExplicitBox{{0, 3}, {0, 4}}));
  EXPECT_EQ(holdings.at(3), (ExplicitBox{{9, 10}, {0, 4}}));
}

TEST(Trtllm, WhatIsNotKnownIsNotGuessed) {
  const Model model = tiny_deepseek();
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ShardedModel sharded =
      shard_trtllm(model, tensors, sized({.tp = 2, .dp = 2}), first_ranks(2));
  std::map<std::string, std::string> unknown;
  for (const Conversion& reason : sharded.unknown)
    unknown[tensors[reason.tensor].name] = reason.what;
  EXPECT_THAT(unknown.at("model.layers.0.mlp.up_proj.weight"),
              HasSubstr("under data-parallel attention is not known"));
  EXPECT_THAT(unknown.at("model.layers.3.embed_tokens.weight"),
              HasSubstr("how trtllm keeps prediction layers is not known"));
}

TEST(Trtllm, RefusesWhatDoesNotFit) {
  const Model model = tiny_qwen();
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const auto message = [&](const ParallelSizes& sizes, std::int64_t gpus) {
    return input_error([&] { shard_trtllm(model, tensors, sized(sizes), first_ranks(gpus)); });
  };
  EXPECT_THAT(message({.tp = 4, .dp = 2}, 4),
              HasSubstr("parallel.dp: attention is data-parallel over all of tp or not at all"));
  EXPECT_THAT(message({.tp = 4, .ep = 3}, 4), HasSubstr("parallel.ep: 3 does not divide tp 4"));
  EXPECT_THAT(message({.tp = 4, .ep = 4}, 4), HasSubstr("4 does not divide 6 routed experts"));
}

}  // namespace
}  // namespace transload
