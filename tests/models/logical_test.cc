// Published tensors and the logical ones that they store: names, shapes, kinds and order.
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "tests/models/small_models.h"

namespace transload {
namespace {

using enum ParameterKind;
using Shape = std::vector<std::int64_t>;

struct Expected {
  std::string name;
  Shape shape;
  ParameterKind kind;
  int expert = -1;
};

// The logical tensors of one parameter, in order.
void expect_logical(const Model& model, const std::string& parameter,
                    const std::vector<Expected>& rows) {
  const auto index = static_cast<std::uint32_t>(place_of(model, parameter));
  std::vector<LogicalTensor> found;
  for (const LogicalTensor& tensor : logical_tensors(model))
    if (tensor.parameter == index) found.push_back(tensor);
  ASSERT_GE(found.size(), rows.size()) << parameter;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(found[i].name, parameter + rows[i].name);
    EXPECT_EQ(found[i].shape, rows[i].shape) << found[i].name;
    EXPECT_EQ(found[i].kind, rows[i].kind) << found[i].name;
    EXPECT_EQ(found[i].expert, rows[i].expert) << found[i].name;
    EXPECT_EQ(found[i].layer, model.parameters[index].layer) << found[i].name;
    EXPECT_EQ(found[i].dtype, model.parameters[index].dtype) << found[i].name;
  }
}

TEST(Logical, WhatIsNotFusedIsItself) {
  const Model model = tiny_deepseek();
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  ASSERT_EQ(tensors.size(), model.parameters.size());
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(tensors[i].name, model.parameters[i].name);
    EXPECT_EQ(tensors[i].shape, model.parameters[i].shape);
    EXPECT_EQ(tensors[i].kind, model.parameters[i].kind);
    EXPECT_EQ(tensors[i].part, model.parameters[i].part);
    EXPECT_EQ(tensors[i].expert, model.parameters[i].expert);
    EXPECT_EQ(tensors[i].parameter, i);
  }
}

TEST(Logical, QueriesAndGatesOfQwen35AlternateByHead) {
  const Model model = load_library_model("qwen3.5-397b-a17b");
  const std::string name = "model.language_model.layers.3.self_attn.q_proj.weight";
  expect_logical(model, name,
                 {{"/q", {8192, 4096}, kAttentionQ}, {"/gate", {8192, 4096}, kAttentionGate}});
  const Fusion& fusion =
      model.fusions[static_cast<std::size_t>(parameter_named(model, name).fusion)];
  EXPECT_EQ(fusion.groups, 32);
  EXPECT_EQ(fusion.pieces[0].extent, 256);
  EXPECT_EQ(fusion.dim, 0);
  EXPECT_FALSE(fusion.experts);
}

TEST(Logical, DeltaNetProjectionAndConvolution) {
  const Model model = load_library_model("qwen3.6-35b-a3b");
  const std::string layer = "model.language_model.layers.0.linear_attn.";
  expect_logical(
      model, layer + "in_proj_qkv.weight",
      {{"/q", {2048, 2048}, kGdnQ}, {"/k", {2048, 2048}, kGdnK}, {"/v", {4096, 2048}, kGdnV}});
  expect_logical(model, layer + "conv1d.weight",
                 {{"/q", {2048, 1, 4}, kGdnConvQ},
                  {"/k", {2048, 1, 4}, kGdnConvK},
                  {"/v", {4096, 1, 4}, kGdnConvV}});
}

TEST(Logical, StackedExpertsOfQwen35AreHalves) {
  const Model model = load_library_model("qwen3.6-35b-a3b");
  const std::string layer = "model.language_model.layers.0.mlp.experts.";
  expect_logical(model, layer + "gate_up_proj",
                 {{"/0/gate", {512, 2048}, kExpertGate, 0},
                  {"/0/up", {512, 2048}, kExpertUp, 0},
                  {"/1/gate", {512, 2048}, kExpertGate, 1}});
  expect_logical(model, layer + "down_proj",
                 {{"/0", {2048, 512}, kExpertDown, 0}, {"/1", {2048, 512}, kExpertDown, 1}});
}

TEST(Logical, ExpertsOfLlama4AreTransposed) {
  const Model model = load_library_model("llama-4-scout");
  const std::string layer = "language_model.model.layers.0.feed_forward.experts.";
  // Stored [16, 5120, 2 x 8192] and [16, 8192, 5120]; planned as [out, in].
  expect_logical(
      model, layer + "gate_up_proj",
      {{"/0/gate", {8192, 5120}, kExpertGate, 0}, {"/0/up", {8192, 5120}, kExpertUp, 0}});
  expect_logical(model, layer + "down_proj", {{"/0", {5120, 8192}, kExpertDown, 0}});
  const Fusion& fusion =
      model
          .fusions[static_cast<std::size_t>(parameter_named(model, layer + "gate_up_proj").fusion)];
  EXPECT_TRUE(fusion.transposed);
  EXPECT_EQ(fusion.groups, 1);
}

