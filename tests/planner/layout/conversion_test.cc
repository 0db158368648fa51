#include "planner/layout/conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "planner/demand/demand.h"
#include "planner/job/job.h"

namespace transload {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two nodes of four GPUs; sides as given.
std::string job_text(const std::string& shape, const std::string& source,
                     const std::string& destination, const std::string& also = "") {
  return "topology: {nodes: [{count: 2, gpus: 4, nic: 1GB/s, nvlink: 9GB/s}]}\n"
         "tensors:\n"
         "  - {name: w, shape: " +
         shape + ", dtype: bf16, source: {" + source + "}, destination: {" + destination + "}" +
         also + "}\n";
}

ReshardProblem problem_of(const std::string& text) {
  return job_from_text(text, "job.yaml", "").problem;
}

std::string error_of(const std::string& text) {
  try {
    problem_of(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

const TensorGroup& group_called(const ReshardProblem& problem, const std::string& name) {
  for (const TensorGroup& group : problem.groups)
    if (problem.names[group.first] == name) return group;
  throw InputError("no such tensor: " + name);
}

const char* const kTwoRows = "mesh: {x: 2}, placements: [S(0)], ranks: 0-1";
const char* const kTwoColumns = "mesh: {y: 2}, placements: [S(1)], ranks: 4-5, dtype: fp8-block128";

TEST(Conversion, ValuesAndScalesAreMadeWhereBlocksAreWhole) {
  const ReshardProblem problem = problem_of(job_text("[512, 512]", kTwoRows, kTwoColumns));
  EXPECT_THAT(problem.names, ::testing::UnorderedElementsAre("w@bf16", "w", "w.scale"));
  const TensorGroup& original = group_called(problem, "w@bf16");
  const TensorGroup& values = group_called(problem, "w");
  const TensorGroup& scales = group_called(problem, "w.scale");
  EXPECT_EQ(original.making, Making::kNotMade);
  EXPECT_TRUE(problem.layouts[original.destination].shards.empty());
  EXPECT_EQ(values.making, Making::kAtSource);
  EXPECT_EQ(values.dtype, DType::kF8E4M3);
  EXPECT_EQ(problem.made_from[values.first], original.first);
  EXPECT_EQ(problem.made_from[scales.first], original.first);
  EXPECT_EQ(scales.dtype, DType::kF32);
  EXPECT_THAT(scales.shape, ElementsAre(4, 4));
  // Rank 1 holds rows 256 to 512, so it makes scale rows 2 and 3.
  const Layout& holders = problem.layouts[scales.source];
  ASSERT_EQ(holders.shards.size(), 2u);
  EXPECT_EQ(holders.shards[1].rank, 1);
  EXPECT_THAT(holders.shards[1].box.bounds, ElementsAre(2, 4, 0, 4));
  const Layout& receivers = problem.layouts[scales.destination];
  EXPECT_EQ(receivers.shards[1].rank, 5);
  EXPECT_THAT(receivers.shards[1].box.bounds, ElementsAre(0, 4, 2, 4));
  ASSERT_EQ(problem.conversions.size(), 1u);
  EXPECT_EQ(problem.conversions[0].tensor, "w");
  EXPECT_EQ(problem.conversions[0].to, "fp8-block128");
  EXPECT_FALSE(problem.conversions[0].split);
}

// Values and scales are a class of their own: a class is converted as a whole or not at all.
TEST(Conversion, DemandIsInTheNarrowType) {
  const Demand demand = make_demand(problem_of(job_text("[512, 512]", kTwoRows, kTwoColumns)));
  ASSERT_EQ(demand.classes.size(), 4u);  // two holders x two receivers
  for (const DemandClass& item : demand.classes) {
    EXPECT_TRUE(item.converts);
    EXPECT_EQ(item.bytes, 256 * 256 + 2 * 2 * 4);
  }
}

// 513 = 4 x 128 + 1: the last block has one row, and its scale.
TEST(Conversion, BlocksEndWithTheTensor) {
  const ReshardProblem problem =
      problem_of(job_text("[513, 128]", "mesh: {x: 1}, placements: [R], ranks: 0",
                          "mesh: {y: 2}, placements: [S(0)], sizes: {0: [512, 1]}, ranks: 4-5, "
                          "dtype: fp8-block128"));
  const TensorGroup& scales = group_called(problem, "w.scale");
  EXPECT_THAT(scales.shape, ElementsAre(5, 1));
  EXPECT_THAT(problem.layouts[scales.destination].shards[1].box.bounds, ElementsAre(4, 5, 0, 1));
}

// 384 rows over 4 ranks are 96 each: the source cuts blocks, so bf16 travels.
TEST(Conversion, ReceiversConvertWhereTheSourceCutsBlocks) {
  const ReshardProblem problem =
      problem_of(job_text("[384, 128]", "mesh: {x: 4}, placements: [S(0)], ranks: 0-3",
                          "mesh: {y: 1}, placements: [R], ranks: 4, dtype: fp8-block128"));
  const TensorGroup& original = group_called(problem, "w@bf16");
  EXPECT_EQ(group_called(problem, "w").making, Making::kAtDestination);
  ASSERT_EQ(problem.layouts[original.destination].shards.size(), 1u);
  ASSERT_EQ(problem.conversions.size(), 1u);
  ASSERT_TRUE(problem.conversions[0].split);
  EXPECT_EQ(problem.conversions[0].split->rank, 0);
  EXPECT_EQ(problem.conversions[0].split->dim, 0);
  EXPECT_EQ(problem.conversions[0].split->at, 96);
  const Demand demand = make_demand(problem);
  std::int64_t bytes = 0;
  for (const DemandClass& item : demand.classes) {
    EXPECT_FALSE(item.converts);
    bytes += item.bytes;
  }
  EXPECT_EQ(bytes, 384 * 128 * 2);
  // No schedule could move less than one byte per element.
  std::int64_t least = 0;
  for (const DemandClass& item : narrowest(problem, demand).classes) least += item.bytes;
  EXPECT_EQ(least, 384 * 128);
}

TEST(Conversion, TheNarrowerTypeTravels) {
  const auto making = [](const std::string& dtype) {
    return group_called(problem_of(job_text(
                            "[7, 3]", "mesh: {x: 2}, placements: [S(0)], ranks: 0-1",
                            "mesh: {y: 2}, placements: [S(1)], ranks: 4-5, dtype: " + dtype)),
                        "w")
        .making;
  };
  EXPECT_EQ(making("fp8-e4m3"), Making::kAtSource);
  EXPECT_EQ(making("fp16"), Making::kAtSource);  // as wide: before the wire
  EXPECT_EQ(making("fp32"), Making::kAtDestination);
  EXPECT_EQ(making("bf16"), Making::kNotMade);
}

// 256 rows over 4 ranks of the destination are 64 each.
TEST(Conversion, RefusesDestinationShardsThatCutBlocks) {
  EXPECT_THAT(
      error_of(job_text("[256, 256]", kTwoRows,
                        "mesh: {y: 4}, placements: [S(0)], ranks: 4-7, dtype: fp8-block128")),
      AllOf(HasSubstr("tensor w, destination, rank 4"), HasSubstr("at 64 along dimension 0"),
            HasSubstr("multiples of 128")));
  EXPECT_THAT(error_of(job_text("[4, 96]", "mesh: {x: 1}, placements: [R], ranks: 0",
                                "mesh: {y: 2}, placements: [S(1)], ranks: 4-5, dtype: mxfp8")),
              AllOf(HasSubstr("rank 4"), HasSubstr("at 48 along dimension 1"),
                    HasSubstr("multiples of 32")));
}

TEST(Conversion, RefusesTypesThatDoNotFit) {
  const std::string one = "mesh: {x: 1}, placements: [R], ranks: 0";
  const auto to = [&](const std::string& shape, const std::string& dtype) {
    return error_of(
        job_text(shape, one, "mesh: {y: 1}, placements: [R], ranks: 4, dtype: " + dtype));
  };
  EXPECT_THAT(to("[256]", "fp8-block128"), HasSubstr("expected at least two dimensions, found 1"));
  EXPECT_THAT(to("[4, 40]", "mxfp8"), HasSubstr("length 40 they do not divide"));
  EXPECT_THAT(to("[4, 64]", "nvfp4"), HasSubstr("four bits are planned in a later version"));
  EXPECT_THAT(to("[4, 64]", "fp7"), HasSubstr("dtype"));
  EXPECT_THAT(error_of(job_text("[4, 64]", one + ", dtype: mxfp8",
                                "mesh: {y: 1}, placements: [R], ranks: 4")),
              HasSubstr("a blockwise type on the source"));
}

// A name that is tied to w: its values are made from the same bytes.
TEST(Conversion, TiedNamesAreConvertedFromTheirSource) {
  const ReshardProblem problem = problem_of(job_text(
      "[256, 128]", kTwoRows, "mesh: {y: 1}, placements: [R], ranks: 4",
      ", also: [{name: head, destination: {mesh: {y: 1}, placements: [R], ranks: 5, dtype: "
      "fp8-block128}}]"));
  EXPECT_THAT(problem.names,
              ::testing::UnorderedElementsAre("w", "head@bf16", "head", "head.scale"));
  const TensorGroup& held = group_called(problem, "head@bf16");
  EXPECT_EQ(problem.source_tensor[held.first], group_called(problem, "w").first);
  EXPECT_EQ(problem.made_from[group_called(problem, "head").first], held.first);
}

}  // namespace
}  // namespace transload
