#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/schedule/access.h"
#include "planner/schedule/check/check_plan.h"
#include "planner/strategy/strategy.h"

// Plans of jobs whose destination stores another type, with bytes by hand.

namespace transload {
namespace {

using ::testing::HasSubstr;

std::string job_text(const std::string& shape, const std::string& source,
                     const std::string& destination) {
  return "topology: {efficiency: 1, latency: 0, nodes: [{count: 8, gpus: 1, nic: 1GB/s}]}\n"
         "tensors:\n"
         "  - {name: w, shape: " +
         shape + ", dtype: bf16, source: {" + source + "}, destination: {" + destination + "}}\n" +
         "options: {chunk_bytes: 40000}\n";
}

Plan plan_of(const std::string& text, const std::string& strategy,
             Discipline discipline = Discipline::kWindows, const std::string& mode = "") {
  const Job job = job_from_text(text, "job.yaml", "");
  StrategyChoice choice;
  choice.name = strategy;
  choice.mode = mode;
  return make_plan(job, prepare(job), choice, discipline);
}

void expect_right(const Plan& plan) {
  const CheckReport report = check_plan(plan, 5);
  EXPECT_TRUE(report.ok) << (report.violations.empty() ? "" : report.violations[0].text);
}

struct Converts {
  std::size_t count = 0;
  std::uint64_t read = 0;
  std::uint64_t written = 0;
};

Converts converts(const Plan& plan) {
  Converts sum;
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (op_kind(plan, op) != OpKind::kConvert) continue;
    EXPECT_EQ(op_role(plan, op), OpRole::kConvert);
    ++sum.count;
    sum.read += plan.op_read_bytes[op];
    sum.written += plan.op_bytes[op];
  }
  return sum;
}

const char* const kOneSource = "mesh: {x: 1}, placements: [R], ranks: 0";
const char* const kOneDestination = "mesh: {y: 1}, placements: [R], ranks: 4, dtype: fp8-block128";

// One byte per element on the wire and 2 x 2 scales of 4 bytes; 2 bytes per element are read. Rows
// of blocks are 128 x 256 = 32,768 bytes, so chunks of 40,000 end there: two of them, and the
// scales are in the second.
TEST(Conversion, OneBytePerElementAndScalesOnTheWire) {
  for (const Discipline discipline : {Discipline::kWindows, Discipline::kGroups}) {
    const Plan plan =
        plan_of(job_text("[256, 256]", kOneSource, kOneDestination), "transload", discipline);
    expect_right(plan);
    const PlanTotals totals = plan_totals(plan);
    EXPECT_EQ(totals.network_bytes, 65536u + 16u);
    EXPECT_EQ(totals.payload_bytes, 65536u + 16u);
    const Converts sum = converts(plan);
    EXPECT_EQ(sum.count, 2u);
    EXPECT_EQ(sum.written, 65536u + 16u);
    EXPECT_EQ(sum.read, 2u * 65536u);
    for (OpId op = 0; op < plan.operations(); ++op)
      if (op_kind(plan, op) == OpKind::kConvert) {
        EXPECT_EQ(plan.op_begin[op] % 32768, 0u);
        EXPECT_GE(plan.op_destination_slot[op], 0);
      }
  }
}

TEST(Conversion, LocalRanksConvertInPlace) {
  const Plan plan = plan_of(
      job_text("[256, 256]", kOneSource, "mesh: {y: 1}, placements: [R], ranks: 0, dtype: mxfp8"),
      "transload");
  expect_right(plan);
  const PlanTotals totals = plan_totals(plan);
  EXPECT_EQ(totals.network_bytes, 0u);
  EXPECT_EQ(totals.payload_bytes, 65536u + 256u * 8u);  // one byte of scale per 32
  EXPECT_EQ(totals.local_bytes, 0u);
  for (OpId op = 0; op < plan.operations(); ++op) {
    EXPECT_EQ(op_kind(plan, op), OpKind::kConvert);
    EXPECT_EQ(plan.op_destination_slot[op], kNone);
  }
}

// 384 rows over four sources are 96 each: two bytes per element travel, and one operation behind
// them all makes 384 x 128 values and 3 scales.
TEST(Conversion, ReceiversConvertWhatArrived) {
  const std::string text =
      job_text("[384, 128]", "mesh: {x: 4}, placements: [S(0)], ranks: 0-3", kOneDestination);
  for (const char* strategy : {"transload", "p2p"}) {
    const Plan plan = plan_of(text, strategy);
    expect_right(plan);
    const PlanTotals totals = plan_totals(plan);
    EXPECT_EQ(totals.network_bytes, 2u * 384 * 128);
    EXPECT_EQ(totals.payload_bytes, 384u * 128 + 3 * 4);
    const Converts sum = converts(plan);
    EXPECT_EQ(sum.count, 1u);
    EXPECT_EQ(sum.read, 2u * 384 * 128);
    EXPECT_EQ(sum.written, 384u * 128 + 3 * 4);
    const auto convert = static_cast<OpId>(first_convert(plan));
    EXPECT_EQ(plan.op_source[convert], 4);
    EXPECT_EQ(op_after(plan, convert).size(), 4u);
    // The bound is of the narrower type: 384 x 128 bytes at 1 GB/s.
    EXPECT_DOUBLE_EQ(plan.header().bound_s, 384 * 128 / 1e9);
  }
}

TEST(Conversion, WideningCastsHappenOnTheReceiver) {
  const Plan plan = plan_of(job_text("[10, 3]", "mesh: {x: 2}, placements: [S(0)], ranks: 0-1",
                                     "mesh: {y: 2}, placements: [S(1)], ranks: 4-5, dtype: fp32"),
                            "p2p");
  expect_right(plan);
  EXPECT_EQ(plan_totals(plan).network_bytes, 2u * 30);
  EXPECT_EQ(plan_totals(plan).payload_bytes, 4u * 30);
  EXPECT_EQ(converts(plan).read, 2u * 30);
  EXPECT_EQ(converts(plan).written, 4u * 30);
}

// Perplexity's pipeline: what FSDP shards cut is gathered first (each of four trainers receives
// three quarters in bf16), then quantised where it was gathered, then written in fp8.
TEST(Conversion, FullTensorQuantisesTheGatheredCopy) {
  const std::string text =
      job_text("[384, 128]", "mesh: {x: 4}, placements: [S(0)], ranks: 0-3",
               "mesh: {y: 2}, placements: [R], ranks: 4-5, dtype: fp8-block128");
  for (const Discipline discipline : {Discipline::kWindows, Discipline::kGroups}) {
    const Plan plan = plan_of(text, "p2p", discipline, "full-tensor");
    expect_right(plan);
    std::uint64_t gathered = 0;
    std::uint64_t written = 0;
    for (OpId op = 0; op < plan.operations(); ++op)
      if (op_kind(plan, op) == OpKind::kTransfer)
        (plan.op_destination[op] < 4 ? gathered : written) += plan.op_bytes[op];
    EXPECT_EQ(gathered, 4u * 3 * 96 * 128 * 2);
    EXPECT_EQ(written, 2u * (384 * 128 + 3 * 4));
    // The two writers of two receivers.
    EXPECT_EQ(converts(plan).count, 2u);
    EXPECT_EQ(converts(plan).read, 2u * 2 * 384 * 128);
    EXPECT_THAT(plan.header().strategy_notes, HasSubstr("quantised"));
  }
}

TEST(Conversion, SystemsThatCannotSaySo) {
  const Job job =
      job_from_text(job_text("[256, 256]", kOneSource, kOneDestination), "job.yaml", "");
  const PlanningInput input = prepare(job);
  for (const StrategyInfo& info : strategies()) {
    StrategyChoice choice;
    choice.name = info.name;
    const std::vector<Unsupported> limits = refusals(job, input, choice);
    if (info.name == "transload" || info.name == "p2p") {
      EXPECT_TRUE(limits.empty()) << info.name;
      continue;
    }
    ASSERT_EQ(limits.size(), 1u) << info.name;
    EXPECT_THAT(limits[0].limit, HasSubstr("the same dtype on both sides"));
    EXPECT_EQ(limits[0].value, "bf16 to fp8-block128");
    EXPECT_EQ(limits[0].tensor, "w");
  }
}

}  // namespace
}  // namespace transload
