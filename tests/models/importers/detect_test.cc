// What a file is, and files that are nothing we know.
#include "tests/models/importers/importer_fixture.h"

namespace transload {
namespace {

class ImportDetect : public ImporterTest {};

TEST_F(ImportDetect, ContentDecidesNotTheName) {
  EXPECT_EQ(import("config.json", "--tensor-model-parallel-size 2\n").kind,
            ImportKind::kMegatronArguments);
  EXPECT_EQ(import("train.sh", R"({"train": {"num_gpus": 1}, "generation": {"num_gpus": 1}})").kind,
            ImportKind::kM2nSystem);
}

TEST_F(ImportDetect, NcclSettingsSayNothingOfLayouts) {
  for (const char* text :
       {"NCCL_DEBUG=WARN\nNCCL_IB_HCA==mlx5_0,mlx5_3\n", "# fabric\nexport NCCL_IB_HCA=mlx5_0\n"})
    EXPECT_THAT(refusal("a.env", text), HasSubstr("hint at the topology"));
}

TEST_F(ImportDetect, OurOwnFiles) {
  EXPECT_THAT(refusal("m.yaml", "family: qwen3\nhyper_parameters: {}\n"), HasSubstr("model show"));
  EXPECT_THAT(refusal("j.yaml", "topology: {}\ntensors: []\n"), HasSubstr("transload plan"));
  EXPECT_THAT(refusal("j.json", R"({"topology": {}, "model": "x"})"), HasSubstr("transload plan"));
}

TEST_F(ImportDetect, NothingWeKnow) {
  EXPECT_THAT(refusal("a", ""), HasSubstr("the file is empty"));
  EXPECT_THAT(refusal("a", " \n\n"), HasSubstr("the file is empty"));
  EXPECT_THAT(refusal("a", "hello\n"), HasSubstr("no file that can be imported; known are"));
  EXPECT_THAT(refusal("a", std::string("PK\3\4\0\0binary", 12)), HasSubstr("binary data"));
  EXPECT_THAT(refusal("a", R"({"x": 1})"), HasSubstr("its keys begin with x"));
  EXPECT_THAT(refusal("a", "{}"), HasSubstr("its keys begin with nothing"));
  EXPECT_THAT(refusal("a", "[1, 2]"), HasSubstr("expected a map at the top"));
  EXPECT_THAT(refusal("a", "{\"a\": "), HasSubstr("is the file cut?"));
  EXPECT_THAT(refusal("a", "{\n\"a\": nope}"), HasSubstr("a:2: not valid JSON"));
  EXPECT_THAT(refusal("a", std::string(500, '[')), HasSubstr("nested deeper"));
  EXPECT_THROW(import_file(path("none")), InputError);
  EXPECT_THROW(import_file(folder_.string()), InputError);
  EXPECT_THROW(import_file("/dev/zero"), InputError);
}

TEST_F(ImportDetect, OptionsThatSayNothingAboutTheFile) {
  const std::string text = "--tensor-model-parallel-size 2\n";
  ImportOptions options;
  options.family = "qwen3";
  EXPECT_THAT(refusal("a", text, options), HasSubstr("--family: says nothing about a Megatron"));
  options = {};
  options.system = "s.json";
  EXPECT_THAT(refusal("a", text, options), HasSubstr("--system"));
  options = {};
  options.first_rank = -1;
  EXPECT_THAT(refusal("a", text, options), HasSubstr("--first-rank: expected 0 to"));
  options = {};
  options.set = {{"x", "y"}};
  EXPECT_THAT(refusal("a", text, options), HasSubstr("--set"));
}

TEST_F(ImportDetect, OnlyModelsAreModelsOfJobs) {
  const std::string file = write(
      "a.json", R"({"model_type": "x", "train": {"num_gpus": 1}, "generation": {"num_gpus": 1}})");
  EXPECT_TRUE(is_importable_model(file));
  EXPECT_THROW(import_model(file), InputError);
  EXPECT_FALSE(is_importable_model(write("b.yaml", "family: qwen3\n")));
  EXPECT_FALSE(is_importable_model(path("none")));
}

}  // namespace
}  // namespace transload
