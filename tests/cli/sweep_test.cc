// transload sweep: the grid, ranks and figures of its rows, going on after an interruption, files.
#include "cli/sweep_file.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "cli/sweep_plot.h"
#include "cli/sweep_results.h"
#include "tests/cli/cli_fixture.h"

namespace transload::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

// The 8 x 8 job at two NIC rates, with two strategies: four rows.
const std::string kSweep = "job:\n" +
                           [] {
                             std::string indented = "  ";
                             for (const char c : kEightByEight.substr(0, kEightByEight.size() - 1))
                               indented += c == '\n' ? "\n  " : std::string(1, c);
                             return indented;
                           }() +
                           "\n" +
                           "grid:\n"
                           "  topology.nodes[1].nic: [25GB/s, 50GB/s]\n"
                           "strategies: [transload, p2p]\n";

class SweepTest : public CliTest {
 protected:
  std::string sweep_file(const std::string& text = kSweep) const {
    return write("grid.yaml", text);
  }
  std::string results() const { return path("results.jsonl"); }
  Json run(const std::string& text = kSweep, std::vector<std::string> more = {}) const {
    std::vector<std::string> args = {"sweep", sweep_file(text), "--results", results()};
    args.insert(args.end(), more.begin(), more.end());
    return json_of(args);
  }
};

TEST_F(SweepTest, RowsAreWhatSimulateSays) {
  const Json json = run();
  EXPECT_EQ(json["points"], 2);
  EXPECT_EQ(json["computed"], 2);
  EXPECT_EQ(json["reused"], 0);
  ASSERT_EQ(json["rows"].size(), 4u);
  for (const Json& row : json["rows"]) {
    EXPECT_EQ(row["figure"], "simulated");
    EXPECT_EQ(row["seconds"], row["refit_s"]);
    EXPECT_TRUE(row["refused"].is_null());
    EXPECT_EQ(row["cluster_gpus"], 6);
    EXPECT_EQ(row["values"]["topology.nodes[1].nic"], row["point"] == 0 ? "25GB/s" : "50GB/s");
  }
  // Point 1 is the job as it stands.
  const Json& row = json["rows"][2];
  const Json alone = json_of({"simulate", job(), "--strategy", row["strategy"].get<std::string>()});
  EXPECT_DOUBLE_EQ(row["estimate_s"].get<double>(), alone["estimate_s"].get<double>());
  EXPECT_NEAR(row["refit_s"].get<double>(), alone["refit_s"].get<double>(),
              0.01 * alone["refit_s"].get<double>());
  EXPECT_DOUBLE_EQ(row["bound_s"].get<double>(), alone["bound_s"].get<double>());
}

TEST_F(SweepTest, RanksByEstimateAndSimulatesOnlyTheBest) {
  const Json rows = run(kSweep + "simulate: 1\n")["rows"];
  ASSERT_EQ(rows.size(), 4u);
  for (std::size_t point = 0; point < 2; ++point) {
    const Json& first = rows[2 * point];
    const Json& second = rows[2 * point + 1];
    EXPECT_EQ(first["rank"], 1);
    EXPECT_EQ(second["rank"], 2);
    EXPECT_LE(first["estimate_s"].get<double>(), second["estimate_s"].get<double>());
    EXPECT_EQ(first["figure"], "simulated");
    EXPECT_EQ(first["best"], true);
    EXPECT_EQ(second["figure"], "estimate");
    EXPECT_EQ(second["best"], false);
    EXPECT_TRUE(second["refit_s"].is_null());
    EXPECT_EQ(second["seconds"], second["estimate_s"]);
  }
}

TEST_F(SweepTest, FinishedPointsAreNotComputedAgain) {
  const Json first = run();
  const std::string lines = read(results());
  const Json again = run();
  EXPECT_EQ(again["computed"], 0);
  EXPECT_EQ(again["reused"], 2);
  EXPECT_EQ(again["rows"], first["rows"]);
  EXPECT_EQ(read(results()), lines);
  // One value more: one point more.
  std::string wider = kSweep;
  wider.replace(wider.find("[25GB/s"), 7, "[100GB/s, 25GB/s");
  const Json more = run(wider);
  EXPECT_EQ(more["computed"], 1);
  EXPECT_EQ(more["reused"], 2);
  EXPECT_EQ(more["rows"][2]["point"], 1) << "numbers are those of the grid at hand";
  EXPECT_EQ(run(kSweep, {"--fresh"})["computed"], 2);
}

