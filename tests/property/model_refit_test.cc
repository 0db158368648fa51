// Whole models from a trainer's layout to an engine's, through everything: covered, planned,
// proven, run on the host with every byte compared. Lengths are divided (--scale); operations,
// edges and buffers are those of the full plan.
#include <gtest/gtest.h>

#include <string>

#include "executor/run.h"
#include "planner/schedule/check/check_plan.h"
#include "planner/schedule/scale.h"
#include "planner/strategy/strategy.h"

namespace transload {
namespace {

struct ModelJob {
  const char* name;
  const char* model;
  int nodes;  // of 8 GPUs
  const char* source;
  const char* destination;
  const char* more = "";  // further lines of the job
};

std::string text_of(const ModelJob& job) {
  return std::string("model: ") + job.model +
         "\ntopology: {name: dgx-h100, nodes: " + std::to_string(job.nodes) + "}\nsource: {" +
         job.source + "}\ndestination: {" + job.destination + "}\n" + job.more;
}

void refit(const ModelJob& model_job, std::uint64_t divisor) {
  const Job job = job_from_text(text_of(model_job), model_job.name, "");
  EXPECT_TRUE(job.unplaced.empty());
  StrategyChoice strategy;
  const Plan plan = make_plan(job, prepare(job), strategy, Discipline::kGroups);
  const CheckReport report = check_plan(plan);
  EXPECT_TRUE(report.ok) << (report.ok ? "" : report.violations[0].text);
  RunOptions options;
  options.verify = true;
  const RunResult result = run_on_host(scale_plan(plan, divisor), options);
  EXPECT_GT(result.verified_bytes, 0u);
  EXPECT_EQ(result.mismatched_bytes, 0u) << (result.mismatches.empty() ? "" : result.mismatches[0]);
}

// Two parallel sizes for each model of the acceptance list.
constexpr ModelJob kMegatronToVllm[] = {
    {"DeepSeekV3Tp16", "deepseek-v3", 16,
     "engine: megatron, gpus: 64, parallel: {tp: 2, pp: 4, ep: 8}, pp_layout: {first: 16, last: "
     "15}",
     "engine: vllm, gpus: 64, parallel: {tp: 16}"},
    {"DeepSeekV3Ep32", "deepseek-v3", 24,
     "engine: megatron, gpus: 128, parallel: {tp: 8, pp: 8, ep: 16}, "
     "pp_layout: [8, 8, 8, 8, 8, 7, 7, 7]",
     "engine: vllm, gpus: 64, parallel: {tp: 8, ep: 32}"},
    {"KimiK2Tp16", "kimi-k2", 48,
     "engine: megatron, gpus: 256, parallel: {tp: 8, pp: 8, ep: 32}, "
     "pp_layout: [8, 8, 8, 8, 8, 7, 7, 7]",
     "engine: vllm, gpus: 128, parallel: {tp: 16}"},
    {"KimiK2Ep64", "kimi-k2", 24,
     "engine: megatron, gpus: 128, parallel: {tp: 4, pp: 8, ep: 16}, pp_layout: {first: 7, last: "
     "6}",
     "engine: vllm, gpus: 64, parallel: {tp: 4, ep: 64}"},
    {"Qwen235Tp16", "qwen3-235b-a22b", 24,
     "engine: megatron, gpus: 128, parallel: {tp: 4, pp: 8, ep: 16}, "
     "pp_layout: {first: 11, last: 11}",
     "engine: vllm, gpus: 64, parallel: {tp: 16}"},
    {"Qwen235Tp8", "qwen3-235b-a22b", 12,
     "engine: megatron, gpus: 64, parallel: {tp: 2, pp: 2, ep: 16}",
     "engine: vllm, gpus: 32, parallel: {tp: 8}"},
    {"NemotronUltraEp8", "nemotron-3-ultra", 24,
     "engine: megatron, gpus: 128, parallel: {tp: 8, pp: 4, ep: 32}",
     "engine: vllm, gpus: 64, parallel: {tp: 8, ep: 8}"},
    {"NemotronUltraPp2", "nemotron-3-ultra", 12,
     "engine: megatron, gpus: 64, parallel: {tp: 4, pp: 2, ep: 16}",
     "engine: vllm, gpus: 32, parallel: {tp: 4, pp: 2}"},
    {"GptOssTp8", "gpt-oss-120b", 6, "engine: megatron, gpus: 32, parallel: {tp: 8, ep: 8}",
     "engine: vllm, gpus: 16, parallel: {tp: 8}"},
    {"GptOssEp8", "gpt-oss-120b", 4, "engine: megatron, gpus: 16, parallel: {tp: 4, pp: 2, ep: 8}",
     "engine: vllm, gpus: 16, parallel: {tp: 2, ep: 8}"},
    {"Glm45Tp8", "glm-4.5", 16, "engine: megatron, gpus: 64, parallel: {tp: 8, pp: 2, ep: 16}",
     "engine: vllm, gpus: 64, parallel: {tp: 8}"},
    {"Glm45Ep32", "glm-4.5", 24, "engine: megatron, gpus: 128, parallel: {tp: 4, pp: 4, ep: 16}",
     "engine: vllm, gpus: 64, parallel: {tp: 16, ep: 32}"},
};

// Other engines on either side.
constexpr ModelJob kOtherEngines[] = {
    {"QwenFsdpToSglang", "qwen3-30b-a3b", 4, "engine: fsdp, gpus: 16, parallel: {shard: 16, ep: 8}",
     "engine: sglang, gpus: 16, parallel: {tp: 8, ep: 8}"},
    {"QwenTiedMegatronToVllm", "qwen3-4b", 2, "engine: megatron, gpus: 8, parallel: {tp: 2, pp: 2}",
     "engine: vllm, gpus: 8, parallel: {tp: 4, pp: 2}"},
    {"LlamaFsdpTpToTrtllm", "llama-3.1-8b", 2, "engine: fsdp, gpus: 8, parallel: {shard: 4, tp: 2}",
     "engine: trtllm, gpus: 8, parallel: {tp: 8}"},
    {"Qwen36MegatronToVllm", "qwen3.6-35b-a3b", 2,
     "engine: megatron, gpus: 8, parallel: {tp: 2, pp: 2, ep: 4}",
     "engine: vllm, gpus: 8, parallel: {tp: 8}", "exclude: ['*.visual.*']\n"},
    {"NemotronNanoMegatronToVllm", "nemotron-3-nano", 2,
     "engine: megatron, gpus: 8, parallel: {tp: 2, ep: 8}",
     "engine: vllm, gpus: 8, parallel: {tp: 4}"},
    {"MixtralMegatronToTrtllm", "mixtral-8x7b", 2,
     "engine: megatron, gpus: 8, parallel: {tp: 2, ep: 4}",
     "engine: trtllm, gpus: 8, parallel: {tp: 8}"},
    {"MiniMaxMegatronToVllm", "minimax-m2", 8,
     "engine: megatron, gpus: 32, parallel: {tp: 2, pp: 2, ep: 4}",
     "engine: vllm, gpus: 16, parallel: {tp: 16}"},
};

class ModelRefit : public ::testing::TestWithParam<ModelJob> {};
TEST_P(ModelRefit, IsCoveredProvenAndExact) { refit(GetParam(), 1 << 17); }

const auto name_of_param = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(OtherEngines, ModelRefit, ::testing::ValuesIn(kOtherEngines),
                         name_of_param);

class FullModelRefit : public ::testing::TestWithParam<ModelJob> {};
TEST_P(FullModelRefit, IsCoveredProvenAndExact) { refit(GetParam(), 4096); }
INSTANTIATE_TEST_SUITE_P(Full, FullModelRefit, ::testing::ValuesIn(kMegatronToVllm), name_of_param);

}  // namespace
}  // namespace transload
