#include "planner/schedule/issue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/testing/hand_plans.h"
#include "tests/testing/random_plan.h"

// The issue rule under random speeds: whatever order operations start and finish in, each becomes
// ready once, in its turn, and all of them do.

namespace transload::testing {
namespace {

class RandomExecution {
 public:
  RandomExecution(const Plan& plan, std::mt19937_64& random)
      : plan_(plan),
        random_(random),
        state_(plan, [this](OpId op, std::int32_t port) { posted(op, port); }),
        postings_(plan.operations(), 0),
        seen_(plan.operations(), 0),
        started_(plan.operations(), false),
        finished_(plan.operations(), false),
        open_(plan.ports(), 0) {}

  void run() {
    std::vector<OpId> ready;
    state_.begin(ready);
    if (plan_.header().discipline == Discipline::kUnbounded) expect_all_posted();
    take(ready);
    while (state_.unfinished() > 0 && !::testing::Test::HasFailure()) {
      std::vector<OpId> may_finish;
      for (const OpId op : running_) {
        const auto upstream = op_stream(plan_, op);
        if (std::all_of(upstream.begin(), upstream.end(), [&](OpId u) { return finished_[u]; }))
          may_finish.push_back(op);
      }
      const std::size_t choices = ready_.size() + may_finish.size();
      ASSERT_GT(choices, 0u) << "stalled at operation " << state_.least_unfinished();
      const std::size_t choice = random_() % choices;
      ready.clear();
      if (choice < ready_.size())
        start(ready_[choice], ready);
      else
        finish(may_finish[choice - ready_.size()], ready);
      take(ready);
    }
    for (OpId op = 0; op < plan_.operations(); ++op) EXPECT_EQ(seen_[op], 1) << op;
    EXPECT_EQ(state_.least_unfinished(), plan_.operations());
  }

  const std::map<std::int32_t, std::vector<OpId>>& posting_order() const { return order_; }
  std::uint32_t most_open() const { return most_open_; }

 private:
  bool transfer(OpId op) const { return op_kind(plan_, op) == OpKind::kTransfer; }
  bool grouped(OpId op) const {
    return plan_.header().discipline == Discipline::kGroups && transfer(op);
  }

  void posted(OpId op, std::int32_t port) {
    EXPECT_TRUE(port == plan_.op_out_port[op] || port == plan_.op_in_port[op]);
    ++postings_[op];
    order_[port].push_back(op);
    if (grouped(op)) {
      expect_groups_before_are_over(
          op, port == plan_.op_out_port[op] ? plan_.op_source[op] : plan_.op_destination[op]);
      return;
    }
    const auto p = static_cast<std::size_t>(port);
    most_open_ = std::max(most_open_, ++open_[p]);
    const auto kind = static_cast<PortKind>(plan_.port_kind[p]);
    const bool passive =
        plan_.header().one_sided && (kind == PortKind::kNicIn || kind == PortKind::kNvlinkIn);
    if (plan_.header().discipline != Discipline::kUnbounded && !passive) {
      EXPECT_LE(open_[p], plan_.port_window[p]) << "port " << port;
    }
  }

  void expect_groups_before_are_over(OpId op, std::int32_t rank) {
    for (const OpId other : program(plan_, rank)) {
      if (!transfer(other)) continue;
      if (plan_.op_group[other] < plan_.op_group[op]) {
        EXPECT_TRUE(finished_[other]) << "operation " << op << " posted before " << other;
      }
      if (plan_.op_group[other] != plan_.op_group[op]) continue;
      for (const OpId before : op_after(plan_, other))
        if (plan_.op_source[before] == rank || plan_.op_destination[before] == rank) {
          EXPECT_TRUE(finished_[before]);
        }
    }
  }

  void expect_all_posted() const {
    for (OpId op = 0; op < plan_.operations(); ++op)
      EXPECT_EQ(postings_[op],
                (plan_.op_out_port[op] >= 0 ? 1 : 0) + (plan_.op_in_port[op] >= 0 ? 1 : 0));
  }

  void take(const std::vector<OpId>& ready) {
    for (const OpId op : ready) {
      EXPECT_EQ(seen_[op]++, 0) << "operation " << op << " became ready twice";
      EXPECT_EQ(postings_[op],
                (plan_.op_out_port[op] >= 0 ? 1 : 0) + (plan_.op_in_port[op] >= 0 ? 1 : 0));
      for (const OpId before : op_after(plan_, op)) EXPECT_TRUE(finished_[before]);
      for (const OpId upstream : op_stream(plan_, op)) EXPECT_TRUE(started_[upstream]);
      ready_.push_back(op);
    }
  }

