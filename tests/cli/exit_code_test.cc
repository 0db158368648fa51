// Exit codes 1 and 3; tests/cli/json_test.cc has 0 and the bad_*_test.cc have 2.
#include "common/error.h"
#include "planner/schedule/access.h"
#include "planner/schedule/plan_file.h"
#include "tests/cli/cli_fixture.h"

namespace transload::testing {
namespace {

class ExitCodes : public CliTest {
 protected:
  // The 8 x 8 plan with one change, sealed again: a plan file that is whole but wrong.
  template <class Edit>
  std::string edited_plan(Edit&& edit) const {
    const Plan plan = open_plan(plan_file());
    PlanTables tables = thaw_plan(plan);
    edit(tables);
    write_plan(seal_plan(plan.header(), tables), path("edited.plan"));
    return path("edited.plan");
  }
};

TEST_F(ExitCodes, CheckOfAWrongPlanIs1) {
  const std::string wrong = edited_plan([](PlanTables& tables) {
    // The last transfer is lost: nobody writes its box.
    tables.op_bytes.back() = 0;
  });
  const nlohmann::json json = json_of({"check", wrong}, 1);
  EXPECT_EQ(json["ok"], false);
  ASSERT_FALSE(json["violations"].empty());
  EXPECT_EQ(json["violations"][0]["invariant"], "exactly-once");
  const CliResult text = cli({"check", wrong});
  EXPECT_EQ(text.code, 1);
  EXPECT_NE(text.out.find("the plan is wrong"), std::string::npos);
}

TEST_F(ExitCodes, MismatchedBytesAre1) {
  const std::string wrong = edited_plan([](PlanTables& tables) { tables.op_bytes.back() = 0; });
  const nlohmann::json json = json_of({"run", wrong, "--verify", "--report", path("report")}, 1);
  EXPECT_EQ(json["mismatched_bytes"], 32);  // the box that was never sent
  EXPECT_EQ(json["state"], "torn");
  EXPECT_FALSE(json["mismatches"].empty());
  EXPECT_EQ(nlohmann::json::parse(read(path("report/rank-5.json")))["state"], "torn");
  EXPECT_EQ(cli({"run", wrong, "--verify"}).code, 1);
}

// 64 MiB cannot be moved in a microsecond, and not once in twenty times.
TEST_F(ExitCodes, MissedDeadlineIs3AndReportsAreTorn) {
  std::string text = kEightByEight;
  text.replace(text.find("[8, 8]"), 6, "[4096, 4096]");
  const CliResult result = cli({"run", write("large.yaml", text), "--deadline", "1e-6",
                                "--iterations", "20", "--report", path("report"), "--json"});
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err.rfind("transload: error: ", 0), 0u) << result.err;
  EXPECT_NE(result.err.find("deadline"), std::string::npos) << result.err;
  const nlohmann::json report = nlohmann::json::parse(read(path("report/rank-2.json")));
  EXPECT_EQ(report["state"], "torn");
  EXPECT_TRUE(report["refit_s"].is_null());
}

TEST_F(ExitCodes, TooLittleMemoryIs3BeforeAnythingIsTorn) {
  std::string text = kEightByEight;
  text.replace(text.find("[8, 8]"), 6, "[2097152, 2097152]");  // 16 TiB of fp32
  const CliResult result = cli({"run", write("huge.yaml", text), "--report", path("report")});
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("--scale"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(path("report/rank-2.json")));
}

}  // namespace
}  // namespace transload::testing
