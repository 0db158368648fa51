#include "planner/schedule/plan_validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <set>
#include <string>

#include "common/error.h"
#include "planner/schedule/check/check_plan.h"
#include "tests/testing/hand_plans.h"

namespace transload::testing {
namespace {

using ::testing::HasSubstr;

std::string refusal(const Plan& plan) {
  try {
    validate_plan(plan, "some plan");
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

// 16 zero bytes behind the elements of every destination buffer of rank 2.
void add_fills(PlanTables& t) {
  for (std::uint64_t i = t.rank_buffer_first[2]; i < t.rank_buffer_first[3]; ++i) {
    if (static_cast<Side>(t.buffer_side[i]) != Side::kDestination) continue;
    t.fill_buffer.push_back(t.buffer_index[i]);
    t.fill_buffer_count.push_back(t.buffer_count[i]);
    t.fill_offset.push_back(t.buffer_bytes[i]);
    t.fill_bytes.push_back(16);
    t.buffer_bytes[i] += 16;
  }
  t.rank_fill_first[3] = t.fill_buffer.size();
}

// A plan in which no table is empty.
Plan full_plan() {
  return edit(broadcast_plan(), [](PlanTables& t) {
    t.copy_rate_first = {0, 1};
    t.copy_run_bytes = {128};
    t.copy_efficiency_ppm = {500'000};
    t.path_link_first = {0, 0, 1};
    t.path_link = {0};
    t.path_latency_ps = {0, 5};
    add_fills(t);
  });
}

// Columns in which any value (but 0 in the last two) is a value: facts, times, labels. All others
// must refuse an extreme one.
const std::set<std::string_view>& free_columns() {
  static const std::set<std::string_view> columns = {"names",
                                                     "rank_node",
                                                     "rank_domain",
                                                     "rank_memory_bytes",
                                                     "buffer_alignment",
                                                     "buffer_post_group",
                                                     "copy_run_bytes",
                                                     "op_key",
                                                     "op_collective",
                                                     "op_chunk",
                                                     "op_hop",
                                                     "op_run_bytes",
                                                     "shard_inner_count",
                                                     "port_window"};
  return columns;
}

// Columns whose rows other tables point at or name: a shorter or longer one cannot be seen by its
// length.
const std::set<std::string_view>& shared_columns() {
  static const std::set<std::string_view> columns = {"names", "extents", "bounds"};
  return columns;
}

template <class T>
std::vector<T> extremes() {
  constexpr T kMost = std::numeric_limits<T>::max();
  constexpr T kHalf = static_cast<T>(kMost / 2 + 1);
  if constexpr (std::is_signed_v<T>)
    return {kMost, kHalf, std::numeric_limits<T>::min(), static_cast<T>(-2)};
  else
    return {kMost, kHalf};
}

TEST(ValidatePlan, HandMadePlansAreWellFormed) {
  for (const Plan& plan : {direct_plan(), staged_plan(), grouped_plan(), fan_out_plan(),
                           broadcast_plan(), shared_plan(), full_plan(), HandPlan(1, 1).seal()})
    EXPECT_EQ(refusal(plan), "");
}

TEST(ValidatePlan, NoColumnIsEmptyInTheTestPlan) {
  const Plan plan = full_plan();
  Plan::visit_columns(plan, [](std::string_view name, const auto& column) {
    EXPECT_FALSE(column.empty()) << name;
  });
}

// Every entry of every index column, at extreme values: refused, naming the plan; where a value is
// accepted somewhere (an unused row, a free column), nobody who reads the plan may crash.
TEST(ValidatePlan, ExtremeValuesAreRefused) {
  const Plan plan = full_plan();
  std::vector<std::string> columns;
  Plan::visit_columns(plan,
                      [&](std::string_view name, const auto&) { columns.emplace_back(name); });
  for (const std::string& wanted : columns) {
    int refused = 0;
    int tried = 0;
    std::size_t rows = 0;
    Plan::visit_columns(plan, [&](std::string_view name, const auto& column) {
      if (name == wanted) rows = column.size();
    });
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t choice = 0; choice < 4; ++choice) {
        bool applies = false;
        const Plan broken = edit(plan, [&](PlanTables& tables) {
          PlanTables::visit_columns(tables, [&](std::string_view name, auto& column) {
            using T = typename std::decay_t<decltype(column)>::value_type;
            if (name != wanted || choice >= extremes<T>().size()) return;
            column[row] = extremes<T>()[choice];
            applies = true;
          });
        });
        if (!applies) continue;
        ++tried;
        const std::string text = refusal(broken);
        if (text.empty())
          check_plan(broken);
        else
          EXPECT_THAT(text, HasSubstr("some plan")) << wanted << " row " << row;
        refused += text.empty() ? 0 : 1;
      }
    }
    if (free_columns().contains(wanted)) continue;
    EXPECT_GT(refused, 0) << wanted << ": none of " << tried << " extreme values is refused";
  }
}

// The columns that point somewhere refuse their largest value in every row.
TEST(ValidatePlan, EveryRowOfEveryIndexIsLookedAt) {
  const Plan plan = full_plan();
  const std::vector<std::string> indices = {"tensor_name",
                                            "tensor_shape",
                                            "tensor_dims",
                                            "tensor_dtype",
                                            "tensor_source",
                                            "rank_gpu_model",
                                            "rank_buffer_first",
                                            "rank_shard_first",
                                            "rank_fill_first",
                                            "rank_op_first",
                                            "rank_op",
                                            "buffer_index",
                                            "buffer_side",
                                            "buffer_class",
                                            "buffer_commit",
                                            "buffer_name",
                                            "fill_buffer",
                                            "fill_buffer_count",
                                            "fill_offset",
                                            "fill_bytes",
                                            "shard_side",
                                            "shard_tensor_first",
                                            "shard_tensor_count",
                                            "shard_box",
                                            "shard_buffer",
                                            "shard_bit_offset",
                                            "shard_loop_first",
                                            "shard_loops",
                                            "loop_dim",
                                            "loop_length",
                                            "loop_stride_bits",
                                            "slice_tensor_first",
                                            "slice_tensor_count",
                                            "slice_tensor_step",
                                            "slice_box",
                                            "bundle_slice_first",
                                            "bundle_bytes",
                                            "link_kind",
                                            "link_name",
                                            "port_kind",
                                            "port_rank",
                                            "port_link",
                                            "port_name",
                                            "path_link_first",
                                            "path_link",
                                            "copy_rate_first",
                                            "op_kind",
                                            "op_role",
                                            "op_source",
                                            "op_destination",
                                            "op_out_port",
                                            "op_in_port",
                                            "op_out_path",
                                            "op_in_path",
                                            "op_bundle",
                                            "op_begin",
                                            "op_bytes",
                                            "op_after_first",
                                            "op_after",
                                            "op_stream_first",
                                            "op_stream"};
  for (const std::string& wanted : indices) {
    bool found = false;
    std::size_t rows = 0;
    Plan::visit_columns(plan, [&](std::string_view name, const auto& column) {
      found |= name == wanted;
      if (name == wanted) rows = column.size();
    });
    ASSERT_TRUE(found) << wanted;
    for (std::size_t row = 0; row < rows; ++row) {
      const Plan broken = edit(plan, [&](PlanTables& tables) {
        PlanTables::visit_columns(tables, [&](std::string_view name, auto& column) {
          using T = typename std::decay_t<decltype(column)>::value_type;
          if (name == wanted) column[row] = std::numeric_limits<T>::max();
        });
      });
      EXPECT_NE(refusal(broken), "") << wanted << " row " << row;
    }
  }
}

TEST(ValidatePlan, ThePathOfEveryPlanBeginsEmpty) {
  EXPECT_THAT(refusal(edit(full_plan(), [](PlanTables& t) { t.path_latency_ps[0] = 1; })),
              HasSubstr("an empty first path"));
  EXPECT_THAT(refusal(edit(full_plan(),
                           [](PlanTables& t) {
                             t.path_link_first = {0, 1, 1};
                           })),
              HasSubstr("an empty first path"));
  // A path for an operation that never leaves its rank.
  EXPECT_THAT(refusal(edit(staged_plan(),
                           [](PlanTables& t) {
                             t.path_link_first = {0, 0, 1};
                             t.path_link = {0};
                             t.path_latency_ps = {0, 0};
                             for (std::size_t op = 0; op < t.op_kind.size(); ++op)
                               if (t.op_kind[op] == static_cast<std::uint8_t>(OpKind::kCopy))
                                 t.op_out_path[op] = 1;
                           })),
              HasSubstr("the empty path for an operation of one rank"));
}

TEST(ValidatePlan, SlotsAreLookedAt) {
  for (OpId op = 0; op < full_plan().operations(); ++op) {
    for (const std::int32_t slot : {1, -2, std::numeric_limits<std::int32_t>::max()}) {
      EXPECT_NE(refusal(edit(full_plan(), [=](PlanTables& t) { t.op_source_slot[op] = slot; })),
                "");
      EXPECT_NE(
          refusal(edit(full_plan(), [=](PlanTables& t) { t.op_destination_slot[op] = slot; })), "");
    }
  }
  // The bucket has room for 256 bytes; one less is too little for the bundle of 256.
  EXPECT_THAT(refusal(edit(full_plan(),
                           [](PlanTables& t) {
                             t.staging_slot_bytes[static_cast<std::size_t>(SlotClass::kBucket)] =
                                 255;
                           })),
              HasSubstr("a slot that has room"));
}

TEST(ValidatePlan, LengthsMustAgree) {
  const Plan plan = full_plan();
  std::vector<std::string> columns;
  Plan::visit_columns(plan,
                      [&](std::string_view name, const auto&) { columns.emplace_back(name); });
  for (const std::string& wanted : columns) {
    if (shared_columns().contains(wanted)) continue;
    for (const bool longer : {false, true}) {
      const Plan broken = edit(plan, [&](PlanTables& tables) {
        PlanTables::visit_columns(tables, [&](std::string_view name, auto& column) {
          if (name == wanted) column.resize(longer ? column.size() + 1 : column.size() - 1);
        });
      });
      EXPECT_NE(refusal(broken), "") << wanted << (longer ? " longer" : " shorter");
    }
  }
  for (const std::string_view shared : {"names", "extents", "bounds"}) {
    const Plan broken = edit(plan, [&](PlanTables& tables) {
      PlanTables::visit_columns(tables, [&](std::string_view name, auto& column) {
        if (name == shared) column.clear();
      });
    });
    EXPECT_NE(refusal(broken), "") << shared;
  }
}

TEST(ValidatePlan, ZeroWhereOneIsTheLeast) {
  const auto with_zero = [](const std::function<void(PlanTables&)>& change) {
    return refusal(edit(full_plan(), change));
  };
  EXPECT_THAT(with_zero([](PlanTables& t) { t.port_window[0] = 0; }), HasSubstr("port_window"));
  EXPECT_THAT(with_zero([](PlanTables& t) { t.slice_tensor_step[0] = 0; }), HasSubstr("slices"));
  EXPECT_THAT(with_zero([](PlanTables& t) { t.slice_tensor_count[0] = 0; }), HasSubstr("slices"));
  EXPECT_THAT(with_zero([](PlanTables& t) { t.shard_tensor_count[0] = 0; }), HasSubstr("shards"));
  EXPECT_THAT(with_zero([](PlanTables& t) { t.shard_inner_count[0] = 0; }),
              HasSubstr("shard_inner_count"));
  EXPECT_THAT(with_zero([](PlanTables& t) { t.link_efficiency_ppm[0] = 0; }),
              HasSubstr("link_efficiency_ppm"));
  EXPECT_THAT(with_zero([](PlanTables& t) { t.copy_efficiency_ppm[0] = 0; }),
              HasSubstr("copy_efficiency_ppm"));
}

TEST(ValidatePlan, RangesOfUnlikeTensorsAreRefused) {
  // Tensor 1 of the source's range of four has another dtype.
  EXPECT_THAT(refusal(edit(full_plan(),
                           [](PlanTables& t) {
                             t.tensor_dtype[1] = static_cast<std::uint8_t>(DType::kBF16);
                           })),
              HasSubstr("one shape and dtype"));
}

// One rank with three destination buffers of 64 bytes and one source buffer (number 3).
std::string refusal_of_fills(const std::vector<std::array<std::uint64_t, 4>>& fills) {
  HandPlan plan(2, 1);
  plan.builder.add_buffers(0, Side::kDestination, 64, 3);
  plan.builder.add_buffers(0, Side::kSource, 64, 1);
  for (const auto& [buffer, count, offset, bytes] : fills)
    plan.builder.add_fill(0, static_cast<std::uint32_t>(buffer), static_cast<std::uint32_t>(count),
                          offset, bytes);
  return refusal(plan.seal());
}

TEST(ValidatePlan, FillsLieInDestinationBuffersApart) {
  EXPECT_EQ(refusal_of_fills({{0, 3, 0, 64}}), "");
  EXPECT_EQ(refusal_of_fills({{0, 3, 0, 8}, {0, 1, 8, 8}, {1, 2, 16, 8}, {2, 1, 8, 8}}), "");
  EXPECT_THAT(refusal_of_fills({{0, 3, 1, 64}}), HasSubstr("a fill inside its buffer"));
  EXPECT_THAT(refusal_of_fills({{2, 2, 0, 8}}), HasSubstr("a destination buffer"));
  EXPECT_THAT(refusal_of_fills({{3, 2, 0, 8}}), HasSubstr("buffers of its rank"));
  // The first reaches over all three buffers, the second meets it in the last.
  EXPECT_THAT(refusal_of_fills({{0, 3, 0, 8}, {2, 1, 7, 8}}), HasSubstr("no other fill"));
  EXPECT_THAT(refusal_of_fills({{0, 3, 8, 8}, {2, 1, 1, 8}}), HasSubstr("no other fill"));
  EXPECT_THAT(refusal_of_fills({{0, 1, 0, 8}, {0, 2, 4, 1}}), HasSubstr("no other fill"));
  // The first ends where the second begins.
  EXPECT_EQ(refusal_of_fills({{0, 2, 0, 8}, {2, 1, 0, 8}}), "");
}

TEST(ValidatePlan, AnotherNameIsOfAnEarlierTensorThatIsAlike) {
  HandPlan plan(1, 1);
  const std::vector<std::int64_t> shape = {4};
  const std::vector<std::int64_t> long_shape = {5};
  const std::vector<std::int64_t> all = {0, 4};
  for (const char* name : {"a", "b", "c", "d"}) plan.builder.add_tensor(name, shape, DType::kF32);
  plan.builder.add_tensor("half", shape, DType::kBF16);
  plan.builder.add_tensor("long", long_shape, DType::kF32);
  plan.builder.add_dense_shard(0, Side::kSource, 3, 1, all);
  const Plan sealed = plan.seal();
  const auto with_source = [&](std::size_t tensor, std::uint32_t source) {
    return refusal(edit(sealed, [=](PlanTables& t) { t.tensor_source[tensor] = source; }));
  };
  EXPECT_EQ(with_source(1, 0), "");
  EXPECT_THAT(with_source(0, 1), HasSubstr("an earlier tensor"));
  EXPECT_THAT(with_source(4, 0), HasSubstr("same shape and dtype"));
  EXPECT_THAT(with_source(5, 0), HasSubstr("same shape and dtype"));
  EXPECT_THAT(with_source(3, 0), HasSubstr("not of another name"));
  EXPECT_THAT(refusal(edit(sealed,
                           [](PlanTables& t) {
                             t.tensor_source[1] = 0;
                             t.tensor_source[2] = 1;
                           })),
              HasSubstr("its own source"));
}

// Rows are found by binary search, so a rank's rows out of order are not well formed.
TEST(ValidatePlan, ShardRowsStandInOrder) {
  const Plan plan = broadcast_plan();
  ASSERT_GE(plan.rank_shard_first[2] - plan.rank_shard_first[1], 2u);
  EXPECT_THAT(refusal(edit(plan,
                           [](PlanTables& t) {
                             const std::uint64_t row = t.rank_shard_first[1];
                             std::swap(t.shard_tensor_first[row], t.shard_tensor_first[row + 1]);
                           })),
              HasSubstr("by side and first tensor"));
}

// Every buffer that a row touches is looked at, also the last of many rows of the buffer table.
TEST(ValidatePlan, EveryBufferOfAShardMustBeLongEnough) {
  HandPlan plan(1, 1);
  const std::vector<std::int64_t> shape = {4};
  const std::vector<std::int64_t> all = {0, 4};
  for (const char* name : {"a", "b", "c"}) plan.builder.add_tensor(name, shape, DType::kF32);
  for (int i = 0; i < 5; ++i) plan.builder.add_buffers(0, Side::kSource, 16, 1);
  ShardSpec shard;
  shard.tensor_count = 3;
  shard.box = plan.builder.add_box(all);
  shard.buffer = 1;  // buffers 1 to 3
  shard.loops = {{0, 4, 32}};
  plan.builder.add_shard(0, shard);
  const Plan sealed = plan.seal();
  EXPECT_EQ(refusal(sealed), "");
  for (const std::size_t buffer : {0u, 1u, 2u, 3u, 4u}) {
    const bool touched = buffer >= 1 && buffer <= 3;
    EXPECT_THAT(refusal(edit(sealed, [=](PlanTables& t) { t.buffer_bytes[buffer] = 15; })),
                HasSubstr(touched ? "inside its buffer" : ""));
    EXPECT_EQ(refusal(edit(sealed, [=](PlanTables& t) { t.buffer_side[buffer] = 1; })).empty(),
              !touched);
  }
}

TEST(ValidatePlan, TransfersJoinTwoRanks) {
  EXPECT_THAT(refusal(edit(direct_plan(),
                           [](PlanTables& t) {
                             t.op_destination[0] = 0;
                             t.rank_op_first = {0, 1, 1};
                             t.rank_op = {0};
                           })),
              HasSubstr("between two ranks"));
}

}  // namespace
}  // namespace transload::testing
