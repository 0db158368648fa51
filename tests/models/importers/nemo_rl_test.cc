// NeMo-RL recipes.
#include "tests/models/importers/importer_fixture.h"

namespace transload {
namespace {

const std::string kRecipe = R"(grpo: {max_num_steps: 3}
policy:
  model_name: Qwen/Qwen3-30B-A3B
  precision: bfloat16
  megatron_cfg:
    enabled: true
    tensor_model_parallel_size: 2
    pipeline_model_parallel_size: 4
    context_parallel_size: 1
    expert_model_parallel_size: 8
    expert_tensor_parallel_size: 1
    num_layers_in_first_pipeline_stage: 11
    num_layers_in_last_pipeline_stage: 13
  dtensor_cfg: {enabled: false}
  generation:
    backend: vllm
    refit_transport: nccl_reshard
    vllm_cfg:
      tensor_parallel_size: ${policy.megatron_cfg.tensor_model_parallel_size}
      pipeline_parallel_size: 1
      expert_parallel_size: 1
    colocated:
      enabled: false
      resources: {gpus_per_node: 8, num_nodes: 2}
cluster: {gpus_per_node: 8, num_nodes: 6}
)";

class ImportRecipe : public ImporterTest {};

TEST_F(ImportRecipe, BothSides) {
  const Imported imported = import("r.yaml", kRecipe);
  EXPECT_EQ(imported.kind, ImportKind::kNemoRlRecipe);
  ASSERT_EQ(imported.sides.size(), 2u);
  EXPECT_EQ(imported.sides[0].gpus, 32);  // 6 nodes less 2
  EXPECT_EQ(imported.sides[1].gpus, 16);
  EXPECT_EQ(import_text(imported),
            "# Imported from r.yaml.\n"
            "# asked: topology: the GPUs and the network that the cluster's nodes have\n"
            "model: qwen3-30b-a3b\n"
            "dtype: bf16\n"
            "# topology: ?\n"
            "source:\n"
            "  engine: megatron\n"
            "  gpus: 32\n"
            "  parallel: {tp: 2, pp: 4, cp: 1, ep: 8, etp: 1}\n"
            "  pp_layout: {first: 11, last: 13}\n"
            "destination:\n"
            "  engine: vllm\n"
            "  gpus: 16\n"
            "  parallel: {tp: 2, pp: 1, ep: 1}\n");
  EXPECT_THAT(joined(imported.ignored), HasSubstr("refit_transport nccl_reshard"));
}

TEST_F(ImportRecipe, Colocated) {
  const std::string text =
      changed(kRecipe, "      enabled: false\n      res", "      enabled: true\n      res");
  const Imported imported = import("r.yaml", changed(text, "num_nodes: 6", "num_nodes: 8"));
  EXPECT_EQ(imported.sides[0].gpus, 64);
  EXPECT_EQ(imported.sides[1].gpus, 64);
  EXPECT_EQ(imported.sides[0].nodes, "0-7");
  EXPECT_EQ(imported.sides[1].nodes, "0-7");
}

TEST_F(ImportRecipe, OneNodeIsSharedByGpus) {
  std::string text = changed(kRecipe, "num_nodes: 6", "num_nodes: 1");
  text = changed(text, "gpus_per_node: 8, num_nodes: 2", "gpus_per_node: 4");
  text = changed(text, "pipeline_model_parallel_size: 4", "pipeline_model_parallel_size: 1");
  text = changed(text, "expert_model_parallel_size: 8", "expert_model_parallel_size: 2");
  const Imported imported = import("r.yaml", text);
  EXPECT_EQ(imported.sides[0].gpus, 4);
  EXPECT_EQ(imported.sides[1].gpus, 4);
}

TEST_F(ImportRecipe, InheritsWhatStandsBesideIt) {
  write("base/base.yaml", kRecipe);
  const std::string child =
      "defaults: ../base/base.yaml\npolicy:\n  generation:\n    vllm_cfg:\n"
      "      tensor_parallel_size: 8\n";
  const Imported imported = import("recipes/child.yaml", child);
  EXPECT_EQ(size_in(imported.sides[0], "tp"), 2);
  EXPECT_EQ(size_in(imported.sides[1], "tp"), 8);
  EXPECT_THAT(joined(imported.understood), HasSubstr("defaults ../base/base.yaml: read"));
  EXPECT_THAT(refusal("loop.yaml", "defaults: loop.yaml\npolicy: {}\n"), HasSubstr("inherit"));
}

TEST_F(ImportRecipe, WhatAMissingFileWouldSayIsAsked) {
  const Imported imported = import("r.yaml", R"(defaults: ../../grpo_math_1B.yaml
policy:
  megatron_cfg: {enabled: true, tensor_model_parallel_size: 4}
  generation:
    vllm_cfg: {tensor_parallel_size: 8}
cluster: {gpus_per_node: 8, num_nodes: 4}
)");
  EXPECT_THAT(joined(imported.ignored), HasSubstr("no such file beside the recipe"));
  const std::string asked = joined(imported.asked);
  EXPECT_THAT(asked, HasSubstr("colocated"));
  EXPECT_THAT(asked, HasSubstr("source.parallel: pp, cp, ep, etp: not in this file"));
  EXPECT_THAT(asked, HasSubstr("destination.parallel: pp, ep"));
  EXPECT_FALSE(imported.sides[0].gpus);
  ImportOptions options;
  options.set = {{"policy.generation.colocated.enabled", "true"}};
  EXPECT_EQ(import_file(path("r.yaml"), options).sides[0].gpus, 32);
}

TEST_F(ImportRecipe, Fsdp) {
  std::string text = changed(kRecipe, "    enabled: true", "    enabled: false");
  text = changed(text, "dtensor_cfg: {enabled: false}",
                 "dtensor_cfg: {enabled: true, tensor_parallel_size: 2}");
  const Imported imported = import("r.yaml", text);
  EXPECT_EQ(imported.sides[0].engine, "fsdp");
  EXPECT_THAT(imported.sides[0].parallel,
              ElementsAre(Pair("shard", 16), Pair("replicate", 1), Pair("tp", 2)));
}

TEST_F(ImportRecipe, GenerationByMegatronAndTypes) {
  const Imported imported =
      import("r.yaml", changed(kRecipe, "    backend: vllm\n",
                               "    backend: megatron\n    mcore_generation_config: "
                               "{tensor_model_parallel_size: 4, expert_model_parallel_size: 4}\n"));
  EXPECT_EQ(imported.sides[1].engine, "megatron");
  EXPECT_THAT(imported.sides[1].parallel, ElementsAre(Pair("tp", 4), Pair("ep", 4)));
  const auto dtype = [&](const char* words) {
    return import("r.yaml", changed(kRecipe, "    vllm_cfg:\n",
                                    std::string("    vllm_cfg:\n      ") + words + "\n"))
        .sides[1]
        .dtype;
  };
  EXPECT_EQ(dtype("precision: bfloat16"), "bf16");
  EXPECT_EQ(dtype("precision: fp8"), "fp8-block128");
  EXPECT_EQ(dtype("precision: fp8\n      is_mx: true"), "mxfp8");
}

struct Bad {
  const char* from;
  const char* to;
  const char* message;
};

constexpr Bad kBad[] = {
    {"model_parallel_size: 2", "model_parallel_size: two",
     "r.yaml:7: policy.megatron_cfg.tensor_model_parallel_size: expected a whole number"},
    {"model_parallel_size: 2", "model_parallel_size: -2", "found -2"},
    {"dtensor_cfg: {enabled: false}", "dtensor_cfg: {enabled: true}", "both megatron_cfg and"},
    {"enabled: true", "enabled: maybe", "expected true or false"},
    {"num_nodes: 6", "num_nodes: 2", "leave none to train"},
    {"num_nodes: 6", "num_nodes: 5", "24 GPUs are no multiple of"},
    {"expert_parallel_size: 1", "expert_parallel_size: 3", "neither 1 nor a multiple"},
    {"${policy.megatron_cfg.tensor_model_parallel_size}", "${mul:2,3}", "is computed"},
    {"${policy.megatron_cfg.tensor_model_parallel_size}",
     "${policy.generation.vllm_cfg.tensor_parallel_size}", "is computed"},
    {"backend: vllm", "backend: vlm", "expected vllm, megatron or sglang"},
    {"    num_layers_in_first",
     "    pipeline_model_parallel_layout: Et|tL\n    num_layers_in_first", "three ways"},
};

TEST_F(ImportRecipe, BadRecipes) {
  for (const Bad& bad : kBad)
    EXPECT_THAT(refusal("r.yaml", changed(kRecipe, bad.from, bad.to)), HasSubstr(bad.message))
        << bad.to;
  EXPECT_THAT(refusal("r.yaml", kRecipe.substr(0, kRecipe.size() - 5)),
              HasSubstr("not valid YAML"));
}

}  // namespace
}  // namespace transload
