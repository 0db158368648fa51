// Indexes and headers of checkpoints.
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/models/importers/importer_fixture.h"

namespace transload {
namespace {

using nlohmann::json;

// One layer of hidden size 8, tied: 80 + 8 + 64 + 32 + 32 + 64 + 8 + 3 x 96 + 8 = 584 elements in
// 11 tensors, 1,168 bytes of bf16.
const std::string kConfig = R"({
  "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8,
  "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
  "intermediate_size": 12, "vocab_size": 10, "tie_word_embeddings": true,
  "torch_dtype": "bfloat16"
})";

const std::map<std::string, std::vector<std::int64_t>> kTensors = {
    {"model.embed_tokens.weight", {10, 8}},
    {"model.layers.0.input_layernorm.weight", {8}},
    {"model.layers.0.self_attn.q_proj.weight", {8, 8}},
    {"model.layers.0.self_attn.k_proj.weight", {4, 8}},
    {"model.layers.0.self_attn.v_proj.weight", {4, 8}},
    {"model.layers.0.self_attn.o_proj.weight", {8, 8}},
    {"model.layers.0.post_attention_layernorm.weight", {8}},
    {"model.layers.0.mlp.gate_proj.weight", {12, 8}},
    {"model.layers.0.mlp.up_proj.weight", {12, 8}},
    {"model.layers.0.mlp.down_proj.weight", {8, 12}},
    {"model.norm.weight", {8}},
};

// A checkpoint in two files; each change is made on the pieces before they are written.
struct Pieces {
  json index = {{"metadata", {{"total_size", 1168}}}, {"weight_map", json::object()}};
  std::map<std::string, json> headers;
  std::map<std::string, std::int64_t> data_bytes;

  Pieces() {
    std::size_t number = 0;
    for (const auto& [name, shape] : kTensors) {
      const std::string file = number++ < 5 ? "a.safetensors" : "b.safetensors";
      index["weight_map"][name] = file;
      std::int64_t bytes = 2;
      for (const std::int64_t extent : shape) bytes *= extent;
      std::int64_t& at = data_bytes[file];
      headers[file][name] = {
          {"dtype", "BF16"}, {"shape", shape}, {"data_offsets", {at, at + bytes}}};
      at += bytes;
    }
    headers["a.safetensors"]["__metadata__"] = {{"format", "pt"}};
  }
};

std::string safetensors(const std::string& header, std::int64_t data_bytes) {
  std::string file;
  std::uint64_t length = header.size();
  for (int i = 0; i < 8; ++i, length >>= 8) file += static_cast<char>(length & 0xff);
  return file + header + std::string(static_cast<std::size_t>(data_bytes), '\0');
}

class ImportIndex : public ImporterTest {
 protected:
  std::string write_index(const Pieces& pieces,
                          const std::string& name = "model.safetensors.index.json") const {
    return write(name, pieces.index.dump());
  }
  void write_files(const Pieces& pieces) const {
    for (const auto& [file, header] : pieces.headers)
      write(file, safetensors(header.dump(), pieces.data_bytes.at(file)));
  }
  std::string message(const std::string& file) const {
    try {
      import_file(file);
    } catch (const InputError& error) {
      return error.what();
    }
    return "imported";
  }
};

TEST_F(ImportIndex, WithTheConfigBesideIt) {
  write("config.json", kConfig);
  const Imported imported = import_file(write_index({}));
  ASSERT_TRUE(imported.model);
  EXPECT_EQ(parameter_count(*imported.model), 584);
  EXPECT_THAT(joined(imported.understood), HasSubstr("11 names of the index are those"));
  EXPECT_THAT(joined(imported.understood), HasSubstr("total_size 1168 equals"));
  EXPECT_EQ(parameter_count(import_model(path("model.safetensors.index.json"))), 584);
}

TEST_F(ImportIndex, ConfigOfTheSameName) {
  write("tiny.config.json", kConfig);
  const Imported imported = import_file(write_index({}, "tiny.model.safetensors.index.json"));
  EXPECT_EQ(parameter_count(*imported.model), 584);
}

TEST_F(ImportIndex, HeadersWithoutAConfigAreTensors) {
  write_files({});
  const Imported imported = import_file(write_index({}));
  EXPECT_FALSE(imported.model);
  ASSERT_EQ(imported.tensors.size(), kTensors.size());
  for (const ImportedTensor& tensor : imported.tensors) {
    EXPECT_EQ(tensor.shape, kTensors.at(tensor.name));
    EXPECT_EQ(tensor.dtype, DType::kBF16);
  }
  EXPECT_THAT(joined(imported.asked), HasSubstr("config.json"));
  EXPECT_THROW(import_model(path("model.safetensors.index.json")), InputError);
}

