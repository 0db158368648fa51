// How long planning takes, from job to plan file, on one core.
//
// `Tensors/N`: one mixture-of-experts model with ever more layers on the same ranks; us_per_tensor
// beside the sizes shows whether the cost is linear, and BigO fits it. `Job/...`: whole refits of
// the sizes that people ask for (docs/benchmarks.md has the limits and what was measured).
//
//   cmake --preset release -DTRANSLOAD_BENCHMARKS=ON && cmake --build build/release --target
//   plan_time build/release/bin/plan_time
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "planner/job/job.h"
#include "planner/schedule/plan_file.h"
#include "planner/strategy/strategy.h"

namespace transload {
namespace {

constexpr std::int64_t kExperts = 128;
// Of a layer of the model below: three per expert, and router, attention and norms.
constexpr std::int64_t kTensorsPerLayer = 3 * kExperts + 9;

std::filesystem::path folder() {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "transload-plan-time";
  std::filesystem::create_directories(path);
  return path;
}

void write_model(std::int64_t layers) {
  std::ofstream(folder() / "model.yaml") << fmt::format(R"(family: qwen3_moe
dtype: bf16
hyper_parameters:
  hidden_size: 512
  num_hidden_layers: {}
  num_attention_heads: 8
  num_key_value_heads: 4
  head_dim: 128
  intermediate_size: 1024
  moe_intermediate_size: 256
  num_experts: {}
  vocab_size: 32000
)",
                                                        layers, kExperts);
}

// Plans, writes the file, and says what came out.
void plan_once(const std::string& text, benchmark::State& state) {
  const Job job = job_from_text(text, "benchmark", folder().string());
  const Plan plan = make_plan(job);
  const std::string file = (folder() / "benchmark.plan").string();
  write_plan(plan, file);
  std::remove(file.c_str());
  const auto tensors = static_cast<double>(job.problem.names.size());
  state.counters["tensors"] = tensors;
  state.counters["operations"] = static_cast<double>(plan.operations());
  state.counters["us_per_tensor"] = benchmark::Counter(
      tensors * 1e-6, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void plan_tensors(benchmark::State& state) {
  const std::int64_t layers = std::max<std::int64_t>(1, state.range(0) / kTensorsPerLayer);
  write_model(layers);
  for ([[maybe_unused]] auto _ : state)
    plan_once(R"(model: ./model.yaml
topology: {name: dgx-h100, nodes: 4}
source: {engine: megatron, gpus: 16, parallel: {tp: 1, ep: 16}}
destination: {engine: vllm, gpus: 16, parallel: {tp: 1, dp: 16, ep: 16}}
options: {discipline: windows}
)",
              state);
  state.SetComplexityN(layers * kTensorsPerLayer);
}
BENCHMARK(plan_tensors)
    ->Name("Tensors")
    ->Arg(1'000)
    ->Arg(4'000)
    ->Arg(16'000)
    ->Arg(64'000)
    ->Arg(250'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oN);

void plan_job(benchmark::State& state, const char* text) {
  for ([[maybe_unused]] auto _ : state) plan_once(text, state);
}

constexpr const char* kKimiK2 = R"(model: kimi-k2
topology: {name: dgx-h100, nodes: 48}
source: {engine: megatron, gpus: 256, parallel: {tp: 1, pp: 8, ep: 32}, pp_layout: [8,8,8,8,8,7,7,7]}
destination: {engine: vllm, gpus: 128, parallel: {tp: 1, dp: 128, ep: 128}}
)";
constexpr const char* kKimiK2Fsdp = R"(model: kimi-k2
topology: {name: dgx-h100, nodes: 48}
source: {engine: fsdp, gpus: 256, parallel: {shard: 256}}
destination: {engine: vllm, gpus: 128, parallel: {tp: 1, dp: 128, ep: 128}}
)";
constexpr const char* kKimiK3 = R"(model: kimi-k3
topology: {name: dgx-h100, nodes: 256}
source: {engine: megatron, gpus: 1024, parallel: {tp: 1, pp: 8, ep: 128, etp: 1}, pp_layout: [11,11,12,12,12,12,12,11]}
destination: {engine: vllm, gpus: 1024, parallel: {tp: 1, dp: 128, ep: 128}}
)";
constexpr const char* kKimiK3Fsdp = R"(model: kimi-k3
topology: {name: dgx-h100, nodes: 256}
source: {engine: fsdp, gpus: 1024, parallel: {shard: 1024}}
destination: {engine: vllm, gpus: 1024, parallel: {tp: 1, dp: 128, ep: 128}}
)";
constexpr const char* kWindows = "options: {discipline: windows}\n";

void register_job(const std::string& name, const std::string& text) {
  const auto register_as = [](const std::string& as, const std::string& job) {
    benchmark::RegisterBenchmark(as.c_str(),
                                 [job](benchmark::State& state) { plan_job(state, job.c_str()); })
        ->Unit(benchmark::kMillisecond)
        ->Iterations(1);
  };
  register_as("Job/" + name + "/groups", text);
  register_as("Job/" + name + "/windows", text + kWindows);
}

}  // namespace
}  // namespace transload

int main(int argc, char** argv) {
  transload::register_job("kimi-k2-256-128", transload::kKimiK2);
  transload::register_job("kimi-k2-fsdp256-128", transload::kKimiK2Fsdp);
  transload::register_job("kimi-k3-1024-1024", transload::kKimiK3);
  transload::register_job("kimi-k3-fsdp1024-1024", transload::kKimiK3Fsdp);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  std::filesystem::remove_all(transload::folder());
  return 0;
}
