// Whole-model jobs: engines and their keys, which nodes, names that are in or out, coverage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "planner/job/sections.h"
#include "topologies/loader.h"

namespace transload {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class ModelJob : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("transload-model-job-" +
               std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
    write("tiny.yaml", R"(
family: deepseek_v3
dtype: bf16
sources: [made up]
hyper_parameters: {hidden_size: 4, num_hidden_layers: 3, first_k_dense_replace: 1,
  intermediate_size: 16, moe_intermediate_size: 8, n_routed_experts: 4, n_shared_experts: 1,
  num_attention_heads: 4, q_lora_rank: 3, kv_lora_rank: 2, qk_nope_head_dim: 2,
  qk_rope_head_dim: 1, v_head_dim: 1, vocab_size: 10, num_nextn_predict_layers: 1,
  mtp_stores_copies: true}
)");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }

  // `lines` are the job's keys beside model and topology.
  ModelJobPart read(const std::string& lines) const {
    const YamlValue root = YamlValue::from_text("model: tiny.yaml\n" + lines, "job.yaml");
    const Topology topology =
        load_topology(YamlValue::from_text("{name: dgx-h100, nodes: 4}", "topology.yaml"), "");
    YamlMap map = root.map();
    ModelJobPart part = parse_model_job(map, topology, folder_.string());
    map.finish();
    return part;
  }
  std::string error(const std::string& lines) const {
    try {
      read(lines);
    } catch (const InputError& problem) {
      return problem.what();
    }
    return "";
  }

  std::filesystem::path folder_;
};

const char* const kSource = "source: {engine: megatron, gpus: 8, parallel: {tp: 2, ep: 2}}\n";
const char* const kDestination = "destination: {engine: vllm, gpus: 8, parallel: {tp: 2}}\n";

std::vector<std::string> names_of(const ModelJobPart& part) {
  std::vector<std::string> names;
  for (const TensorInput& tensor : part.input.tensors) names.push_back(tensor.name);
  return names;
}

TEST_F(ModelJob, FillsTheProblem) {
  const ModelJobPart part = read(std::string(kSource) + kDestination);
  const ProblemInput& input = part.input;
  // 3 layers x 9 of attention, 3 dense, 2 x (2 + 4 x 3 + 3), embedding, norm, head.
  EXPECT_EQ(input.tensors.size(), 27U + 3U + 34U + 3U);
  EXPECT_EQ(input.source_buffer_of.size(), input.tensors.size());
  ASSERT_EQ(input.destination_buffer_of.size(), 1U);
  EXPECT_EQ(input.destination_buffer_of[0].size(), input.tensors.size());
  const auto found =
      std::find_if(input.tensors.begin(), input.tensors.end(), [](const TensorInput& tensor) {
        return tensor.name == "model.layers.1.mlp.experts.3.up_proj.weight";
      });
  const auto index = static_cast<std::size_t>(found - input.tensors.begin());
  EXPECT_EQ(input.source_buffers.at(input.source_buffer_of[index].buffer).name,
            "decoder.layers.1.mlp.experts.linear_fc1.weight1");
  const BufferRef w13 = input.destination_buffer_of[0][index];
  EXPECT_EQ(input.destination_buffers[0].at(w13.buffer).name,
            "model.layers.1.mlp.experts.w13_weight");
  EXPECT_EQ(w13.slot, 3U);
  // Sources take the first nodes, destinations the next.
  EXPECT_EQ(input.source_shardings.at(found->source).ranks, (std::vector<Rank>{1, 3, 5, 7}));
  const std::vector<PoolSharding>& pools = input.destination_shardings.at(found->destination);
  ASSERT_EQ(pools.size(), 1U);
  EXPECT_EQ(pools[0].sharding.ranks, (std::vector<Rank>{8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(part.unplaced, std::vector<std::string>{});
}

TEST_F(ModelJob, ListsConversions) {
  const ModelJobPart part = read(std::string(kSource) + kDestination);
  ASSERT_EQ(part.needs_conversion.size(), 3U);
  EXPECT_EQ(part.needs_conversion[0].tensor, "model.layers.0.self_attn.kv_b_proj.weight");
  EXPECT_EQ(part.needs_conversion[0].what, "destination: absorbed into W_UK_T and W_UV after load");
}

TEST_F(ModelJob, SeveralPools) {
  const ModelJobPart part =
      read(std::string(kSource) +
           "destination:\n"
           "  - {engine: vllm, gpus: 8, parallel: {tp: 2}}\n"
           "  - {engine: sglang, gpus: 4, parallel: {tp: 4, ep: 2, dp: 2}}\n");
  ASSERT_EQ(part.input.destination_buffers.size(), 2U);
  const auto& shardings = part.input.destination_shardings.at(part.input.tensors[0].destination);
  ASSERT_EQ(shardings.size(), 2U);
  EXPECT_EQ(shardings[1].pool, 1U);
  EXPECT_EQ(shardings[1].sharding.ranks, (std::vector<Rank>{16, 17, 18, 19}));
  EXPECT_EQ(part.needs_conversion.size(), 6U);
  EXPECT_THAT(part.needs_conversion[3].what, HasSubstr("destination[1]: w_kc and w_vc"));
}

TEST_F(ModelJob, NamesInAndOut) {
  const std::string sides = std::string(kSource) + kDestination;
  const ModelJobPart attention =
      read(sides + "include: [\"*.self_attn.*\"]\nexclude: \"*norm*\"\n");
  EXPECT_EQ(attention.input.tensors.size(), 3U * 5U);
  for (const std::string& name : names_of(attention)) EXPECT_THAT(name, HasSubstr("self_attn"));
  // q_a and kv_a of a buffer keep their places when one is left out.
  const ModelJobPart one = read(sides + "include: [\"*.0.self_attn.kv_a_proj_with_mqa.weight\"]\n");
  ASSERT_EQ(one.input.tensors.size(), 1U);
  EXPECT_EQ(one.input.destination_shardings.at(0).at(0).sharding.memory.offset_bytes, 3 * 4 * 2);
  EXPECT_EQ(one.parameters, 3 * 4);
  EXPECT_THAT(
      error(sides + "exclude: [\"*.self_atn.*\"]\n"),
      AllOf(HasSubstr("job.yaml:4"), HasSubstr("no tensor of the job's model has such a name")));
  EXPECT_THAT(error(sides + "include: [\"lm_head*\"]\nexclude: [\"lm_head*\"]\n"),
              HasSubstr("leave no tensor to move"));
}

TEST_F(ModelJob, UnplacedTensorsMustBeNamed) {
  // FSDP holds the copies that the checkpoint stores in its prediction layer; vLLM has no place.
  const std::string sides =
      std::string("mtp: true\nsource: {engine: fsdp, gpus: 8}\n") + kDestination;
  EXPECT_THAT(error(sides), AllOf(HasSubstr("2 tensors of the source have no place"),
                                  HasSubstr("model.layers.3.embed_tokens.weight")));
  const ModelJobPart part =
      read(sides +
           "allow_unplaced: [model.layers.3.embed_tokens.weight, \"*.shared_head.head.weight\"]\n");
  EXPECT_EQ(part.unplaced, (std::vector<std::string>{"model.layers.3.embed_tokens.weight",
                                                     "model.layers.3.shared_head.head.weight"}));
  EXPECT_THAT(names_of(part), Contains("model.layers.3.eh_proj.weight"));
  EXPECT_EQ(error(sides + "exclude: [\"model.layers.3.embed*\", \"*.shared_head.head.weight\"]\n"),
            "");
  // Neither Megatron nor vLLM stores them.
  EXPECT_TRUE(read(std::string("mtp: true\n") + kSource + kDestination).unplaced.empty());
}

TEST_F(ModelJob, UnknownRulesMustBeLeftOut) {
  const std::string sides = std::string("mtp: true\n") + kSource +
                            "destination: {engine: sglang, gpus: 4, parallel: {tp: 2}}\n";
  EXPECT_THAT(error(sides), AllOf(HasSubstr("tensor model.layers.3.eh_proj.weight, destination"),
                                  HasSubstr("is not known; `exclude` leaves it out")));
  EXPECT_EQ(error(sides + "exclude: [\"*.eh_proj.weight\"]\n"), "");
}

TEST_F(ModelJob, PipelineForms) {
  const auto stages = [&](const std::string& layout) {
    const ModelJobPart part =
        read("source: {engine: megatron, gpus: 2, parallel: {pp: 2}, pp_layout: " + layout + "}\n" +
             kDestination);
    std::string text;
    for (int layer = 0; layer < 3; ++layer)
      for (const TensorInput& tensor : part.input.tensors)
        if (tensor.name == "model.layers." + std::to_string(layer) + ".input_layernorm.weight")
          text += std::to_string(part.input.source_shardings.at(tensor.source).ranks.at(0));
    return text;
  };
  EXPECT_EQ(stages("{first: 1}"), "011");
  EXPECT_EQ(stages("[2, 1]"), "001");
  EXPECT_EQ(stages("Et|ttL"), "011");
  EXPECT_EQ(stages("\"E|t|t|tL\""), "101");
  EXPECT_EQ(stages("{account_for_embedding: true}"), "011");
  EXPECT_EQ(stages("{account_for_loss: true}"), "001");
  const auto refused = [&](const std::string& rest) {
    return error("source: {engine: megatron, gpus: 2, " + rest + "}\n" + kDestination);
  };
  EXPECT_THAT(refused("parallel: {pp: 2}"),
              HasSubstr("job.yaml:2: source: 3 layers do not divide over pp 2: give pp_layout"));
  EXPECT_THAT(refused("parallel: {pp: 2}, pp_layout: [3]"),
              HasSubstr("expected 2 entries, one per stage, found 1"));
  EXPECT_THAT(refused("parallel: {pp: 2}, pp_layout: [1, 1]"),
              HasSubstr("the stages hold 2 layers"));
  EXPECT_THAT(refused("parallel: {pp: 2}, pp_layout: {first: 1, account_for_loss: true}"),
              HasSubstr("either first / last or account_for_embedding"));
  EXPECT_THAT(
      refused("parallel: {pp: 2, vpp: 2}, pp_layout: [1, 2]"),
      HasSubstr("job.yaml:2: source.parallel.vpp: 2 does not divide the 1 layers of stage 0"));
}

TEST_F(ModelJob, EnginesHaveTheirOwnKeys) {
  EXPECT_EQ(error("source: {engine: fsdp, gpus: 8, parallel: {shard: 4, replicate: 2}}\n" +
                  std::string(kDestination)),
            "");
  EXPECT_THAT(
      error("source: {engine: fsdp, gpus: 8, parallel: {pp: 2}}\n" + std::string(kDestination)),
      HasSubstr("pp"));
  EXPECT_THAT(error("source: {engine: vllm, gpus: 8}\n" + std::string(kDestination)),
              HasSubstr("megatron"));
  const std::string source = kSource;
  EXPECT_EQ(
      error(source + "destination: {engine: sglang, gpus: 8, parallel: {tp: 4, moe_dense_tp: 1}, "
                     "w13: up-first, dp_lm_head: true, fused_shared_expert: true}\n"),
      "");
  EXPECT_EQ(error(source + "destination: {engine: trtllm, gpus: 8, parallel: {tp: 4, ep: 2}}\n"),
            "");
  EXPECT_EQ(error(source + "destination: {engine: megatron, gpus: 8, parallel: {tp: 2}, "
                           "vocab_divisor: off}\n"),
            "");
  EXPECT_EQ(error(source + "destination: {engine: vllm, gpus: 4, parallel: {ep: 4}, "
                           "expert_placement: round_robin, sequence_parallel_moe: true}\n"),
            "");
  EXPECT_THAT(error(source + "destination: {engine: vllm, gpus: 4, round_robin: true}\n"),
              HasSubstr("round_robin"));
}

TEST_F(ModelJob, ExpertTables) {
  write("table.json", "[[0, 1, 2, 3, 0, 1], [3, 2, 1, 0, 3, 2]]");
  const auto slots = [&](const std::string& table) {
    const ModelJobPart part =
        read(std::string(kSource) + "destination: {engine: vllm, gpus: 2, parallel: {ep: 2}, " +
             "expert_table: " + table + "}\n");
    std::string text;
    for (const char* layer : {"1", "2"})
      for (const char* expert : {"0", "1", "2", "3"})
        for (const TensorInput& tensor : part.input.tensors)
          if (tensor.name ==
              std::string("model.layers.") + layer + ".mlp.experts." + expert + ".down_proj.weight")
            text += std::to_string(part.input.destination_shardings.at(tensor.destination)
                                       .at(0)
                                       .sharding.ranks.size());
    return text;
  };
  EXPECT_EQ(slots("[0, 1, 2, 3, 0, 1]"), "22112211");
  EXPECT_EQ(slots("{file: table.json}"), "22111122");
  EXPECT_EQ(slots("{1: [0, 1, 2, 3], 2: [0, 1, 2, 3, 0, 1]}"), "11112211");
  const auto refused = [&](const std::string& table) {
    return error(std::string(kSource) + "destination: {engine: vllm, gpus: 2, parallel: {ep: 2}, " +
                 "expert_table: " + table + "}\n");
  };
  EXPECT_THAT(refused("[0, 1, 2, 4]"),
              HasSubstr("physical slot 3 (rank 1, its slot 1) holds expert 4"));
  EXPECT_THAT(refused("{1: [0, 1, 2, 3]}"), HasSubstr("layer 2 has experts but no row"));
  EXPECT_THAT(refused("{0: [0, 1, 2, 3]}"),
              HasSubstr("expected the number of a layer with experts"));
  EXPECT_THAT(refused("[[0, 1, 2, 3]]"), HasSubstr("one row per layer with experts, 2, found 1"));
  EXPECT_THAT(refused("{file: nowhere.json}"), HasSubstr("nowhere.json"));
  EXPECT_THAT(refused("[0, 1, 2, 3], expert_placement: linear"), HasSubstr("found both"));
}

TEST_F(ModelJob, RefusesWhatThisVersionDoesNotPlan) {
  const auto refused = [&](const std::string& keys) {
    return error(std::string(kSource) + "destination: {engine: vllm, gpus: 8, " + keys + "}\n");
  };
  for (const char* dtype : {"mxfp4", "nvfp4"})
    EXPECT_THAT(refused(std::string("dtype: ") + dtype),
                AllOf(HasSubstr("job.yaml:3: destination.dtype: conversions to types of four bits"),
                      HasSubstr("planned in a later version")));
  EXPECT_THAT(refused("dtype: fp7"), HasSubstr("job.yaml:3: destination.dtype"));
  EXPECT_EQ(refused("dtype: bf16"), "");
  EXPECT_EQ(refused("commit: in-place"), "");
  EXPECT_THAT(refused("commit: shadow"),
              HasSubstr("shadow commits are planned in a later version"));
  EXPECT_THAT(error(std::string(kSource) +
                    "destination: [{engine: vllm, gpus: 8, dtype: fp8-e4m3}, {engine: vllm, gpus: "
                    "8, nodes: 3}]\n"),
              HasSubstr("the pools of a job store one dtype"));
}

// Only what checkpoints of the format quantise is converted; a plain type goes for all weights but
// those whose type is fixed.
TEST_F(ModelJob, DestinationsInAnotherType) {
  const auto converted = [&](const std::string& dtype) {
    std::map<std::string, std::string> types;
    for (const TensorInput& tensor :
         read(std::string(kSource) + "destination: {engine: vllm, gpus: 8, dtype: " + dtype + "}\n")
             .input.tensors)
      types[tensor.name] = tensor.destination_type ? tensor.destination_type->name : "";
    return types;
  };
  std::map<std::string, std::string> types = converted("fp8-block128");
  EXPECT_EQ(types.at("model.layers.0.self_attn.o_proj.weight"), "fp8-block128");
  EXPECT_EQ(types.at("model.embed_tokens.weight"), "");
  EXPECT_EQ(types.at("model.layers.0.input_layernorm.weight"), "");
  types = converted("fp32");
  EXPECT_EQ(types.at("model.embed_tokens.weight"), "fp32");
  types = converted("bf16");
  EXPECT_EQ(types.at("model.embed_tokens.weight"), "");
}

TEST_F(ModelJob, Nodes) {
  EXPECT_THAT(error(std::string(kSource) + "destination: {engine: vllm, gpus: 16, nodes: 3}\n"),
              HasSubstr("only 8 free GPUs"));
  const ModelJobPart colocated =
      read(std::string("source: {engine: megatron, gpus: 8, nodes: 2}\n") +
           "destination: {engine: vllm, gpus: 8, nodes: 2}\n");
  EXPECT_EQ(colocated.input.source_shardings.at(0).ranks.at(0), 16);
  EXPECT_EQ(colocated.input.destination_shardings.at(0).at(0).sharding.ranks.at(0), 16);
}

// Eight nodes of four GPUs in two racks: 16 ranks of one expert group fit a rack (RC-143).
std::string racks_job(const std::string& nodes) {
  return "topology: {nodes: [{blocks: 2, count: 4, gpus: 4, nic: 1GB/s, nvlink: 9GB/s, "
         "nvlink_domain: rack}]}\n"
         "model: qwen3-30b-a3b\n"
         "source: {engine: megatron, gpus: 16, parallel: {tp: 1, pp: 1, ep: 16, etp: 1}, nodes: " +
         nodes +
         "}\n"
         "destination: {engine: vllm, gpus: 8, parallel: {tp: 4}, nodes: [6, 7]}\n";
}

TEST(ModelJobNodes, RC143_GroupsThatCrossDomainsAreNamed) {
  const Job inside = job_from_text(racks_job("[0, 1, 2, 3]"), "job.yaml", "");
  EXPECT_TRUE(inside.spanning_groups.empty());
  const Job across = job_from_text(racks_job("[2, 3, 4, 5]"), "job.yaml", "");
  ASSERT_EQ(across.spanning_groups.size(), 1u);
  const SpanningGroups& found = across.spanning_groups[0];
  EXPECT_EQ(found.side, "source");
  EXPECT_EQ(found.axis, "ep");
  EXPECT_EQ(found.size, 16);
  EXPECT_EQ(found.spanning, 1);
  EXPECT_EQ(found.domains, 2);
  EXPECT_EQ(found.first.front(), 8);
  EXPECT_TRUE(found.avoidable);
}

TEST(ModelJobNodes, WholeBlocksAreTakenInOrder) {
  // The destination's nodes are read after the source's: rack 0 is the first without a taken node.
  const Job job = job_from_text(racks_job("{blocks: 1}"), "job.yaml", "");
  EXPECT_EQ(job.problem.source_ranks.front(), 0);
  EXPECT_EQ(job.problem.source_ranks.back(), 15);
  EXPECT_THROW(job_from_text(racks_job("{blocks: 3}"), "job.yaml", ""), InputError);
  EXPECT_THROW(job_from_text(racks_job("{block: 1}"), "job.yaml", ""), InputError);
}

}  // namespace
}  // namespace transload