TEST_F(ImportIndex, HeadersAndConfigAreCompared) {
  write("config.json", kConfig);
  write_files({});
  const Imported imported = import_file(write_index({}));
  EXPECT_THAT(joined(imported.understood), HasSubstr("headers of 2 files"));
  EXPECT_EQ(parameter_count(*imported.model), 584);

  write("config.json", changed(kConfig, "\"intermediate_size\": 12", "\"intermediate_size\": 16"));
  EXPECT_THAT(message(path("model.safetensors.index.json")),
              HasSubstr("its header says 8 x 12, the config 8 x 16"));
}

TEST_F(ImportIndex, AFolderIsItsCheckpoint) {
  write("config.json", kConfig);
  write_index({});
  EXPECT_EQ(import_file(folder_.string()).kind, ImportKind::kSafetensorsIndex);
  EXPECT_THAT(message(path("none")), HasSubstr("cannot open"));
}

TEST_F(ImportIndex, TypesOfTheHeadersCount) {
  Pieces pieces;
  // The last of its file, so that no other offset moves: 8 elements of 4 bytes.
  json& norm = pieces.headers["b.safetensors"]["model.norm.weight"];
  norm["dtype"] = "F32";
  norm["data_offsets"][1] = norm["data_offsets"][0].get<int>() + 32;
  pieces.data_bytes["b.safetensors"] += 16;
  pieces.index["metadata"]["total_size"] = 1168 + 16;
  write("config.json", kConfig);
  write_files(pieces);
  const Imported imported = import_file(write_index(pieces));
  for (const Parameter& parameter : imported.model->parameters)
    EXPECT_EQ(parameter.dtype, parameter.name == "model.norm.weight" ? DType::kF32 : DType::kBF16);
  EXPECT_THAT(joined(imported.understood), HasSubstr("1 tensors have other types"));
}

TEST_F(ImportIndex, QuantisedNamesAreExpected) {
  // Every matrix but the embedding has its scale: [1, 1] fp32, and weights of one byte. 7 matrices
  // of 64 + 32 + 32 + 64 + 3 x 96 = 480 elements: 480 + 7 x 4 bytes; the rest 104 x 2.
  write("config.json",
        changed(kConfig, "\"hidden_size\"",
                R"("quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
                   "hidden_size")"));
  Pieces pieces;
  for (const auto& [name, shape] : kTensors)
    if (name.find("_proj") != std::string::npos)
      pieces.index["weight_map"][name + "_scale_inv"] = "a.safetensors";
  pieces.index["metadata"]["total_size"] = 480 + 28 + 208;
  const Imported imported = import_file(write_index(pieces));
  EXPECT_EQ(imported.model->parameters.size(), 11u);
  EXPECT_EQ(imported.model->dtype, DType::kBF16);
  EXPECT_THAT(joined(imported.understood), HasSubstr("18 names of the index"));
}

TEST_F(ImportIndex, NamesOnly) {
  EXPECT_THAT(message(write_index({})), HasSubstr("11 names and no shapes"));
}

TEST_F(ImportIndex, MissingAndExtraNames) {
  write("config.json", kConfig);
  Pieces pieces;
  pieces.index["weight_map"].erase("model.norm.weight");
  EXPECT_THAT(message(write_index(pieces)), HasSubstr("1 of the 11 tensors"));
  EXPECT_THAT(message(write_index(pieces)), HasSubstr("model.norm.weight"));

  Pieces more;
  more.index["weight_map"]["model.layers.0.self_attn.rotary_emb.inv_freq"] = "a.safetensors";
  const Imported imported = import_file(write_index(more));
  EXPECT_THAT(joined(imported.ignored), HasSubstr("inv_freq"));
  // In a job nobody would read that sentence.
  EXPECT_THROW(import_model(path("model.safetensors.index.json")), InputError);
}

TEST_F(ImportIndex, TotalSize) {
  write("config.json", kConfig);
  Pieces pieces;
  pieces.index["metadata"]["total_size"] = 2336;
  EXPECT_THAT(message(write_index(pieces)),
              HasSubstr("metadata.total_size: 2336 bytes, the config's tensors make 1168"));
  pieces.index["metadata"]["total_size"] = -1;
  EXPECT_THAT(message(write_index(pieces)), HasSubstr("found -1"));
  pieces.index["metadata"]["total_size"] = 1e30;
  EXPECT_THAT(message(write_index(pieces)), HasSubstr("whole number"));
  pieces.index.erase("metadata");
  EXPECT_EQ(message(write_index(pieces)), "imported");
}

TEST_F(ImportIndex, BadMaps) {
  const std::string file = "model.safetensors.index.json";
  EXPECT_THAT(refusal(file, R"({"weight_map": []})"), HasSubstr("weight_map: expected a map"));
  EXPECT_THAT(refusal(file, R"({"weight_map": {}})"), HasSubstr("at least one tensor"));
  EXPECT_THAT(refusal(file, R"({"weight_map": {"w": 3}})"),
              HasSubstr("weight_map.w: expected text"));
  EXPECT_THAT(refusal(file, R"({"weight_map": {"w": "../x.safetensors"}})"), HasSubstr("../x"));
  EXPECT_THAT(refusal(file, R"({"weight_map": {"w": "a", "w": "b"}})"), HasSubstr("stands twice"));
  const std::string whole = Pieces().index.dump();
  EXPECT_THAT(refusal(file, whole.substr(0, whole.size() / 2)), HasSubstr("is the file cut?"));
}

TEST_F(ImportIndex, FilesThatAreNotWhatTheIndexSays) {
  Pieces pieces;
  write_files(pieces);
  const std::string index = write_index(pieces);
  std::filesystem::remove(path("b.safetensors"));
  EXPECT_THAT(message(index), HasSubstr("1 of its 2 files are missing: b.safetensors"));

  Pieces swapped;
  swapped.index["weight_map"]["model.norm.weight"] = "a.safetensors";
  write_files(swapped);
  EXPECT_THAT(message(write_index(swapped)), HasSubstr("the header lacks it"));

  Pieces fewer;
  fewer.index["weight_map"].erase("model.norm.weight");
  write_files(fewer);
  EXPECT_THAT(message(write_index(fewer)), HasSubstr("the index does not put it here"));
}

class ImportHeader : public ImportIndex {
 protected:
  std::string of(const std::string& header, std::int64_t data_bytes) const {
    return message(write("x.safetensors", safetensors(header, data_bytes)));
  }
};

TEST_F(ImportHeader, OneFile) {
  const Imported imported = import_file(
      write("x.safetensors",
            safetensors(R"({"b": {"dtype": "F32", "shape": [2, 3], "data_offsets": [2, 26]},
                      "a": {"dtype": "F16", "shape": [], "data_offsets": [0, 2]},
                      "none": {"dtype": "I64", "shape": [0, 7], "data_offsets": [2, 2]}})",
                        26)));
  ASSERT_EQ(imported.kind, ImportKind::kSafetensorsFile);
  ASSERT_EQ(imported.tensors.size(), 3u);
  EXPECT_EQ(imported.tensors[1].name, "b");
  EXPECT_EQ(imported.tensors[1].shape, (std::vector<std::int64_t>{2, 3}));
}

