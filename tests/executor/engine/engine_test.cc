#include "executor/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "common/error.h"
#include "tests/executor/small_plans.h"

namespace transload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Remembers how far every operation has come and what was out of order.
class RecordingBackend : public Backend {
 public:
  explicit RecordingBackend(const Plan& plan) : plan_(plan), landed_(plan.operations(), 0) {}

  void move(OpId op, std::uint64_t begin, std::uint64_t bytes) override {
    {
      const std::lock_guard lock(mutex_);
      largest_ = std::max(largest_, bytes);
      ++moves_;
      order_.push_back(op);
      if (begin != plan_.op_begin[op] + landed_[op]) ++disorders_;
      for (OpId up : op_stream(plan_, op)) check_upstream(up, op, begin, bytes);
      for (OpId before : op_after(plan_, op))
        if (landed_[before] != plan_.op_bytes[before]) ++disorders_;
    }
    if (delay_ > std::chrono::milliseconds(0)) std::this_thread::sleep_for(delay_);
    if (static_cast<std::int64_t>(op) == failing_) throw InputError("no such element");
    const std::lock_guard lock(mutex_);
    landed_[op] += bytes;
  }

  bool complete() const {
    for (OpId op = 0; op < landed_.size(); ++op)
      if (landed_[op] != plan_.op_bytes[op]) return false;
    return true;
  }
  int disorders() const { return disorders_; }
  std::uint64_t largest() const { return largest_; }
  std::uint64_t moves() const { return moves_; }
  const std::vector<OpId>& order() const { return order_; }
  void set_delay(std::chrono::milliseconds delay) { delay_ = delay; }
  void fail_at(OpId op) { failing_ = op; }

 private:
  void check_upstream(OpId up, OpId op, std::uint64_t begin, std::uint64_t bytes) {
    if (plan_.op_bundle[up] != plan_.op_bundle[op]) return;
    const std::uint64_t needed =
        std::min(begin + bytes, plan_.op_begin[up] + plan_.op_bytes[up]);  // of up's range
    if (std::max(begin, plan_.op_begin[up]) < needed && plan_.op_begin[up] + landed_[up] < needed)
      ++disorders_;
  }

  const Plan& plan_;
  std::mutex mutex_;
  std::vector<std::uint64_t> landed_;
  int disorders_ = 0;
  std::uint64_t largest_ = 0;
  std::uint64_t moves_ = 0;
  std::vector<OpId> order_;
  std::chrono::milliseconds delay_{0};
  std::int64_t failing_ = -1;
};

// `hops` transfers in a row, each streaming from the one before.
SmallPlan stream_chain(int hops, std::int64_t elements) {
  SmallPlan small(hops + 1, 1);
  const std::uint32_t tensor = small.tensor("w", {elements});
  const std::int32_t bundle = small.bundle(tensor, {0, elements});
  std::vector<OpId> up;
  for (std::int32_t hop = 0; hop < hops; ++hop)
    up = {small.add(small.transfer(hop, hop + 1, bundle, OpRole::kCollective), {}, up)};
  return small;
}

TEST(Engine, FiveHundredStreamHopsNeedOneThread) {
  for (unsigned threads : {1u, 2u}) {
    SmallPlan small = stream_chain(500, 1000);
    small.header.piece_bytes = 400;
    const Plan plan = small.seal();
    RecordingBackend backend(plan);
    ThreadPool pool(threads);
    Engine(plan, backend, pool, {}).run();
    EXPECT_TRUE(backend.complete());
    EXPECT_EQ(backend.disorders(), 0);
    EXPECT_EQ(backend.largest(), 400u);
    EXPECT_EQ(backend.moves(), 500u * 5) << "2000 bytes in pieces of 400";
  }
}

TEST(Engine, PieceOfZeroBytesMeansAllThatHasLanded) {
  const Plan plan = stream_chain(3, 1000).seal();
  RecordingBackend backend(plan);
  ThreadPool pool(1);
  Engine(plan, backend, pool, {}).run();
  EXPECT_EQ(backend.moves(), 3u);
  EXPECT_EQ(backend.largest(), 2000u);
}

