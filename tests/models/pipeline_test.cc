// Layers over pipeline stages: Megatron's forms and the inference engines' defaults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/engines/pipeline.h"
#include "tests/models/holdings.h"

namespace transload {
namespace {

using ::testing::HasSubstr;

TEST(Pipeline, Even) {
  EXPECT_EQ(pipeline_layout(48, 4, 0, 0), (PipelineLayout{12, 12, 12, 12}));
  EXPECT_EQ(pipeline_layout(5, 5, 0, 0), (PipelineLayout{1, 1, 1, 1, 1}));
  EXPECT_EQ(pipeline_layout(61, 1, 0, 0), (PipelineLayout{61}));
}

TEST(Pipeline, FirstAndLast) {
  // DeepSeek-V3 on 16 stages, Qwen3-235B on 8: published configurations.
  PipelineLayout deepseek(16, 4);
  deepseek.front() = 3;
  deepseek.back() = 2;
  EXPECT_EQ(pipeline_layout(61, 16, 3, 2), deepseek);
  EXPECT_EQ(pipeline_layout(94, 8, 11, 11), (PipelineLayout{11, 12, 12, 12, 12, 12, 12, 11}));
  EXPECT_EQ(pipeline_layout(61, 4, 0, 13), (PipelineLayout{16, 16, 16, 13}));
  EXPECT_EQ(pipeline_layout(61, 4, 13, 0), (PipelineLayout{13, 16, 16, 16}));
  EXPECT_EQ(pipeline_layout(7, 2, 3, 4), (PipelineLayout{3, 4}));
  EXPECT_EQ(pipeline_layout(7, 2, 3, 0), (PipelineLayout{3, 4}));
  EXPECT_EQ(pipeline_layout(7, 1, 7, 7), (PipelineLayout{7}));
}

struct BadLayout {
  std::int64_t layers, stages, first, last;
  const char* message;
};

TEST(Pipeline, RefusesWhatDoesNotDivide) {
  constexpr std::int64_t kHuge = INT64_MAX;
  const BadLayout bad[] = {
      {61, 16, 0, 0, "source.pp_layout: 61 layers over 16 stages: 61 layers do not divide"},
      {61, 16, 3, 3, "with first 3, last 3: 55 layers do not divide over 14 stages"},
      {61, 0, 0, 0, "source.parallel.pp: 0 is below 1"},
      {4, 5, 0, 0, "5 stages are more than the 4 layers"},
      {8, 2, 3, 4, "first and last must add up to 8"},
      {8, 3, 4, 4, "nothing is left for the other stages"},
      {8, 3, 8, 8, "nothing is left for the other stages"},
      {8, 2, -1, 0, "first and last count layers"},
      {8, 2, 9, 0, "more layers on one stage"},
      {8, 2, kHuge, kHuge, "more layers on one stage"},
      {8, kHuge, 0, 0, "stages are more than the 8 layers"},
      {8, 1, 7, 0, "the only stage holds all layers"},
  };
  for (const BadLayout& row : bad)
    EXPECT_THAT(input_error([&] { pipeline_layout(row.layers, row.stages, row.first, row.last); }),
                HasSubstr(row.message));
  EXPECT_THAT(input_error([] { pipeline_layout(7, 2, 0, 0, "destination"); }),
              HasSubstr("destination.pp_layout: "));
}

// The stage of each layer as a string of digits.
std::string digits(const PipelineStages& stages) {
  std::string text;
  for (const std::int32_t stage : stages.of_layer) text += static_cast<char>('0' + stage);
  return text;
}

TEST(Pipeline, VirtualStages) {
  // Facts 3.3(g): chunk v of stage p begins at v * (L / VPP) + p * (L / (PP * VPP)).
  EXPECT_EQ(digits(stages_of_counts({4, 4}, 2, 8, 1, "source")), "00001111");
  EXPECT_EQ(digits(stages_of_counts({4, 4}, 2, 8, 2, "source")), "00110011");
  EXPECT_EQ(digits(stages_of_counts({4, 4}, 2, 8, 4, "source")), "01010101");
  EXPECT_EQ(digits(stages_of_counts({2, 4, 2}, 3, 8, 2, "source")), "01120112");
  EXPECT_THAT(input_error([] {
                stages_of_counts({3, 5}, 2, 8, 2, "source");
              }),
              HasSubstr("source.parallel.vpp: 2 does not divide the 3 layers of stage 0"));
  EXPECT_THAT(input_error([] { stages_of_counts({8}, 2, 8, 1, "source"); }),
              HasSubstr("source.pp_layout: expected 2 entries, one per stage, found 1"));
  EXPECT_THAT(input_error([] {
                stages_of_counts({4, 3}, 2, 8, 1, "source");
              }),
              HasSubstr("the stages hold 7 layers; the model has 8"));
  EXPECT_THAT(input_error([] {
                stages_of_counts({4, 5}, 2, 8, 1, "source");
              }),
              HasSubstr("stage 1 has 5 layers; 4 of the model's 8 layers"));
  EXPECT_THAT(input_error([] {
                stages_of_counts({-1, 9}, 2, 8, 1, "source");
              }),
              HasSubstr("stage 0 has -1 layers"));
}

TEST(Pipeline, EmbeddingAndLossCountAsLayers) {
  EXPECT_EQ(digits(stages_counting_ends(7, 2, 1, true, false, "source")), "0001111");
  EXPECT_EQ(digits(stages_counting_ends(7, 2, 1, false, true, "source")), "0000111");
  EXPECT_EQ(digits(stages_counting_ends(6, 2, 2, true, true, "source")), "011001");
  EXPECT_THAT(input_error([] { stages_counting_ends(61, 4, 1, true, false, "source"); }),
              HasSubstr("61 layers, the embedding are 62, not a multiple of pp 4 * vpp 1"));
}

TEST(Pipeline, MegatronsString) {
  PipelineStages stages = stages_of_text("Ett|tt|(t|)*2,t|mL", 3, 7, 1, 2, "source");
  // Entries: Ett, tt, t, t, t, mL; entry i is on stage i mod 3.
  EXPECT_EQ(digits(stages), "0011201");
  EXPECT_EQ(stages.of_prediction, std::vector<std::int32_t>{2});
  EXPECT_EQ(stages.output, 2);
  EXPECT_EQ(stages.embedding, 0);
  // The example of Megatron's own parser: 32 stages, 61 layers.
  stages = stages_of_text("Ettt|(tt|)*29,m|L", 16, 61, 1, 0, "source");
  EXPECT_EQ(stages.of_layer[2], 0);
  EXPECT_EQ(stages.of_layer[3], 1);
  EXPECT_EQ(stages.of_layer[33], 0);  // entry 16, the second chunk of stage 0
  EXPECT_EQ(stages.of_layer[60], 13);
  EXPECT_EQ(stages.of_prediction, std::vector<std::int32_t>{14});
  EXPECT_EQ(stages.output, 15);
  // A single letter may repeat; an entry may be empty.
  EXPECT_EQ(digits(stages_of_text("Et*3||t*2L", 3, 5, 0, 0, "source")), "00022");
  // Prediction letters of a model whose prediction layers the job does not move.
  EXPECT_TRUE(stages_of_text("Ett|mL", 2, 2, 0, 0, "source").of_prediction.empty());
}

TEST(Pipeline, RefusesStringsThatCannotBe) {
  const std::pair<const char*, const char*> bad[] = {
      {"Ett|tt", "L must stand in the last stage"},
      {"tt|EttL", "E must stand in the first stage"},
      {"EEtt|ttL", "E stands twice"},
      {"EttL|ttL", "L stands twice"},
      {"Ett|t|L", "3 stages are not a multiple of pp 2"},
      {"Ettt|ttL", "5 t; the model has 4 decoder layers"},
      {"Ett|x|L", "at character 5: expected E, t, m, L"},
      {"E(tt|ttL", "`(` without `)`"},
      {"Ett)|ttL", "`)` without `(`"},
      {"E(t(t)*2)*2|L", "groups within groups"},
      {"E(tt)|ttL", "expected *N after `)`"},
      {"Et*|ttL", "expected a number after `*`"},
      {"Et*999999999999|L", "more layers than any model has"},
      {"E(t*1000000)*1000000|L", "more layers than any model has"},
  };
  for (const auto& [text, message] : bad)
    EXPECT_THAT(input_error([&] { stages_of_text(text, 2, 4, 0, 0, "source"); }),
                HasSubstr(message))
        << text;
  EXPECT_THAT(input_error([&] { stages_of_text("Ett|ttL", 2, 4, 0, 2, "source"); }),
              HasSubstr("2 stages; expected pp 2 * vpp 2 = 4"));
  EXPECT_THAT(input_error([&] { stages_of_text("Ett|ttL", 2, 4, 1, 0, "source"); }),
              HasSubstr("0 m; the model has 1 prediction layers"));
}

// Facts 3.3(g), the table.
TEST(Pipeline, InferenceEngines) {
  using Layout = PipelineLayout;
  EXPECT_EQ(vllm_layers(61, 4), (Layout{15, 15, 16, 15}));
  EXPECT_EQ(sglang_layers(61, 4), (Layout{15, 15, 15, 16}));
  EXPECT_EQ(trtllm_layers(61, 4), (Layout{16, 15, 15, 15}));
  EXPECT_EQ(vllm_layers(61, 8), (Layout{7, 7, 8, 8, 8, 8, 8, 7}));
  EXPECT_EQ(sglang_layers(61, 8), (Layout{7, 7, 7, 8, 8, 8, 8, 8}));
  EXPECT_EQ(trtllm_layers(61, 8), (Layout{8, 8, 8, 8, 8, 7, 7, 7}));
  EXPECT_EQ(vllm_layers(93, 8), (Layout{11, 11, 12, 12, 12, 12, 12, 11}));
  EXPECT_EQ(sglang_layers(93, 8), (Layout{11, 11, 11, 12, 12, 12, 12, 12}));
  EXPECT_EQ(trtllm_layers(93, 8), (Layout{12, 12, 12, 12, 12, 11, 11, 11}));
  EXPECT_EQ(vllm_layers(78, 4), (Layout{19, 20, 20, 19}));
  EXPECT_EQ(sglang_layers(78, 4), (Layout{19, 19, 20, 20}));
  EXPECT_EQ(trtllm_layers(78, 4), (Layout{20, 20, 19, 19}));
  EXPECT_EQ(vllm_layers(94, 8), (Layout{11, 12, 12, 12, 12, 12, 12, 11}));
  EXPECT_EQ(sglang_layers(94, 8), (Layout{11, 11, 12, 12, 12, 12, 12, 12}));
  EXPECT_EQ(trtllm_layers(94, 8), (Layout{12, 12, 12, 12, 12, 12, 11, 11}));
  EXPECT_EQ(vllm_layers(92, 8), (Layout{11, 11, 11, 12, 12, 12, 12, 11}));
  EXPECT_EQ(sglang_layers(92, 8), (Layout{11, 11, 11, 11, 12, 12, 12, 12}));
  EXPECT_EQ(trtllm_layers(92, 8), (Layout{12, 12, 12, 12, 11, 11, 11, 11}));
  EXPECT_EQ(vllm_layers(48, 4), (Layout{12, 12, 12, 12}));
}

}  // namespace
}  // namespace transload
