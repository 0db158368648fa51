// One graph, two readers: the simulator and the executor report exactly the plan's operations, once
// per rank that takes part, and post them on every port in the plan's order.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "executor/run.h"
#include "planner/schedule/access.h"
#include "planner/schedule/scale.h"
#include "planner/schedule/trace.h"
#include "planner/strategy/strategy.h"
#include "simulator/simulate.h"

namespace transload {
namespace {

struct TraceEvent {
  OpId operation = 0;
  std::int32_t rank = 0;
  double posted_s = 0;
};

std::vector<TraceEvent> read_trace(const std::string& path) {
  std::ifstream stream(path);
  const nlohmann::json trace = nlohmann::json::parse(stream);
  std::vector<TraceEvent> events;
  for (const nlohmann::json& event : trace.at("traceEvents"))
    if (event.at("ph") == "X")
      events.push_back(
          {event.at("args").at("operation"), event.at("pid"), event.at("args").at("posted_s")});
  return events;
}

void expect_the_plans_operations(const Plan& plan, const OpTimes& times,
                                 const std::string& origin) {
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("transload-trace-" + origin + std::to_string(::getpid())))
                               .string();
  write_trace(plan, times, origin, path);
  const std::vector<TraceEvent> events = read_trace(path);
  std::filesystem::remove(path);

  std::map<std::pair<OpId, std::int32_t>, int> expected;
  for (OpId op = 0; op < plan.operations(); ++op) {
    expected[{op, plan.op_source[op]}] = 1;
    expected[{op, plan.op_destination[op]}] = 1;
  }
  std::map<std::pair<OpId, std::int32_t>, int> found;
  for (const TraceEvent& event : events) ++found[{event.operation, event.rank}];
  EXPECT_EQ(found, expected) << origin;

  // Posting order per port: times must not fall along a port's list (ties are simultaneous
  // postings).
  if (plan.header().discipline != Discipline::kWindows) return;
  const PortLists lists = port_lists(plan);
  for (std::size_t port = 0; port < plan.ports(); ++port) {
    double last = 0;
    for (OpId op : lists.of(port)) {
      const bool out = plan.op_out_port[op] == static_cast<std::int32_t>(port);
      const double posted = out ? times.posted_source_s[op] : times.posted_destination_s[op];
      EXPECT_GE(posted, last) << origin << " port " << port << " operation " << op;
      last = posted;
    }
  }
}

void expect_order_is_the_plans(const Plan& plan,
                               const std::vector<std::vector<OpId>>& posting_order) {
  const PortLists lists = port_lists(plan);
  ASSERT_EQ(posting_order.size(), plan.ports());
  for (std::size_t port = 0; port < plan.ports(); ++port) {
    std::vector<OpId> wanted(lists.of(port).begin(), lists.of(port).end());
    // Under groups a port posts group after group; inside a group all at once.
    std::vector<OpId> posted = posting_order[port];
    if (plan.header().discipline == Discipline::kGroups) {
      const auto by_group = [&](OpId a, OpId b) {
        return std::pair(plan.op_group[a], a) < std::pair(plan.op_group[b], b);
      };
      std::stable_sort(wanted.begin(), wanted.end(), by_group);
    }
    EXPECT_EQ(posted, wanted) << "port " << port;
  }
}

void same_operations(const std::string& example, std::uint64_t scale) {
  const Job job = load_job(std::string(TRANSLOAD_SOURCE_DIR) + "/examples/" + example);
  const PlanningInput input = prepare(job);
  for (const StrategyInfo& info : strategies()) {
    StrategyChoice strategy;
    strategy.name = info.name;
    if (!refusals(job, input, strategy).empty()) continue;
    for (Discipline discipline : {Discipline::kWindows, Discipline::kGroups}) {
      SCOPED_TRACE(std::string(info.name) + " " + std::string(name_of(discipline)));
      const Plan full = make_plan(job, input, strategy, discipline);
      expect_the_plans_operations(full, simulate(full).times, "simulated");
      const Plan plan = scale > 1 ? scale_plan(full, scale) : full;
      ASSERT_EQ(plan.operations(), full.operations());
      RunOptions options;
      options.trace = true;
      options.verify = true;
      const RunResult result = run_on_host(plan, options);
      EXPECT_EQ(result.mismatched_bytes, 0u);
      expect_the_plans_operations(plan, result.times, "measured");
      expect_order_is_the_plans(plan, result.posting_order);
    }
  }
}

TEST(SameOperations, EightByEight) { same_operations("8x8.yaml", 1); }

// Scaled far down: the operations stay those of the full plan, the bytes do not.
TEST(SameOperations, Qwen3Scaled) { same_operations("qwen3-30b-a3b.yaml", 1024); }

}  // namespace
}  // namespace transload