TEST(Engine, StreamHopsFollowPieceByPiece) {
  SmallPlan small = stream_chain(2, 1000);
  small.header.piece_bytes = 500;
  const Plan plan = small.seal();
  RecordingBackend backend(plan);
  ThreadPool pool(1);
  Engine(plan, backend, pool, {}).run();
  // Four pieces each; the second hop does not wait for the whole of the first.
  EXPECT_THAT(backend.order(), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
}

TEST(Engine, StreamHopsMoveOnlyWhatHasLanded) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return random() % n; };
    SmallPlan small(8, 64);
    const std::uint32_t tensor = small.tensor("w", {500});
    const std::array<std::int32_t, 2> bundles{small.bundle(tensor, {0, 500}),
                                              small.bundle(tensor, {0, 400})};
    std::vector<OpId> ops;
    for (int i = 0; i < 40; ++i) {
      const auto source = static_cast<std::int32_t>(below(8));
      const auto destination = static_cast<std::int32_t>((source + 1 + below(7)) % 8);
      OpSpec op =
          small.transfer(source, destination, bundles[below(4) == 0 ? 1 : 0], OpRole::kCollective);
      // Ranges that begin and end anywhere, sometimes empty.
      op.begin = below(op.bytes);
      op.bytes = below(5) == 0 ? 0 : below(op.bytes - op.begin + 1);
      std::vector<OpId> after, stream;
      for (OpId before : ops)
        if (below(10) == 0) (below(3) == 0 ? after : stream).push_back(before);
      ops.push_back(small.add(op, after, stream));
    }
    small.header.piece_bytes = below(3) == 0 ? 0 : 1 + below(200);
    const Plan plan = small.seal();
    RecordingBackend backend(plan);
    ThreadPool pool(1 + seed % 3);
    EngineOptions options;
    options.trace = true;
    const EngineReport report = Engine(plan, backend, pool, options).run();
    EXPECT_TRUE(backend.complete());
    EXPECT_EQ(backend.disorders(), 0) << "seed " << seed;
    for (OpId op = 0; op < plan.operations(); ++op)
      for (OpId up : op_stream(plan, op)) {
        EXPECT_LE(report.times.start_s[up], report.times.start_s[op]);
        EXPECT_LE(report.times.finish_s[up], report.times.finish_s[op]);
      }
  }
}

SmallPlan many_transfers(int count, Discipline discipline) {
  SmallPlan small(4, 2);
  small.header.discipline = discipline;
  const std::uint32_t tensor = small.tensor("layers.7.w", {64});
  const std::int32_t bundle = small.bundle(tensor, {0, 64});
  for (int i = 0; i < count; ++i) {
    OpSpec op = small.transfer(i % 4, (i + 1 + i / 4 % 3) % 4, bundle);
    if (discipline == Discipline::kGroups) op.group = i / 8;
    small.add(op);
  }
  return small;
}

TEST(Engine, PostsInTheOrderOfThePlan) {
  for (Discipline discipline :
       {Discipline::kWindows, Discipline::kGroups, Discipline::kUnbounded}) {
    const Plan plan = many_transfers(96, discipline).seal();
    RecordingBackend backend(plan);
    ThreadPool pool(2);
    EngineOptions options;
    options.trace = true;
    const EngineReport report = Engine(plan, backend, pool, options).run();
    EXPECT_TRUE(backend.complete());
    const PortLists lists = port_lists(plan);
    ASSERT_EQ(report.posting_order.size(), plan.ports());
    for (std::size_t port = 0; port < plan.ports(); ++port) {
      const auto list = lists.of(port);
      EXPECT_EQ(report.posting_order[port], std::vector<OpId>(list.begin(), list.end()));
    }
    for (OpId op = 0; op < plan.operations(); ++op) {
      EXPECT_LE(report.times.posted_source_s[op], report.times.start_s[op]);
      EXPECT_LE(report.times.posted_destination_s[op], report.times.start_s[op]);
      EXPECT_LE(report.times.start_s[op], report.times.finish_s[op]);
      EXPECT_LE(report.times.finish_s[op], report.seconds + 1e-3);
    }
  }
}

