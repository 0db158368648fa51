// Every model of the library against facts/models.md section 1.2: elements of each part, tensors,
// the published total and its difference.
#include <gtest/gtest.h>

#include <chrono>
#include <ostream>

#include "models/library.h"

namespace transload {
namespace {

struct Row {
  const char* name;
  std::int64_t main;
  std::int64_t mtp;
  std::int64_t mtp_copy;
  std::int64_t vision;
  std::int64_t buffer;
  std::int64_t tensors;
  std::int64_t published;   // 0: none was found
  std::int64_t difference;  // published minus what we derive for the parts that it covers
  std::int64_t published_tensors = 0;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

// clang-format off
constexpr Row kRows[] = {
    {"deepseek-v3", 671'026'419'200, 11'610'068'224, 1'853'358'080, 0, 0, 46'183, 684'489'845'504, 0},
    {"deepseek-v3.2", 671'877'944'064, 11'624'027'648, 1'853'358'080, 0, 0, 46'493, 685'355'329'792, 0},
    {"deepseek-v4-flash", 284'332'240'471, 6'610'048'891, 0, 0, 2'327'040, 35'020, 290'944'616'402, 0},
    {"deepseek-v4-pro", 1'572'997'201'763, 25'840'145'979, 0, 0, 2'327'040, 73'164, 1'598'839'674'782, 0},
    {"glm-4.5", 352'797'829'024, 3'988'069'792, 1'551'892'480, 0, 0, 44'691, 358'337'791'296, 0},
    {"glm-4.5-air", 106'852'251'264, 2'375'059'584, 1'241'513'984, 0, 0, 18'329, 110'468'824'832, 0},
    {"glm-5", 743'911'218'432, 9'952'920'576, 0, 0, 0, 59'870, 753'864'139'008, 0},
    {"glm-5.2", 743'377'019'904, 9'952'920'576, 0, 0, 0, 59'585, 753'329'940'480, 0, 59'585},
    {"gpt-oss-120b", 116'829'156'672, 0, 0, 0, 0, 615, 116'829'156'672, 0, 615},
    {"gpt-oss-20b", 20'914'757'184, 0, 0, 0, 0, 411, 20'914'757'184, 0, 411},
    {"kimi-k2", 1'026'408'232'448, 0, 0, 0, 0, 69'975, 1'026'408'235'864, 3'416},
    {"kimi-k3", 2'779'484'478'208, 0, 0, 0, 0, 249'756, 2'779'484'478'208, 0},
    {"ling-1t", 999'705'328'640, 0, 0, 0, 0, 59'243, 999'705'328'640, 0},
    {"llama-3.1-405b", 405'853'388'800, 0, 0, 0, 0, 1'137, 405'853'388'800, 0},
    {"llama-3.1-70b", 70'553'706'496, 0, 0, 0, 0, 723, 70'553'706'496, 0},
    {"llama-3.1-8b", 8'030'261'248, 0, 0, 0, 0, 291, 8'030'261'248, 0},
    {"llama-4-maverick", 400'711'848'960, 0, 0, 0, 0, 507, 401'583'781'376, 871'932'416},
    {"llama-4-scout", 107'769'861'120, 0, 0, 0, 0, 579, 108'641'793'536, 871'932'416},
    {"minimax-m2", 228'689'764'864, 0, 0, 0, 0, 48'239, 228'689'764'864, 0},
    {"mixtral-8x7b", 46'702'792'704, 0, 0, 0, 0, 995, 46'702'792'704, 0},
    {"nemotron-3-nano", 31'577'940'288, 0, 0, 0, 0, 6'243, 31'577'937'344, -2'944},
    {"nemotron-3-super", 120'668'707'840, 2'942'325'248, 0, 0, 0, 42'683, 123'611'033'088, 0, 42'683},
    {"nemotron-3-ultra", 549'308'993'536, 11'215'610'368, 0, 0, 0, 51'023, 550'000'000'000, 691'006'464},
    {"qwen3-235b-a22b", 235'093'634'560, 0, 0, 0, 0, 36'945, 235'093'634'560, 0},
    {"qwen3-30b-a3b", 30'532'122'624, 0, 0, 0, 0, 18'867, 30'532'122'624, 0, 18'867},
    {"qwen3-32b", 32'762'123'264, 0, 0, 0, 0, 707, 32'762'123'264, 0},
    {"qwen3-4b", 4'022'468'096, 0, 0, 0, 0, 398, 4'000'000'000, -22'468'096},
    {"qwen3.5-35b-a3b", 34'660'610'688, 844'640'768, 0, 446'571'248, 0, 1'045, 0, 0},
    {"qwen3.5-397b-a17b", 396'346'350'336, 6'595'568'128, 0, 456'010'480, 0, 1'390, 403'397'928'944, 0},
    {"qwen3.6-35b-a3b", 34'660'610'688, 844'640'768, 0, 446'571'248, 0, 1'045, 35'951'822'704, 0, 1'045},
    {"qwen3.8-2.4t-a95b", 2'419'804'697'984, 26'378'027'520, 0, 0, 0, 1'609, 2'446'182'725'504, 0},
    {"qwen3.8-27b", 26'895'998'464, 424'699'392, 0, 460'730'096, 0, 1'199, 27'781'427'952, 0, 1'199},
};
// clang-format on

TEST(LibraryTotals, AllModelledEntriesAreThereAndNoOther) {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  ASSERT_EQ(names.size(), 32U);
  EXPECT_EQ(model_library(), names);  // sorted
}

class LibraryTotals : public ::testing::TestWithParam<Row> {};

TEST_P(LibraryTotals, AreThoseOfTheFacts) {
  const Row& row = GetParam();
  const Model model = load_library_model(row.name);
  EXPECT_EQ(model.name, row.name);
  EXPECT_EQ(parameter_count(model, ModelPart::kMain), row.main);
  EXPECT_EQ(parameter_count(model, ModelPart::kMtp), row.mtp);
  EXPECT_EQ(parameter_count(model, ModelPart::kMtpCopy), row.mtp_copy);
  EXPECT_EQ(parameter_count(model, ModelPart::kVision), row.vision);
  EXPECT_EQ(parameter_count(model, ModelPart::kBuffer), row.buffer);
  EXPECT_EQ(parameter_count(model), row.main + row.mtp + row.mtp_copy + row.vision + row.buffer);
  EXPECT_EQ(static_cast<std::int64_t>(model.parameters.size()), row.tensors);
  EXPECT_EQ(model.published.parameters, row.published);
  EXPECT_EQ(model.published.known_difference, row.difference);
  EXPECT_EQ(model.published.tensors, row.published_tensors);
  if (row.published > 0) {
    EXPECT_EQ(model.published.parameters - counted_parameters(model), row.difference);
    EXPECT_FALSE(model.published.source.empty());
  }
  if (row.published_tensors > 0) {
    EXPECT_EQ(row.published_tensors, row.tensors);
  }
  EXPECT_FALSE(model.sources.empty());
  EXPECT_FALSE(model.hub_id.empty());
}

INSTANTIATE_TEST_SUITE_P(All, LibraryTotals, ::testing::ValuesIn(kRows), [](const auto& info) {
  std::string name = info.param.name;
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
});

TEST(LibraryTotalsOfParts, Glm5WithoutItsPredictionLayer) {
  // The card of the main export: 59,079 tensors, and 791 more in the prediction layer.
  const Model model = load_library_model("glm-5");
  const Model main = without_mtp(model);
  EXPECT_EQ(main.parameters.size(), 59'079U);
  EXPECT_EQ(model.parameters.size() - main.parameters.size(), 791U);
}

TEST(LibraryTotalsOfParts, SinglePrecisionTensorsOfQwen35) {
  // A_log and the norm of each of 45 delta nets; published: 90 fp32 tensors.
  const Model model = load_library_model("qwen3.5-397b-a17b");
  EXPECT_EQ(std::count_if(model.parameters.begin(), model.parameters.end(),
                          [](const Parameter& each) { return each.dtype == DType::kF32; }),
            90);
}

TEST(LibraryTotalsOfParts, MtpExpertsStoredOneByOne) {
  // Facts: 2,924 tensors on disk = 1,390 + 3 x 512 - 2; the elements do not change.
  const YamlValue file = YamlValue::from_file(model_library_folder() + "/qwen3.5-397b-a17b.yaml");
  YAML::Node node = YAML::Clone(file.node());
  node["hyper_parameters"]["mtp_stores_packed_experts"] = "false";
  const Model model =
      read_model(YamlValue(node, std::make_shared<const std::string>("changed"), ""), "changed");
  EXPECT_EQ(model.parameters.size(), 2'924U);
  EXPECT_EQ(parameter_count(model), 403'397'928'944);
}

// Generous for sanitizers on busy machines; the figures of a release build on one core are
// recorded.
TEST(LibrarySpeed, LongListsAreQuick) {
  for (const char* name : {"kimi-k2", "kimi-k3"}) {
    const auto start = std::chrono::steady_clock::now();
    const Model model = load_library_model(name);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(took.count(), 3.0) << name;
    RecordProperty(std::string(name) + "-milliseconds", static_cast<int>(took.count() * 1000));
  }
}

}  // namespace
}  // namespace transload