TEST_F(ImportHeader, LengthsAndOffsets) {
  const std::string good = R"({"w": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}})";
  EXPECT_EQ(of(good, 8), "imported");
  EXPECT_THAT(of(good, 7),
              HasSubstr("the tensors take 8 bytes, the file holds 7; is the file cut?"));
  EXPECT_THAT(of(good, 9), HasSubstr("the file holds 9"));
  EXPECT_THAT(of(changed(good, "[0, 8]", "[0, 6]"), 6), HasSubstr("w: 6 bytes between"));
  EXPECT_THAT(of(changed(good, "[0, 8]", "[8, 0]"), 8), HasSubstr("data_offsets"));
  EXPECT_THAT(of(changed(good, "[0, 8]", "[0]"), 8), HasSubstr("[begin, end]"));
  EXPECT_THAT(of(changed(good, "[0, 8]", "[1, 9]"), 9), HasSubstr("begin at byte 1"));
  EXPECT_THAT(of(changed(good, "[4]", "[-4]"), 8), HasSubstr("shape[0]"));
  EXPECT_THAT(of(changed(good, "[4]", "4"), 8), HasSubstr("shape: expected a list"));
  EXPECT_THAT(of(changed(good, "[4]", "[4.5]"), 8), HasSubstr("found 4.5"));
  EXPECT_THAT(of(changed(good, "[4]", "[1099511627776, 1099511627776]"), 8), HasSubstr("2^50"));
  EXPECT_THAT(of(changed(good, "BF16", "F4"), 8), HasSubstr("unknown dtype F4"));
  EXPECT_THAT(of(changed(good, "\"shape\": [4], ", ""), 8), HasSubstr("the key shape is missing"));
  EXPECT_THAT(of(good.substr(0, 30), 8), HasSubstr("not valid JSON"));
  EXPECT_THAT(of("{}", 0), HasSubstr("lists no tensor"));
}

TEST_F(ImportHeader, HeaderLongerThanTheFile) {
  std::string file = safetensors("{}", 0);
  file[1] = 1;  // 258 bytes
  EXPECT_THAT(message(write("x.safetensors", file)),
              HasSubstr("the header has 258 bytes, the file only 2"));
  file[4] = 1;  // past 4 GiB
  EXPECT_THAT(message(write("x.safetensors", file)), HasSubstr("at most 100000000"));
}

TEST_F(ImportHeader, Overlap) {
  EXPECT_THAT(of(R"({"a": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]},
                     "b": {"dtype": "U8", "shape": [8], "data_offsets": [4, 12]}})",
                 12),
              HasSubstr("b: its data begin at byte 4, the tensor before ends at 8"));
}

}  // namespace
}  // namespace transload