TEST_F(SweepTest, ALineThatWasCutIsComputedAgain) {
  const Json first = run();
  const std::string lines = read(results());
  std::ofstream(results(), std::ios::binary) << lines.substr(0, lines.size() - 20);
  const Json again = run();
  EXPECT_EQ(again["computed"], 1);
  EXPECT_EQ(again["rows"], first["rows"]);
}

TEST_F(SweepTest, AFileThatIsSomethingElseIsLeftAlone) {
  write("results.jsonl", "my thesis\n");
  expect_refused({"sweep", sweep_file(), "--results", results(), "--fresh"},
                 {"results.jsonl:1", "not a file of results"});
  EXPECT_EQ(read(results()), "my thesis\n");
}

TEST_F(SweepTest, OneWorkerAndManySayTheSame) {
  const Json one = run(kSweep, {"--workers", "1", "--fresh"});
  const Json many = run(kSweep, {"--workers", "3", "--fresh"});
  EXPECT_EQ(one["rows"], many["rows"]);
}

TEST_F(SweepTest, KeysOfOneAxisChangeTogether) {
  std::string text = kSweep;
  const std::string axis = "  topology.nodes[1].nic: [25GB/s, 50GB/s]\n";
  text.replace(
      text.find(axis), axis.size(),
      "  size: {\"topology.nodes[1].nic\": [25GB/s, 50GB/s], \"tensors[0].dtype\": [bf16, fp32], "
      "prices.nic: [10, 20]}\n");
  const Json rows = run(text + "prices: {nic: 1, gpu: 100, currency: EUR}\n")["rows"];
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0]["network_bytes"], 128);
  EXPECT_EQ(rows[2]["network_bytes"], 256);
  EXPECT_EQ(rows[0]["capital_cost"], 6 * 10 + 6 * 100);
  EXPECT_EQ(rows[2]["capital_cost"], 6 * 20 + 6 * 100);
}

TEST_F(SweepTest, CostsOfGpuHours) {
  const Json rows = run(kSweep + "prices: {gpu_hour: 3600}\nrefits_per_day: 10\n")["rows"];
  for (const Json& row : rows) {
    const double hours = row["gpu_hours_per_refit"];
    EXPECT_GT(hours, 0);
    EXPECT_NEAR(row["refit_cost"].get<double>(), 3600 * hours, 1e-12);
    EXPECT_NEAR(row["refit_cost_per_day"].get<double>(), 36000 * hours, 1e-12);
    EXPECT_TRUE(row["capital_cost"].is_null());
  }
}