TEST(Logical, ExpertsOfGptOssAlternate) {
  const Model model = load_library_model("gpt-oss-120b");
  const std::string layer = "model.layers.0.mlp.experts.";
  expect_logical(
      model, layer + "gate_up_proj",
      {{"/0/gate", {2880, 2880}, kExpertGate, 0}, {"/0/up", {2880, 2880}, kExpertUp, 0}});
  expect_logical(model, layer + "gate_up_proj_bias",
                 {{"/0/gate", {2880}, kExpertGateBias, 0}, {"/0/up", {2880}, kExpertUpBias, 0}});
  expect_logical(model, layer + "down_proj", {{"/0", {2880, 2880}, kExpertDown, 0}});
  expect_logical(model, layer + "down_proj_bias", {{"/0", {2880}, kExpertDownBias, 0}});
  const Fusion& fusion =
      model
          .fusions[static_cast<std::size_t>(parameter_named(model, layer + "gate_up_proj").fusion)];
  EXPECT_EQ(fusion.groups, 2880);
  EXPECT_EQ(fusion.pieces[0].extent, 1);
  EXPECT_EQ(fusion.dim, 2);
  EXPECT_TRUE(fusion.transposed);
}

TEST(Logical, PartsOfMamba) {
  // Nano: 64 heads of 64, 8 groups of state 128.
  const Model model = load_library_model("nemotron-3-nano");
  expect_logical(model, "backbone.layers.0.mixer.in_proj.weight",
                 {{"/z", {4096, 2688}, kMambaZ},
                  {"/x", {4096, 2688}, kMambaX},
                  {"/B", {1024, 2688}, kMambaB},
                  {"/C", {1024, 2688}, kMambaC},
                  {"/dt", {64, 2688}, kMambaDt}});
  expect_logical(model, "backbone.layers.0.mixer.conv1d.weight",
                 {{"/x", {4096, 1, 4}, kMambaConvX},
                  {"/B", {1024, 1, 4}, kMambaConvB},
                  {"/C", {1024, 1, 4}, kMambaConvC}});
  expect_logical(model, "backbone.layers.0.mixer.conv1d.bias",
                 {{"/x", {4096}, kMambaConvX}, {"/B", {1024}, kMambaConvB}});
}

TEST(Logical, QueryKeyValueOfLing) {
  const Model model = load_library_model("ling-1t");
  expect_logical(model, "model.layers.79.attention.query_key_value.weight",
                 {{"/q", {8192, 8192}, kAttentionQ},
                  {"/k", {1024, 8192}, kAttentionK},
                  {"/v", {1024, 8192}, kAttentionV}});
}

TEST(Logical, UnusedTailOfKimiK3) {
  const Model model = load_library_model("kimi-k3");
  expect_logical(model, "language_model.model.layers.0.self_attn.A_log",
                 {{"/heads", {96}, kKdaRows}, {"/unused", {32}, kNorm}});
}

// Whatever the family: the pieces of a tensor are named apart and hold its elements, no more.
TEST(Logical, PiecesCoverEveryModelOnce) {
  for (const std::string& name : model_library()) {
    const Model model = load_library_model(name);
    std::vector<std::int64_t> elements(model.parameters.size());
    std::set<std::string_view> names;
    const std::vector<LogicalTensor> tensors = logical_tensors(model);
    std::uint32_t last = 0;
    for (const LogicalTensor& tensor : tensors) {
      ASSERT_GE(tensor.parameter, last) << tensor.name;  // in the order of the parameters
      last = tensor.parameter;
      std::int64_t count = 1;
      for (const std::int64_t extent : tensor.shape) count *= extent;
      elements.at(tensor.parameter) += count;
      names.insert(tensor.name);
    }
    EXPECT_EQ(names.size(), tensors.size()) << name;
    for (std::size_t i = 0; i < elements.size(); ++i)
      ASSERT_EQ(elements[i], element_count(model.parameters[i])) << model.parameters[i].name;
  }
}

// Models of one architecture come out with one number of experts' matrices, however stored: three
// per expert and sparse layer (Qwen3.5: 60 layers and one prediction layer, 512 experts).
TEST(Logical, StackedExpertsAreCountedOneByOne) {
  const Model model = load_library_model("qwen3.5-397b-a17b");
  std::int64_t experts = 0;
  for (const LogicalTensor& tensor : logical_tensors(model))
    if (tensor.expert >= 0) ++experts;
  EXPECT_EQ(experts, 61 * 512 * 3);
}

}  // namespace
}  // namespace transload
