// transload model import: what it prints, what it writes, and that plan accepts the pieces.
#include "tests/cli/cli_fixture.h"

namespace transload::testing {
namespace {

const std::string kConfig = R"({
  "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 32,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
  "moe_intermediate_size": 16, "num_experts": 4, "vocab_size": 256, "torch_dtype": "bfloat16"
})";

const std::string kTopology =
    "topology: {nodes: [{count: 2, gpus: 4, nic: 50GB/s, nvlink: 450GB/s}]}\n";

// The lines of `text` from `from` up to the next line that begins at the margin.
std::string section(const std::string& text, const std::string& from) {
  const std::size_t begin = text.find("\n" + from + "\n") + 1;
  std::size_t end = text.find('\n', begin) + 1;
  while (end < text.size() && text[end] == ' ') end = text.find('\n', end) + 1;
  return text.substr(begin, end - begin);
}

class ModelImport : public CliTest {};

TEST_F(ModelImport, AConfigAsAModelFile) {
  const std::string config = write("tiny.config.json", kConfig);
  const nlohmann::json json = json_of({"model", "import", config, "-o", path("tiny.yaml")});
  EXPECT_EQ(json["family"], "qwen3_moe");
  EXPECT_FALSE(json["understood"].empty());
  EXPECT_TRUE(json["ignored"].is_array());
  EXPECT_TRUE(json["asked"].empty());
  const nlohmann::json shown = json_of({"model", "show", path("tiny.yaml")});
  EXPECT_EQ(shown["name"], "tiny");
  for (const char* key : {"parameters", "main_parameters", "bytes", "tensors"})
    EXPECT_EQ(shown[key], json[key]) << key;
  EXPECT_EQ(json_of({"model", "show", config})["parameters"], json["parameters"]);
}

TEST_F(ModelImport, SidesOfAJob) {
  write("config.json", kConfig);
  const std::string train =
      write("train.sh",
            "torchrun --nproc-per-node 4 --nnodes 1 train.py \\\n"
            "  --tensor-model-parallel-size 2 --bf16\\\n"
            "  --expert-model-parallel-size 4 --expert-tensor-parallel-size 1\n");
  const std::string serve = write("serve.sh", "vllm serve x --tensor-parallel-size 4\n");
  ASSERT_EQ(cli({"model", "import", train, "-o", path("source")}).code, 0);
  ASSERT_EQ(cli({"model", "import", serve, "-o", path("destination")}).code, 0);
  const std::string job = write("job.yaml", "model: config.json\n" + kTopology +
                                                section(read(path("source")), "source:") +
                                                section(read(path("destination")), "destination:"));
  const nlohmann::json plan = json_of({"plan", job});
  EXPECT_EQ(plan["ranks"], 8);
  EXPECT_GT(plan["payload_bytes"], 0);
}

TEST_F(ModelImport, AnM2nBenchmarkAsATensorJob) {
  const std::string system = write("system.json", R"({
    "train": {"num_gpus": 4, "tp_size": 2, "ep_size": 2, "pp_size": 1},
    "generation": {"num_gpus": 4, "tp_size": 4}})");
  const std::string model = write("model.json", R"({
    "layers.0.mlp.experts.0.up_proj.weight": {"shape": [8, 4], "dtype": "BF16"},
    "layers.0.mlp.experts.1.up_proj.weight": {"shape": [8, 4], "dtype": "BF16"},
    "layers.0.self_attn.o_proj.weight": {"shape": [8, 8], "dtype": "BF16"}})");
  const nlohmann::json json =
      json_of({"model", "import", model, "--system", system, "-o", path("tensors.yaml")});
  EXPECT_EQ(json["tensors"], 2);
  EXPECT_EQ(json["layouts"][0]["source"]["ranks"], (std::vector<int>{0, 1, 2, 3}));
  const nlohmann::json plan =
      json_of({"plan", write("job.yaml", kTopology + read(path("tensors.yaml")))});
  EXPECT_EQ(plan["tensors"], 2);
  // Four destinations hold a quarter each of 2 x 8 x 4 + 8 x 8 elements of 2 bytes.
  EXPECT_EQ(plan["payload_bytes"], 256);
}

TEST_F(ModelImport, Text) {
  const CliResult result =
      cli({"model", "import", write("a.sh", "--tensor-model-parallel-size 2\n")});
  EXPECT_EQ(result.code, 0);
  for (const char* line : {"a.sh: Megatron arguments\n", "understood\n  source: megatron, tp 2\n",
                           "asked\n  gpus: the file says neither"})
    EXPECT_NE(result.out.find(line), std::string::npos) << line << " in:\n" << result.out;
}

TEST_F(ModelImport, Refused) {
  const std::string config = write("config.json", kConfig);
  expect_refused({"model", "import"}, {"PATH is required"});
  expect_refused({"model", "import", path("none")}, {"none", "cannot open"});
  expect_refused({"model", "import", config, "--set", "x"}, {"--set", "key=value"});
  expect_refused({"model", "import", config, "--set", "a=1", "--set", "a=2"}, {"a is given twice"});
  expect_refused({"model", "import", config, "--dtype", "bf61"}, {"--dtype", "bf61"});
  expect_refused({"model", "import", config, "--launch", "0"}, {"--launch"});
  expect_refused({"model", "import", config, "--launch", "1"}, {"--launch", "Hugging Face"});
  expect_refused({"model", "import", config, "-o", path("none/a")}, {"-o"});
  expect_refused({"model", "import", write("cut.json", kConfig.substr(0, 99))},
                 {"cut.json", "cut?"});
  expect_refused({"plan", write("job.yaml", "model: cut.json\n" + kTopology)},
                 {"cut.json", "cut?"});
  const std::string two = write("two.sh", "vllm serve a -tp 2\nvllm serve b -tp 4\n");
  EXPECT_EQ(cli({"model", "import", two}).code, 0);
  expect_refused({"model", "import", two, "-o", path("a")}, {"line 1", "line 2", "--launch"});
  EXPECT_EQ(cli({"model", "import", two, "--launch", "2", "-o", path("a")}).code, 0);
}

}  // namespace
}  // namespace transload::testing