TEST(Engine, HostWorkAndFencesMoveNothing) {
  SmallPlan small(2);
  const std::uint32_t tensor = small.tensor("w", {8});
  const std::int32_t bundle = small.bundle(tensor, {0, 8});
  OpSpec host;
  host.kind = OpKind::kHost;
  host.role = OpRole::kExport;
  host.out_port = SmallPlan::port(0, PortKind::kPack);
  host.cost_ps = 1'000'000'000'000;  // simulated only
  OpSpec fence;
  fence.kind = OpKind::kFence;
  fence.role = OpRole::kBarrier;
  const OpId exported = small.add(host);
  const OpId barrier = small.add(fence, {exported});
  OpSpec empty = small.transfer(0, 1, bundle);
  empty.bytes = 0;
  const OpId nothing = small.add(empty, {barrier});
  small.add(small.transfer(0, 1, bundle), {nothing});
  const Plan plan = small.seal();
  RecordingBackend backend(plan);
  ThreadPool pool(2);
  const EngineReport report = Engine(plan, backend, pool, {}).run();
  EXPECT_EQ(backend.moves(), 1u);
  EXPECT_LT(report.seconds, 0.9);
}

TEST(Engine, AnEmptyPlanIsDone) {
  const Plan plan = SmallPlan(1).seal();
  RecordingBackend backend(plan);
  ThreadPool pool(2);
  EXPECT_EQ(Engine(plan, backend, pool, {}).run().seconds, 0);
}

std::string failure_of(const Plan& plan, Backend& backend, const EngineOptions& options) {
  ThreadPool pool(2);
  try {
    Engine(plan, backend, pool, options).run();
  } catch (const RunFailure& failure) {
    return failure.what();
  }
  return "no failure";
}

TEST(Engine, ACycleEndsAtOnceAndNamesAnOperation) {
  SmallPlan small(3);
  const std::uint32_t tensor = small.tensor("w", {8});
  const std::int32_t bundle = small.bundle(tensor, {0, 8});
  small.add(small.transfer(0, 1, bundle));
  const OpId first = small.add(small.transfer(1, 2, bundle, OpRole::kForward));
  const OpId second = small.add(small.transfer(2, 1, bundle));
  small.builder.add_after(first, second);
  small.builder.add_after(second, first);
  const Plan plan = small.seal();
  RecordingBackend backend(plan);
  const auto begin = std::chrono::steady_clock::now();
  const std::string failure = failure_of(plan, backend, {});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_THAT(failure, HasSubstr("rank 1 -> rank 2, operation 1 (forward of 16 B, tensor w)"));
  EXPECT_THAT(failure, HasSubstr("cycle"));
  EXPECT_THAT(failure, HasSubstr("2 of 3 operations are unfinished"));
}

TEST(Engine, AStallNamesTheOperationThatIsMoving) {
  const Plan plan = many_transfers(3, Discipline::kWindows).seal();
  RecordingBackend backend(plan);
  backend.set_delay(std::chrono::milliseconds(400));
  EngineOptions options;
  options.stall_s = 0.05;
  const std::string failure = failure_of(plan, backend, options);
  EXPECT_THAT(failure, HasSubstr("rank 0 -> rank 1, operation 0"));
  EXPECT_THAT(failure, HasSubstr("tensor layers.7.w"));
  EXPECT_THAT(failure, HasSubstr("nothing has moved for 0.05 s"));
}

TEST(Engine, ADeadlineEndsARunThatStillMoves) {
  const Plan plan = many_transfers(2000, Discipline::kWindows).seal();
  RecordingBackend backend(plan);
  backend.set_delay(std::chrono::milliseconds(5));
  EngineOptions options;
  options.deadline_s = 0.1;
  EXPECT_THAT(failure_of(plan, backend, options), HasSubstr("the deadline of 0.1 s passed"));
  EXPECT_FALSE(backend.complete());
}

TEST(Engine, WhatABackendThrowsEndsTheRun) {
  const Plan plan = many_transfers(2000, Discipline::kWindows).seal();
  RecordingBackend backend(plan);
  backend.fail_at(7);
  ThreadPool pool(2);
  EXPECT_THROW(Engine(plan, backend, pool, {}).run(), InputError);
  EXPECT_FALSE(backend.complete());
}

}  // namespace
}  // namespace transload
