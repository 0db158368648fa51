// The buffers that the engines' tables describe, held against planner/layout's own proof: tensors
// of one buffer neither overlap nor leave a gap, on every rank of both sides.
#include <gtest/gtest.h>

#include "planner/job/sections.h"
#include "topologies/loader.h"

namespace transload {
namespace {

struct SidePair {
  const char* name;
  const char* model;
  const char* source;
  const char* destination;
  const char* more = "";
};

void prove(const SidePair& pair) {
  const std::string text = std::string("model: ") + pair.model + "\nsource: {" + pair.source +
                           "}\ndestination: {" + pair.destination + "}\n" + pair.more;
  const YamlValue root = YamlValue::from_text(text, pair.name);
  const Topology topology =
      load_topology(YamlValue::from_text("{name: dgx-h100, nodes: 8}", "topology.yaml"), "");
  YamlMap map = root.map();
  ModelJobPart part = parse_model_job(map, topology, "");
  map.finish();
  part.input.validate_memory = true;
  EXPECT_NO_THROW(make_problem(part.input)) << pair.name;
}

constexpr const char* kOneLayer = "include: '*.layers.1.*'\n";

constexpr SidePair kPairs[] = {
    // Parts of Mamba, gates without a twin, a latent space.
    {"NemotronTp", "nemotron-3-nano", "engine: megatron, gpus: 8, parallel: {tp: 2, ep: 8}",
     "engine: vllm, gpus: 8, parallel: {tp: 4}"},
    // Gated attention, delta nets, packed experts.
    {"Qwen36Tp", "qwen3.6-35b-a3b", "engine: megatron, gpus: 8, parallel: {tp: 4, ep: 4}",
     "engine: vllm, gpus: 8, parallel: {tp: 2, ep: 8}", "exclude: ['*.visual.*']\n"},
    // Alternating columns and biases; more ranks than KV heads share a group. Byte by byte, so one
    // layer will do.
    {"GptOssTp", "gpt-oss-20b", "engine: megatron, gpus: 16, parallel: {tp: 16, ep: 2}",
     "engine: vllm, gpus: 8, parallel: {tp: 4}", kOneLayer},
    {"GptOssEp", "gpt-oss-20b", "engine: megatron, gpus: 8, parallel: {tp: 2, ep: 8}",
     "engine: vllm, gpus: 8, parallel: {tp: 2, ep: 8}", kOneLayer},
    {"QwenFsdpEp", "qwen3-30b-a3b", "engine: fsdp, gpus: 16, parallel: {ep: 8}",
     "engine: sglang, gpus: 16, parallel: {tp: 8, ep: 4, dp: 2}, w13: up-first", kOneLayer},
    {"QwenPlainCut", "qwen3-30b-a3b", "engine: megatron, gpus: 8, parallel: {tp: 8, ep: 8}",
     "engine: trtllm, gpus: 8, parallel: {tp: 8, ep: 2}"},
    {"GlmSglang", "glm-4.5-air", "engine: megatron, gpus: 16, parallel: {tp: 2, ep: 8}",
     "engine: sglang, gpus: 8, parallel: {tp: 8}, fused_shared_expert: true"},
    {"LlamaFour", "llama-4-scout", "engine: fsdp, gpus: 8",
     "engine: vllm, gpus: 8, parallel: {tp: 8}", kOneLayer},
};

class ModelMemory : public ::testing::TestWithParam<SidePair> {};
TEST_P(ModelMemory, BuffersAreTiled) { prove(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Engines, ModelMemory, ::testing::ValuesIn(kPairs),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace transload
