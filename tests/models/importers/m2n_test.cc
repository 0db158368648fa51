// NCCL M2N's benchmark files.
#include "tests/models/importers/importer_fixture.h"

namespace transload {
namespace {

// Trainer 8 GPUs: tp 2, ep 2, 2 stages of 4 ranks. Generation 4 GPUs: tp 2, twice.
const std::string kSystem = R"({
  "_comment": "small",
  "train": {"num_gpus": 8, "tp_size": 2, "cp_size": 1, "ep_size": 2, "pp_size": 2,
            "fsdp_size": 1, "dp_size": 1},
  "generation": {"num_gpus": 4, "tp_size": 2, "cp_size": 1, "ep_size": 1, "pp_size": 1,
                 "fsdp_size": 1, "dp_size": 2}
})";

const std::string kModel = R"({
  "model.embed_tokens.weight": {"shape": [16, 8], "dtype": "BF16", "shard": "a"},
  "model.layers.0.input_layernorm.weight": {"shape": [8], "dtype": "BF16"},
  "model.layers.0.mlp.experts.0.up_proj.weight": {"shape": [6, 8], "dtype": "F8_E4M3"},
  "model.layers.0.mlp.experts.1.up_proj.weight": {"shape": [6, 8], "dtype": "F8_E4M3"},
  "model.layers.0.mlp.experts.0.up_proj.weight_scale_inv": {"shape": [1, 1], "dtype": "F32"},
  "model.layers.0.mlp.experts.1.up_proj.weight_scale_inv": {"shape": [1, 1], "dtype": "F32"},
  "model.layers.1.self_attn.o_proj.weight": {"shape": [8, 8], "dtype": "BF16"},
  "lm_head.weight": {"shape": [16, 8], "dtype": "BF16"}
})";

class ImportM2n : public ImporterTest {
 protected:
  Imported model_with(const std::string& system) const {
    ImportOptions options;
    options.system = write("system.json", system);
    return import("model.json", kModel, options);
  }
};

TEST_F(ImportM2n, SystemIsBothSides) {
  const Imported imported = import("s.json", kSystem);
  EXPECT_EQ(imported.kind, ImportKind::kM2nSystem);
  ASSERT_EQ(imported.sides.size(), 2u);
  EXPECT_EQ(imported.sides[0].gpus, 8);
  EXPECT_THAT(imported.sides[0].parallel, ElementsAre(Pair("tp", 2), Pair("pp", 2), Pair("cp", 1),
                                                      Pair("ep", 2), Pair("etp", 1)));
  EXPECT_THAT(imported.sides[1].parallel, ElementsAre(Pair("tp", 2), Pair("pp", 1)));
  // 8 GPUs / (2 stages x tp 2) leave 2.
  EXPECT_THAT(joined(imported.ignored),
              HasSubstr("train: dp_size 1; M2N's benchmark takes what the GPUs leave, 2"));
}

TEST_F(ImportM2n, ModelIsTensorsWithExpertsStacked) {
  const Imported imported = import("m.json", kModel);
  EXPECT_EQ(imported.kind, ImportKind::kM2nModel);
  ASSERT_EQ(imported.tensors.size(), 6u);
  EXPECT_EQ(imported.tensors[2].name, "model.layers.0.mlp.experts.*.up_proj.weight");
  EXPECT_EQ(imported.tensors[2].shape, (std::vector<std::int64_t>{2, 6, 8}));
  EXPECT_EQ(imported.tensors[2].dtype, DType::kF8E4M3);
  EXPECT_FALSE(imported.tensors[2].source);
  // 2 x 256 + 16 + 96 + 8 + 128 bytes.
  EXPECT_THAT(joined(imported.understood), HasSubstr("8 entries, 760 bytes"));
}

TEST_F(ImportM2n, LayoutsOfTheModelBenchmark) {
  const Imported imported = model_with(kSystem);
  const auto expect = [&](std::size_t tensor, bool source, std::vector<MeshAxis> mesh,
                          std::vector<int> dims, Rank first) {
    const ImportedTensor& found = imported.tensors.at(tensor);
    const Sharding& side = source ? *found.source : *found.destination;
    EXPECT_EQ(side.mesh, mesh) << found.name;
    EXPECT_EQ(side.ranks.front(), first) << found.name;
    ASSERT_EQ(side.placements.size(), dims.size()) << found.name;
    for (std::size_t axis = 0; axis < dims.size(); ++axis)
      EXPECT_EQ(side.placements[axis].dim, dims[axis]) << found.name;
  };
  constexpr int kR = AxisPlacement::kReplicate;
  expect(0, true, {{"replica", 2}, {"tp", 2}}, {kR, 0}, 0);   // embedding: first stage
  expect(0, false, {{"replica", 2}, {"tp", 2}}, {kR, 0}, 8);  // all of generation
  expect(1, true, {{"replica", 4}}, {kR}, 0);                 // norm
  expect(2, true, {{"replica", 2}, {"ep", 2}}, {kR, 0}, 0);   // experts: by expert
  expect(2, false, {{"replica", 2}, {"tp", 2}}, {kR, 1}, 8);  // by their rows
  expect(3, true, {{"replica", 2}, {"ep", 2}}, {kR, 0}, 0);   // scales go with them
  expect(3, false, {{"replica", 4}}, {kR}, 8);
  expect(4, true, {{"replica", 2}, {"tp", 2}}, {kR, 1}, 4);  // layer 1 of 2: second stage
  expect(5, true, {{"replica", 2}, {"tp", 2}}, {kR, 0}, 4);  // output layer: last stage
  EXPECT_THAT(import_text(imported), Not(HasSubstr("# source")));
}

