// Layers over pipeline stages: Megatron's first / last override.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/engines/engines.h"
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

}  // namespace
}  // namespace transload
