#include "tests/planner/schedule/check/expect_violation.h"

// Invariants 2 (acyclic under the issue rule) and 4 (issue limits).

namespace transload::testing {
namespace {

TEST(CheckOrder, KeysRiseWithIds) {
  expect_violation(edit(staged_plan(), [](PlanTables& t) { std::swap(t.op_key[3], t.op_key[4]); }),
                   "acyclic", {"operation 4", "key 3, not above key 4 of operation 3"});
  expect_violation(edit(staged_plan(), [](PlanTables& t) { t.op_key[4] = 3; }), "acyclic",
                   {"operation 4", "key 3"});
}

TEST(CheckOrder, EdgesRunForward) {
  expect_violation(
      edit(staged_plan(), [](PlanTables& t) { insert_edge(t.op_after_first, t.op_after, 3, 9); }),
      "acyclic", {"operation 3", "waits for operation 9"});
  expect_violation(
      edit(staged_plan(), [](PlanTables& t) { insert_edge(t.op_after_first, t.op_after, 3, 3); }),
      "acyclic", {"operation 3", "waits for operation 3"});
}

TEST(CheckOrder, StreamEdgesRunForward) {
  const CheckReport report = check_plan(edit(
      broadcast_plan(), [](PlanTables& t) { insert_edge(t.op_stream_first, t.op_stream, 1, 6); }));
  ASSERT_FALSE(report.violations.empty());
  EXPECT_EQ(report.violations[0].invariant, "acyclic");
  EXPECT_THAT(report.violations[0].text, ::testing::HasSubstr("streams from operation 6"));
}

TEST(CheckOrder, ProgramsAreByKey) {
  expect_violation(
      edit(staged_plan(), [](PlanTables& t) { std::swap(t.rank_op[0], t.rank_op[1]); }), "acyclic",
      {"program of rank 0"});
}

TEST(CheckOrder, StreamEdgesJoinHopsOnOneRankAndBundle) {
  const Plan plan = broadcast_plan();
  expect_violation(
      edit(plan, [](PlanTables& t) { insert_edge(t.op_stream_first, t.op_stream, 4, 2); }),
      "acyclic", {"operation 4", "operation 2", "hops of collectives only"});
  // Hop 0 -> 1 of round 1 starts on rank 0, where hop 0 -> 1 of round 0 does not land.
  expect_violation(
      edit(plan, [](PlanTables& t) { insert_edge(t.op_stream_first, t.op_stream, 6, 1); }),
      "acyclic", {"operation 6", "does not land on rank 0"});
  // Hop 1 -> 2 of round 1 carries another bundle than hop 0 -> 1 of round 0.
  expect_violation(
      edit(plan, [](PlanTables& t) { insert_edge(t.op_stream_first, t.op_stream, 7, 1); }),
      "acyclic", {"operation 7", "bundles differ"});
}

TEST(CheckPorts, KindsMustFit) {
  const HandPlan ports(2, 1);
  const auto with_ports = [](std::int32_t out, std::int32_t in) {
    return edit(direct_plan(), [=](PlanTables& t) {
      t.op_out_port[0] = out;
      t.op_in_port[0] = in;
    });
  };
  expect_right(with_ports(ports.port(0, PortKind::kNicOut), ports.port(1, PortKind::kNicIn)));
  for (const auto& [out, in] : {std::pair{PortKind::kNicIn, PortKind::kNicIn},
                                {PortKind::kNicOut, PortKind::kNicOut},
                                {PortKind::kNicOut, PortKind::kNvlinkIn},
                                {PortKind::kNvlinkOut, PortKind::kNicIn},
                                {PortKind::kPack, PortKind::kUnpack}})
    expect_violation(with_ports(ports.port(0, out), ports.port(1, in)), "acyclic",
                     {"operation 0", "not the two ends"});
  expect_violation(
      with_ports(ports.port(0, PortKind::kNvlinkOut), ports.port(1, PortKind::kNvlinkIn)),
      "acyclic", {"operation 0", "does not join two domains"});
}

TEST(CheckPorts, PortsBelongToTheRank) {
  const HandPlan ports(4, 2);
  // A NIC of the same node will do; one of another node will not.
  expect_right(edit(fan_out_plan(),
                    [&](PlanTables& t) { t.op_out_port[1] = ports.port(1, PortKind::kNicOut); }));
  expect_violation(
      edit(fan_out_plan(),
           [&](PlanTables& t) { t.op_out_port[1] = ports.port(2, PortKind::kNicOut); }),
      "acyclic", {"operation 1", "belongs to rank 2", "rank 0 cannot use"});
  expect_violation(
      edit(fan_out_plan(),
           [&](PlanTables& t) { t.op_in_port[3] = ports.port(2, PortKind::kNvlinkIn); }),
      "acyclic", {"operation 3", "belongs to rank 2", "rank 3 cannot use"});
  expect_violation(edit(fan_out_plan(),
                        [&](PlanTables& t) { t.op_out_port[0] = ports.port(1, PortKind::kPack); }),
                   "acyclic", {"operation 0", "belongs to rank 1"});
  expect_violation(
      edit(fan_out_plan(),
           [&](PlanTables& t) { t.op_out_port[0] = ports.port(0, PortKind::kNicOut); }),
      "acyclic", {"operation 0", "is for transfers"});
}

TEST(CheckPorts, RolesFitSlots) {
  expect_violation(
      edit(direct_plan(),
           [](PlanTables& t) { t.op_role[0] = static_cast<std::uint8_t>(OpRole::kLocal); }),
      "acyclic", {"operation 0", "a copy from shards to shards"});
  expect_violation(
      edit(fan_out_plan(),
           [](PlanTables& t) { t.op_role[0] = static_cast<std::uint8_t>(OpRole::kUnpack); }),
      "acyclic", {"operation 0", "a copy from a slot to shards"});
}

// --- Groups ---

TEST(CheckGroups, EveryTransferHasAGroup) {
  expect_violation(edit(grouped_plan(), [](PlanTables& t) { t.op_group[4] = kNone; }), "acyclic",
                   {"operation 4", "no group"});
}

TEST(CheckGroups, ReaderAndWriterInOneGroupDeadlock) {
  // The fan-out reads on rank 2 what the inject lands there: it must be issued a group later.
  const auto with_groups = [](std::int32_t inject, std::int32_t fan_out) {
    return edit(
        fan_out_plan(),
        [=](PlanTables& t) {
          t.op_group[1] = inject;
          t.op_group[3] = fan_out;
        },
        [](PlanHeader& header) { header.discipline = Discipline::kGroups; });
  };
  expect_right(with_groups(0, 1));
  expect_right(with_groups(3, 17));
  expect_violation(with_groups(0, 0), "acyclic",
                   {"deadlock", "operation 1", "issue of group 0 on rank 2", "3 operations"});
  expect_violation(with_groups(1, 0), "acyclic", {"deadlock", "operation 1"});
}

TEST(CheckGroups, AGroupAcrossRanksMayDeadlockToo) {
  // Rank 0 sends a to 1 in group 0 and c to 1 in group 1; rank 1 sends b to 0 in group 1. If a
  // waits for b's unpack (through rank 0), group 0 waits for group 1: each rank alone looks fine.
  const auto plan_with = [](std::int32_t group_of_b) {
    HandPlan plan(2, 1);
    plan.header.discipline = Discipline::kGroups;
    const std::vector<std::int64_t> shape = {4};
    const std::vector<std::int64_t> all = {0, 4};
    std::vector<std::int32_t> bundles;
    for (const std::uint32_t t : {0, 1}) {
      plan.builder.add_tensor(t == 0 ? "b" : "a", shape, DType::kF32);
      const std::vector<SliceSpec> slices = {{t, 1, 1, plan.builder.add_box(all)}};
      bundles.push_back(plan.builder.add_bundle(slices));
      const std::int32_t source = t == 0 ? 1 : 0;
      plan.builder.add_dense_shard(source, Side::kSource, t, 1, all);
      plan.builder.add_dense_shard(1 - source, Side::kDestination, t, 1, all);
    }
    const OpId b =
        plan.transfer(OpRole::kInject, 1, 0, bundles[0], 0, 16, kNone, kNone, {}, group_of_b);
    plan.transfer(OpRole::kInject, 0, 1, bundles[1], 0, 16, kNone, kNone, {b}, 1);
    return plan.seal();
  };
  expect_right(plan_with(0));
  expect_violation(plan_with(1), "acyclic", {"deadlock", "operation 0", "group 1"});
  expect_violation(plan_with(2), "acyclic", {"deadlock", "operation 0", "group 2"});
}

TEST(CheckGroups, ThePredecessorMayBeOnTheReceiver) {
  // Ranks 0 and 1 both land in one slot of rank 2, one after the other: two groups on rank 2,
  // although neither sender waits for anything of its own.
  const auto plan_with = [](std::int32_t second) {
    HandPlan plan(3, 1);
    plan.header.discipline = Discipline::kGroups;
    const std::vector<std::int64_t> shape = {4};
    const std::vector<std::int64_t> all = {0, 4};
    plan.builder.set_staging(2, SlotClass::kLand, 1, 16);
    std::vector<OpId> after;
    for (const std::int32_t source : {0, 1}) {
      const std::uint32_t t = plan.builder.add_tensor(source == 0 ? "a" : "b", shape, DType::kF32);
      plan.builder.add_dense_shard(source, Side::kSource, t, 1, all);
      plan.builder.add_dense_shard(2, Side::kDestination, t, 1, all);
      const std::vector<SliceSpec> slices = {{t, 1, 1, plan.builder.add_box(all)}};
      const std::int32_t bundle = plan.builder.add_bundle(slices);
      const OpId land = plan.transfer(OpRole::kInject, source, 2, bundle, 0, 16, kNone, 0, after,
                                      source == 0 ? 0 : second);
      after = {plan.copy(OpRole::kUnpack, 2, bundle, 0, 16, 0, kNone, {land})};
    }
    return plan.seal();
  };
  expect_right(plan_with(1));
  expect_violation(plan_with(0), "acyclic", {"deadlock", "operation 0", "group 0 on rank 2"});
}

TEST(CheckGroups, StreamsWaitForTheirUpstreamsGroup) {
  const auto with_groups = [](std::int32_t upstream, std::int32_t hop) {
    return edit(
        broadcast_plan(),
        [=](PlanTables& t) {
          t.op_group[1] = upstream;
          t.op_group[2] = hop;
          t.op_group[6] = upstream + 10;
          t.op_group[7] = hop + 10;
        },
        [](PlanHeader& header) { header.discipline = Discipline::kGroups; });
  };
  expect_right(with_groups(0, 0));  // a hop runs beside its upstream
  expect_right(with_groups(0, 1));
  // Rank 1 issues the hop a group before its upstream, which can then never start.
  expect_violation(with_groups(1, 0), "acyclic", {"deadlock", "operation 1", "group 1 on rank 1"});
}

TEST(CheckGroups, WindowsOfCopiesCount) {
  // On rank 0's pack port stands first the unpack of what arrives in group 1, then the pack of what
  // leaves in group 0. With a window of 1 the pack waits for the unpack, that for group 1, that for
  // group 0, that for the pack. With a window of 2 the pack is posted beside the unpack.
  const auto plan_with = [](std::uint32_t window) {
    HandPlan plan(2, 1, window);
    plan.header.discipline = Discipline::kGroups;
    PlanBuilder& builder = plan.builder;
    const std::vector<std::int64_t> shape = {4};
    const std::vector<std::int64_t> all = {0, 4};
    std::vector<std::int32_t> bundles;
    for (const std::uint32_t t : {0, 1}) {
      builder.add_tensor(t == 0 ? "a" : "b", shape, DType::kF32);
      const auto source = static_cast<std::int32_t>(1 - t);
      builder.add_dense_shard(source, Side::kSource, t, 1, all);
      builder.add_dense_shard(1 - source, Side::kDestination, t, 1, all);
      const std::vector<SliceSpec> slices = {{t, 1, 1, builder.add_box(all)}};
      bundles.push_back(builder.add_bundle(slices));
    }
    builder.set_staging(0, SlotClass::kSend, 2, 16);
    const OpId a = plan.transfer(OpRole::kInject, 1, 0, bundles[0], 0, 16, kNone, 0, {}, 1);
    plan.copy(OpRole::kUnpack, 0, bundles[0], 0, 16, 0, kNone, {a});
    const OpId pack = plan.copy(OpRole::kPack, 0, bundles[1], 0, 16, kNone, 1);
    plan.transfer(OpRole::kInject, 0, 1, bundles[1], 0, 16, 1, kNone, {pack}, 0);
    return edit(plan.seal(),
                [&](PlanTables& t) { t.op_out_port[1] = plan.port(0, PortKind::kPack); });
  };
  expect_right(plan_with(2));
  expect_violation(plan_with(1), "acyclic",
                   {"deadlock", "operation 0", "issue of group 1", "4 operations"});
}

// --- Issue limits ---

TEST(CheckLimits, TransfersOfAGroup) {
  expect_right(grouped_plan());
  // Chunks 2 and 3 in one group: two transfers on either rank where one is allowed.
  expect_violation(edit(grouped_plan(), [](PlanTables& t) { t.op_group[10] = 2; }), "issue-limits",
                   {"rank 0 has 2 transfers in group 2, the limit is 1"});
}

TEST(CheckLimits, PiecesOfStreams) {
  expect_violation(edit(broadcast_plan(), {}, [](PlanHeader& header) { header.piece_bytes = 0; }),
                   "issue-limits", {"operation 2", "piece_bytes is 0"});
}

}  // namespace
}  // namespace transload::testing