TEST_F(ImportM2n, GenerationWithExpertParallelism) {
  std::string system =
      changed(kSystem, "\"ep_size\": 1, \"pp_size\": 1", "\"ep_size\": 2, \"pp_size\": 1");
  system = changed(system, "\"fsdp_size\": 1, \"dp_size\": 2", "\"fsdp_size\": 1, \"dp_size\": 1");
  const Imported imported = model_with(system);
  EXPECT_EQ(imported.tensors[2].destination->mesh,
            (std::vector<MeshAxis>{{"replica", 1}, {"ep", 2}, {"tp", 2}}));
  EXPECT_EQ(imported.tensors[2].destination->placements[1].dim, 0);
  EXPECT_THAT(joined(import("s.json", system).asked), HasSubstr("destination.parallel.ep"));
}

TEST_F(ImportM2n, Layers) {
  const std::string layers =
      R"({"num_layers": 2, "default_tensors": [
          {"name": "moe", "dims": [4, 8, 6], "tp_shard_dim": 1, "ep_shard_dim": 0}]})";
  const Imported alone = import("l.json", layers);
  EXPECT_EQ(alone.kind, ImportKind::kM2nLayers);
  ASSERT_EQ(alone.tensors.size(), 2u);
  EXPECT_THAT(joined(alone.asked), HasSubstr("--dtype"));
  ImportOptions options;
  options.system = write("system.json", kSystem);
  options.dtype = DType::kBF16;
  const Imported laid = import("l.json", layers, options);
  EXPECT_EQ(laid.tensors[1].name, "layers.1.moe");
  EXPECT_EQ(laid.tensors[1].source->ranks.front(), 4);
  EXPECT_EQ(laid.tensors[1].destination->placements[1].dim, 1);
  EXPECT_THAT(refusal("l.json", changed(layers, "\"ep_shard_dim\": 0", "\"ep_shard_dim\": 3")),
              HasSubstr("from 0 to 2, found 3"));
  EXPECT_THAT(refusal("l.json", changed(layers, "[4, 8, 6]", "[4, -8, 6]")), HasSubstr("found -8"));
  EXPECT_THAT(refusal("l.json", R"({"default_tensors": []})"), HasSubstr("at least one tensor"));
}

TEST_F(ImportM2n, BadFiles) {
  const auto system = [&](const char* from, const char* to) {
    return refusal("s.json", changed(kSystem, from, to));
  };
  EXPECT_THAT(system("\"num_gpus\": 8", "\"num_gpus\": 9"),
              HasSubstr("train: 9 GPUs do not divide"));
  EXPECT_THAT(system("\"num_gpus\": 8", "\"num_gpus\": \"8\""),
              HasSubstr("train.num_gpus: expected"));
  EXPECT_THAT(system("\"num_gpus\": 8, ", ""), HasSubstr("the key num_gpus is missing"));
  EXPECT_THAT(system("\"tp_size\": 2", "\"tp_size\": 0"), HasSubstr("from 1 to"));
  EXPECT_THAT(system("\"tp_size\": 2", "\"tpsize\": 2"), HasSubstr("unknown key tpsize"));
  EXPECT_THAT(system("\"generation\"", "\"generations\""), HasSubstr("generation is missing"));
  EXPECT_THAT(system("\"ep_size\": 2", "\"ep_size\": 3"), HasSubstr("ep 3"));

  const auto model = [&](const char* from, const char* to) {
    return refusal("m.json", changed(kModel, from, to));
  };
  EXPECT_THAT(model("experts.1.up_proj.weight\"", "experts.2.up_proj.weight\""),
              HasSubstr("expert 1 is missing"));
  EXPECT_THAT(model("[6, 8], \"dtype\": \"F8_E4M3\"", "[6, 9], \"dtype\": \"F8_E4M3\""),
              HasSubstr("cannot be stacked"));
  EXPECT_THAT(model("\"BF16\"", "\"BF61\""), HasSubstr("unknown dtype BF61"));
  EXPECT_THAT(model("[16, 8]", "[16, -8]"), HasSubstr("found -8"));
  EXPECT_THAT(model("[16, 8]", "16"), HasSubstr("expected a list"));
  // 16 rows of the embedding over tp 5.
  EXPECT_THROW(model_with(changed(kSystem, "\"num_gpus\": 4, \"tp_size\": 2",
                                  "\"num_gpus\": 5, \"tp_size\": 5")),
               InputError);
}

}  // namespace
}  // namespace transload
