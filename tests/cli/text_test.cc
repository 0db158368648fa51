// What people read: simulated and measured are called so, and everything a table needs is there.
#include "cli/table.h"
#include "tests/cli/cli_fixture.h"

namespace transload::testing {
namespace {

class Text : public CliTest {
 protected:
  static std::string text_of(const std::vector<std::string>& args) {
    const CliResult result = cli(args);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");  // no terminal, no progress
    return result.out;
  }
  static void expect_words(const std::string& text, const std::vector<std::string>& words) {
    for (const std::string& word : words)
      EXPECT_NE(text.find(word), std::string::npos) << "expected " << word << " in:\n" << text;
  }
};

TEST(Table, AlignsItsColumns) {
  Table table({"name", "bytes"}, {Align::kLeft, Align::kRight});
  table.add({"a", "12 B"});
  table.add({"long name", "1 kB"});
  EXPECT_EQ(table.text(),
            "name       bytes\n"
            "a           12 B\n"
            "long name   1 kB\n");
}

TEST(Table, CountsCharactersAndKeepsOneLine) {
  Table table({"é", "x"}, {Align::kLeft, Align::kLeft});
  table.add({"a\nb", "y"});
  EXPECT_EQ(table.text(), "é    x\na b  y\n");
}

TEST(Table, FactsShareOneColumn) {
  EXPECT_EQ(Facts().add("a", "1").add("longer", "2").text(), "  a       1\n  longer  2\n");
}

TEST_F(Text, CompareNamesBoundDisciplineTopologyAndConstants) {
  expect_words(
      text_of({"compare", job()}),
      {"simulated refit", "ratio to bound", "ideal", "under groups", "network", "bottleneck",
       "transload", "p2p", "gather-broadcast: export", "+ broadcast", "+ load",
       "bound: ", "src_once", "discipline windows", "inline", "(fitted: ", "(assumed: "});
}

TEST_F(Text, EveryConstantHasALineOfItsOwn) {
  std::istringstream lines(text_of({"compare", job(), "--strategies", "gather-broadcast"}));
  std::size_t constants = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" = ") == std::string::npos) continue;
    ++constants;
    const bool fitted = line.find("(fitted: ") != std::string::npos;
    const bool assumed = line.find("(assumed: ") != std::string::npos;
    EXPECT_NE(fitted, assumed) << line;
  }
  EXPECT_EQ(constants, json_of({"compare", job(), "--strategies",
                                "gather-broadcast"})["rows"][0]["assumptions"]
                           .size());
}

TEST_F(Text, RunIsMeasuredAndSimulateSimulated) {
  const std::string run = text_of({"run", job(), "--verify", "--scale", "4"});
  expect_words(run, {"measured refit", "median", "min", "max", "planned for", "executed on", "host",
                     "64 bytes compared, 0 mismatched", "divided by 4"});
  EXPECT_EQ(run.find("simulated"), std::string::npos);
  const std::string simulated = text_of({"simulate", job()});
  expect_words(simulated, {"simulated refit", "estimate", "critical path", "busiest links"});
  EXPECT_EQ(simulated.find("measured"), std::string::npos);
}

TEST_F(Text, TransfersPrintsTheEightBoxes) {
  const std::string text = text_of({"transfers", job()});
  expect_words(text, {"8 boxes", "256 B in all", "8 pairs", "[4:8, 6:8]"});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);  // summary, heading, eight boxes
  expect_words(text_of({"transfers", job(), "--limit", "2"}), {"2 of 8 shown"});
}

TEST_F(Text, NamesThatHoldAnythingStayOnOneLine) {
  std::string text = kEightByEight;
  text.replace(text.find("name: w"), 7, "name: \"a\\nb\\e[31m\"");
  const std::string job = write("odd.yaml", text);
  const std::string out = text_of({"transfers", job});
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 10);
  EXPECT_EQ(out.find('\x1b'), std::string::npos);
  EXPECT_EQ(json_of({"transfers", job})["operations"][0]["tensor"], "a\nb\x1b[31m");
}

}  // namespace
}  // namespace transload::testing