  void start(OpId op, std::vector<OpId>& ready) {
    ready_.erase(std::find(ready_.begin(), ready_.end(), op));
    running_.push_back(op);
    started_[op] = true;
    state_.started(op, ready);
  }

  void finish(OpId op, std::vector<OpId>& ready) {
    running_.erase(std::find(running_.begin(), running_.end(), op));
    finished_[op] = true;
    if (!grouped(op))
      for (const std::int32_t port : {plan_.op_out_port[op], plan_.op_in_port[op]})
        if (port >= 0) --open_[static_cast<std::size_t>(port)];
    state_.finished(op, ready);
  }

  const Plan& plan_;
  std::mt19937_64& random_;
  IssueState state_;
  std::vector<int> postings_;
  std::vector<int> seen_;
  std::vector<bool> started_;
  std::vector<bool> finished_;
  std::vector<std::uint32_t> open_;
  std::uint32_t most_open_ = 0;
  std::vector<OpId> ready_;
  std::vector<OpId> running_;
  std::map<std::int32_t, std::vector<OpId>> order_;
};

Plan with_discipline(const Plan& plan, Discipline discipline, bool one_sided = false) {
  return edit(plan, {}, [=](PlanHeader& header) {
    header.discipline = discipline;
    header.one_sided = one_sided;
  });
}

void expect_ports_in_key_order(const Plan& plan, const RandomExecution& execution) {
  const PortLists lists = port_lists(plan);
  for (std::size_t port = 0; port < plan.ports(); ++port) {
    const auto wanted = lists.of(port);
    const auto found = execution.posting_order().find(static_cast<std::int32_t>(port));
    if (wanted.empty()) {
      EXPECT_EQ(found, execution.posting_order().end());
      continue;
    }
    ASSERT_NE(found, execution.posting_order().end());
    EXPECT_EQ(found->second, std::vector<OpId>(wanted.begin(), wanted.end()));
  }
}

std::vector<Plan> hand_plans() {
  return {direct_plan(), staged_plan(), fan_out_plan(), broadcast_plan()};
}

TEST(IssueWindows, EveryOperationOnceInKeyOrderWithinTheWindow) {
  std::mt19937_64 random(1);
  std::vector<Plan> plans = hand_plans();
  for (int i = 0; i < 150; ++i)
    plans.push_back(with_discipline(random_plan(random), Discipline::kWindows));
  for (const Plan& plan : plans) {
    RandomExecution execution(plan, random);
    execution.run();
    expect_ports_in_key_order(plan, execution);
  }
}

TEST(IssueWindows, AWindowOfOnePostsOneByOne) {
  std::mt19937_64 random(2);
  const Plan plan = edit(staged_plan(), [](PlanTables& t) {
    std::fill(t.port_window.begin(), t.port_window.end(), 1);
  });
  RandomExecution execution(plan, random);
  execution.run();
  EXPECT_EQ(execution.most_open(), 1u);
}

// Four chunks, window 2 at every port: at the start two packs, two transfers at either end and two
// unpacks are posted, and only the first two packs (no edges) are ready.
TEST(IssueWindows, WhatIsReadyAtTheStart) {
  const Plan plan = edit(staged_plan(), [](PlanTables& t) {
    std::fill(t.port_window.begin(), t.port_window.end(), 2);
  });
  std::vector<std::pair<OpId, std::int32_t>> posted;
  IssueState state(plan, [&](OpId op, std::int32_t port) { posted.emplace_back(op, port); });
  std::vector<OpId> ready;
  state.begin(ready);
  EXPECT_EQ(ready, (std::vector<OpId>{0, 3}));
  EXPECT_EQ(posted.size(), 8u);
  // The first pack done: the third (operation 6) is posted, but waits for its slot; the first
  // transfer goes.
  ready.clear();
  state.started(0, ready);
  EXPECT_TRUE(ready.empty());
  state.finished(0, ready);
  EXPECT_EQ(ready, std::vector<OpId>{1});
  EXPECT_EQ(posted.size(), 9u);
  EXPECT_EQ(posted.back().first, 6u);
  EXPECT_EQ(state.least_unfinished(), 1u);
  EXPECT_EQ(state.unfinished(), 11u);
}

TEST(IssueWindows, OneSidedReceiversHoldNothingBack) {
  const auto one_transfer_ahead = [](bool one_sided) {
    const Plan plan = with_discipline(
        edit(staged_plan(),
             [](PlanTables& t) { std::fill(t.port_window.begin(), t.port_window.end(), 1); }),
        Discipline::kWindows, one_sided);
    int at_receiver = 0;
    IssueState state(plan, [&](OpId op, std::int32_t port) {
      at_receiver += port == plan.op_in_port[op] ? 1 : 0;
    });
    std::vector<OpId> ready;
    state.begin(ready);
    return at_receiver;
  };
  EXPECT_EQ(one_transfer_ahead(false), 1);
  EXPECT_EQ(one_transfer_ahead(true), 4);  // all four transfers
  std::mt19937_64 random(3);
  for (int i = 0; i < 50; ++i) {
    const Plan plan = with_discipline(random_plan(random), Discipline::kWindows, true);
    RandomExecution execution(plan, random);
    execution.run();
    expect_ports_in_key_order(plan, execution);
  }
}

TEST(IssueGroups, GroupAfterGroupOnEveryRank) {
  std::mt19937_64 random(4);
  std::vector<Plan> plans = {grouped_plan()};
  while (plans.size() < 150) {
    Plan plan = random_plan(random);
    if (plan.header().discipline == Discipline::kGroups) plans.push_back(std::move(plan));
  }
  for (const Plan& plan : plans) RandomExecution(plan, random).run();
}

// Chunks 0 and 1 in one group: both transfers wait for both packs; chunk 2 (group 1) for group 0
// too.
TEST(IssueGroups, AGroupWaitsForAllItsLocalPredecessors) {
  const Plan plan = edit(grouped_plan(), [](PlanTables& t) {
    t.op_group[1] = t.op_group[4] = 0;
    t.op_group[7] = t.op_group[10] = 1;
  });
  IssueState state(plan);
  std::vector<OpId> ready;
  state.begin(ready);
  EXPECT_EQ(ready, (std::vector<OpId>{0, 3}));
  const auto complete = [&](OpId op) {
    ready.clear();
    state.started(op, ready);
    state.finished(op, ready);
    std::sort(ready.begin(), ready.end());
    return ready;
  };
  // Rank 0 issues its group after both packs; rank 1, which packs nothing, has issued already.
  EXPECT_EQ(complete(0), std::vector<OpId>{});
  EXPECT_EQ(complete(3), (std::vector<OpId>{1, 4}));
  // Chunk 2's pack needs transfer 1's slot; chunk 3's needs transfer 4's.
  EXPECT_EQ(complete(1), (std::vector<OpId>{2, 6}));
  EXPECT_EQ(complete(4), (std::vector<OpId>{5, 9}));
  EXPECT_EQ(complete(6), std::vector<OpId>{});
  EXPECT_EQ(complete(9), std::vector<OpId>{});
  EXPECT_EQ(complete(2), std::vector<OpId>{});
  // Rank 1 issues group 1 once the unpacks that both transfers wait for are done.
  EXPECT_EQ(complete(5), (std::vector<OpId>{7, 10}));
}

TEST(IssueUnbounded, EverythingIsPostedAtOnce) {
  std::mt19937_64 random(5);
  std::vector<Plan> plans = hand_plans();
  for (int i = 0; i < 50; ++i) plans.push_back(random_plan(random));
  for (const Plan& plan : plans) {
    const Plan unbounded = with_discipline(plan, Discipline::kUnbounded);
    RandomExecution execution(unbounded, random);
    execution.run();
    expect_ports_in_key_order(unbounded, execution);
  }
}

TEST(IssueStreams, AHopIsReadyWhenItsUpstreamHasStarted) {
  const Plan plan = broadcast_plan();
  IssueState state(plan);
  std::vector<OpId> ready;
  state.begin(ready);
  EXPECT_EQ(ready, std::vector<OpId>{0});
  ready.clear();
  state.started(0, ready);
  state.finished(0, ready);
  EXPECT_EQ(ready, std::vector<OpId>{1});
  ready.clear();
  state.started(1, ready);
  EXPECT_EQ(ready, std::vector<OpId>{2});
}

TEST(IssueStreams, OperationsWithoutPortsOrEdgesAreReadyAtOnce) {
  HandPlan plan(1, 1);
  OpSpec fence;
  fence.kind = OpKind::kFence;
  fence.role = OpRole::kBarrier;
  plan.builder.add_op(fence);
  const Plan sealed = plan.seal();
  IssueState state(sealed);
  std::vector<OpId> ready;
  state.begin(ready);
  EXPECT_EQ(ready, std::vector<OpId>{0});
}

}  // namespace
}  // namespace transload::testing