TEST_F(SweepTest, APointThatCannotBeIsARowWithItsReason) {
  std::string text = kSweep;
  text.replace(text.find("[25GB/s, 50GB/s]"), 16, "[0GB/s, 50GB/s]");
  const Json rows = run(text)["rows"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(rows[0]["refused"].get<std::string>(), HasSubstr("point 0"));
  EXPECT_TRUE(rows[0]["seconds"].is_null());
  EXPECT_EQ(rows[1]["rank"], 1);
}

TEST_F(SweepTest, WhereNoPointCanBeTheReasonIsTheAnswer) {
  std::string text = kSweep;
  text.replace(text.find("[25GB/s, 50GB/s]"), 16, "[0GB/s]");
  expect_refused({"sweep", sweep_file(text), "--results", results()},
                 {"grid.yaml", "point 0", "nic"});
}

TEST_F(SweepTest, WritesCsvAndPlot) {
  run(kSweep, {"--csv", path("s.csv"), "--plot", path("s.svg")});
  const std::string csv = read(path("s.csv"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
  EXPECT_THAT(csv, HasSubstr("point,topology.nodes[1].nic,strategy,"));
  EXPECT_THAT(csv, HasSubstr("\r\n0,25GB/s,"));
  const std::string svg = read(path("s.svg"));
  EXPECT_THAT(svg, HasSubstr("<svg xmlns"));
  EXPECT_THAT(svg, HasSubstr(">bound</text>"));
  EXPECT_THAT(svg, HasSubstr(">p2p</text>"));
}

TEST_F(SweepTest, PlotsOverNodesWhereTheyVary) {
  Sweep sweep = load_sweep(
      sweep_file("job: {topology: {name: dgx-h100, nodes: 1}}\n"
                 "grid: {options.window: [1, 2], topology.nodes: [1, 2], source.gpus: [8]}\n"));
  EXPECT_EQ(plot_axis(sweep), 1u);
  sweep.plot_axis = "source.gpus";
  EXPECT_EQ(plot_axis(sweep), 2u);
  sweep.plot_axis.clear();
  sweep.axes.erase(sweep.axes.begin() + 1);
  EXPECT_EQ(plot_axis(sweep), 0u);
}

// The last axis is the fastest; keys are made where they are missing, and null takes them out.
TEST_F(SweepTest, PointsOfTheGrid) {
  const Sweep sweep =
      load_sweep(sweep_file("job: {a: {b: 1, c: 2}, list: [{d: 3}]}\n"
                            "grid: {a.b: [7, null], new.e: [x, y], \"list[0].d\": [{f: 1}]}\n"));
  EXPECT_EQ(point_count(sweep), 4u);
  const auto job_of = [&](std::size_t number) {
    return YamlValue::from_text(make_point(sweep, number).job_text, "point").node();
  };
  EXPECT_EQ(job_of(0)["a"]["b"].as<int>(), 7);
  EXPECT_EQ(job_of(0)["new"]["e"].as<std::string>(), "x");
  EXPECT_EQ(job_of(1)["new"]["e"].as<std::string>(), "y");
  EXPECT_FALSE(job_of(2)["a"]["b"]);
  EXPECT_EQ(job_of(3)["a"]["c"].as<int>(), 2);
  EXPECT_EQ(job_of(3)["list"][0]["d"]["f"].as<int>(), 1);
  EXPECT_EQ(point_title(sweep, make_point(sweep, 3)), "a.b null, new.e y, list[0].d {f: 1}");
  EXPECT_NE(point_key(sweep, make_point(sweep, 0)), point_key(sweep, make_point(sweep, 1)));
}

TEST_F(SweepTest, RefusesWhatIsWrong) {
  const auto refused = [&](const std::string& text, const std::vector<std::string>& words) {
    expect_refused({"sweep", sweep_file(text), "--results", results()}, words);
  };
  refused("job: {}\ngrid: {}\n", {"grid.yaml:2", "at least one axis"});
  refused("job: nowhere.yaml\ngrid: {a: [1]}\n", {"no such job file: nowhere.yaml"});
  refused("job: {}\ngrid: {a: []}\n", {"grid.a", "at least one value"});
  refused("job: {}\ngrid: {a: 1}\n", {"grid.a", "expected a list"});
  refused("job: {}\ngrid: {x: {a: [1, 2], b: [1]}}\n", {"grid.x.b", "expected 2 values"});
  refused("job: {}\ngrid: {a..b: [1]}\n", {"expected the way to a value"});
  refused("job: {}\ngrid: {prices.nics: [1]}\n", {"prices.nic"});
  refused("job: {}\ngrid: {prices.nic: [cheap]}\n", {"expected a number"});
  refused("job: {a: 1}\ngrid: {a.b: [1]}\n", {"grid key a.b", "no map there"});
  refused("job: {a: [1]}\ngrid: {\"a[3]\": [1]}\n", {"grid key a[3]", "1 entries"});
  refused("job: {}\ngrid: {a: [1]}\nstrategies: [warp]\n", {"strategies[0]", "warp"});
  refused("job: {}\ngrid: {a: [1]}\nstrategy: p2p\n", {"did you mean strategies"});
  refused("job: {}\ngrid: {a: [1]}\nplot: {x: b}\n", {"plot.x", "expected one of a"});
  expect_refused({"sweep", sweep_file(), "--results", results(), "--workers", "0"}, {"--workers"});
}

}  // namespace
}  // namespace transload::testing
