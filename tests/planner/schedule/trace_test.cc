#include "planner/schedule/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "planner/schedule/access.h"
#include "tests/planner/schedule/sample_plans.h"
#include "tests/testing/temp_path.h"

namespace transload {
namespace {

using nlohmann::json;

// Operation i runs from i to i + 1 ms, posted 0.1 ms earlier at its source and 0.2 ms at its
// destination.
OpTimes steps(const Plan& plan) {
  OpTimes times(plan.operations());
  for (std::size_t op = 0; op < plan.operations(); ++op) {
    times.start_s[op] = 1e-3 * static_cast<double>(op + 1);
    times.finish_s[op] = 1e-3 * static_cast<double>(op + 2);
    times.posted_source_s[op] = times.start_s[op] - 1e-4;
    times.posted_destination_s[op] = times.start_s[op] - 2e-4;
  }
  return times;
}

json traced(const Plan& plan, const OpTimes& times) {
  const std::string path = testing::temp_path("trace_test.json");
  write_trace(plan, times, "simulated", path);
  std::ifstream in(path);
  json trace = json::parse(in);
  std::filesystem::remove(path);
  return trace;
}

std::vector<json> spans(const json& trace) {
  std::vector<json> found;
  for (const json& event : trace.at("traceEvents"))
    if (event.at("ph") == "X") found.push_back(event);
  return found;
}

TEST(Trace, SaysWhereItComesFrom) {
  const Plan plan = testing::two_domains("w", "a \"job\"");
  const json trace = traced(plan, steps(plan));
  EXPECT_EQ(trace.at("displayTimeUnit"), "ms");
  const json expected = {{"origin", "simulated"},
                         {"strategy", "transload"},
                         {"discipline", "windows"},
                         {"plan", to_string(plan.digest())},
                         {"job", "a \"job\""}};
  EXPECT_EQ(trace.at("otherData"), expected);
}

TEST(Trace, DrawsEachOperationOnceOnEachOfItsRanks) {
  const Plan plan = testing::two_domains();
  std::map<std::pair<int, int>, std::pair<int, std::string>>
      lane;  // (operation, rank) -> thread, lane
  for (const json& e : spans(traced(plan, steps(plan)))) {
    const std::pair key(e["args"]["operation"].get<int>(), e["pid"].get<int>());
    EXPECT_TRUE(lane.emplace(key, std::pair(e["tid"].get<int>(), e["args"]["lane"])).second);
  }
  // Threads are lanes: pack 0, net-out 1, net-in 2, nvlink-out 3, nvlink-in 4, unpack 5, host 6.
  const std::map<std::pair<int, int>, std::pair<int, std::string>> expected = {
      {{0, 0}, {0, "pack"}},   {{1, 0}, {1, "net-out"}},    {{1, 2}, {2, "net-in"}},
      {{2, 2}, {5, "unpack"}}, {{3, 2}, {3, "nvlink-out"}}, {{3, 3}, {4, "nvlink-in"}},
      {{4, 3}, {5, "unpack"}}, {{5, 0}, {0, "pack"}},       {{6, 2}, {6, "host"}},
      {{7, 3}, {6, "host"}}};
  EXPECT_EQ(lane, expected);
}

TEST(Trace, CarriesTimesPeersAndPortsOfEachSide) {
  const Plan plan = testing::two_domains();
  json at_source, at_destination, fence;
  for (const json& e : spans(traced(plan, steps(plan)))) {
    if (e["args"]["operation"] == 1) (e["pid"] == 0 ? at_source : at_destination) = e;
    if (e["args"]["operation"] == 7) fence = e;
  }
  EXPECT_EQ(at_source["name"], "inject 0->2 w");
  EXPECT_EQ(at_source["cat"], "inject");
  EXPECT_DOUBLE_EQ(at_source["ts"], 2000);  // microseconds
  EXPECT_DOUBLE_EQ(at_source["dur"], 1000);
  const json& args = at_source["args"];
  EXPECT_EQ(args["bytes"], 1024);
  EXPECT_EQ(args["source"], 0);
  EXPECT_EQ(args["destination"], 2);
  EXPECT_EQ(args["peer"], 2);
  EXPECT_EQ(args["bundle"], 0);
  EXPECT_EQ(args["tensor"], "w");
  EXPECT_FALSE(args.contains("tensors"));
  EXPECT_EQ(args["chunk"], 0);
  EXPECT_EQ(args["out_port"], "rank0.nic.out");
  EXPECT_EQ(args["in_port"], "rank2.nic.in");
  EXPECT_FALSE(args.contains("group"));
  EXPECT_NEAR(args["posted_s"], 0.0019, 1e-12);
  EXPECT_NEAR(args["start_s"], 0.002, 1e-12);
  EXPECT_NEAR(args["finish_s"], 0.003, 1e-12);
  EXPECT_EQ(at_destination["args"]["peer"], 0);
  EXPECT_NEAR(at_destination["args"]["posted_s"], 0.0018, 1e-12);
  EXPECT_FALSE(fence["args"].contains("peer"));
  EXPECT_FALSE(fence["args"].contains("tensor"));
}

TEST(Trace, NamesProcessesAndThreads) {
  const Plan plan = testing::two_domains();
  std::map<int, std::string> process;
  std::map<std::pair<int, int>, std::string> thread;
  const json trace = traced(plan, steps(plan));
  for (const json& e : trace.at("traceEvents")) {
    if (e["name"] == "process_name") process[e["pid"]] = e["args"]["name"];
    if (e["name"] == "thread_name")
      thread[{e["pid"].get<int>(), e["tid"].get<int>()}] = e["args"]["name"];
  }
  // Rank 1 takes no part.
  const std::map<int, std::string> processes = {{0, "rank 0 (node 0, domain 0)"},
                                                {2, "rank 2 (node 1, domain 1)"},
                                                {3, "rank 3 (node 1, domain 1)"}};
  EXPECT_EQ(process, processes);
  const std::map<std::pair<int, int>, std::string> threads = {
      {{0, 0}, "pack"},       {{0, 1}, "net-out"}, {{2, 2}, "net-in"},
      {{2, 3}, "nvlink-out"}, {{2, 5}, "unpack"},  {{2, 6}, "host"},
      {{3, 4}, "nvlink-in"},  {{3, 5}, "unpack"},  {{3, 6}, "host"}};
  EXPECT_EQ(thread, threads);
}

// Three transfers on one lane, 0-2 s, 1-3 s, 2-4 s: two rows are enough, and no thread has
// overlaps.
TEST(Trace, GivesOverlappingOperationsOfALaneRowsOfTheirOwn) {
  testing::Cluster c(2, 1);
  const std::int32_t bundle = c.whole_tensor("w", 4);
  for (std::uint64_t key = 0; key < 3; ++key)
    c.transfer(key, OpRole::kInject, 0, 1, bundle, 16, true);
  const Plan plan = c.seal();
  OpTimes times(3);
  times.start_s = {0, 1, 2};
  times.finish_s = {2, 3, 4};
  std::vector<int> threads;
  const json trace = traced(plan, times);
  for (const json& e : spans(trace))
    if (e["pid"] == 0) threads.push_back(e["tid"]);
  EXPECT_THAT(threads, ::testing::ElementsAre(1, 9, 1));  // net-out, its second row, net-out
  int named = 0;
  for (const json& e : trace.at("traceEvents"))
    if (e["name"] == "thread_name" && e["pid"] == 0 && e["args"]["name"] == "net-out") ++named;
  EXPECT_EQ(named, 2);
}

TEST(Trace, IsValidJsonWhateverTheNamesAndTimes) {
  const Plan plan = testing::two_domains("w\"\\<&>\n\x01\xFF");
  OpTimes times = steps(plan);
  times.finish_s[2] = 0;  // never finished
  times.start_s[3] = std::nan("");
  times.posted_source_s[3] = std::numeric_limits<double>::infinity();
  for (const json& e : spans(traced(plan, times))) EXPECT_GE(e["dur"].get<double>(), 0);
}

TEST(Trace, KeepsPicoseconds) {
  const Plan plan = testing::two_domains();
  OpTimes times(plan.operations());
  times.start_s[0] = 1.000000000123;
  times.finish_s[0] = 1.000000000124;
  int found = 0;
  for (const json& e : spans(traced(plan, times)))
    if (e["args"]["operation"] == 0) {
      ++found;
      EXPECT_NEAR(e["ts"], 1000000.000123, 1e-9);
      EXPECT_NEAR(e["dur"], 0.000001, 1e-9);
    }
  EXPECT_EQ(found, 1);
}

TEST(Trace, RefusesAPathItCannotWrite) {
  const Plan plan = testing::two_domains();
  EXPECT_THROW(write_trace(plan, steps(plan), "measured", "/no/such/folder/trace.json"),
               InputError);
}

}  // namespace
}  // namespace transload
