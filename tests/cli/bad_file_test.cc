// Files that are neither a job nor a whole plan, and arguments that make no sense.
#include <cstring>

#include "tests/cli/cli_fixture.h"

namespace transload::testing {
namespace {

class BadFiles : public CliTest {
 protected:
  // Every command that reads the file refuses it alike.
  void refuse_everywhere(const std::string& file, std::vector<std::string> words) const {
    words.push_back(file);
    for (const char* command :
         {"plan", "transfers", "show", "check", "bound", "simulate", "compare", "run", "render"})
      expect_refused({command, file}, words);
  }
  void refuse_plan(const std::string& content, std::vector<std::string> words) const {
    const std::string file = write("bad.plan", content);
    words.push_back(file);
    for (const char* command : {"show", "check", "simulate", "run", "render"})
      expect_refused({command, file}, words);
  }
};

TEST_F(BadFiles, MissingFile) { refuse_everywhere(path("none.yaml"), {"cannot open"}); }

TEST_F(BadFiles, Folder) { refuse_everywhere(folder_.string(), {"cannot open"}); }

TEST_F(BadFiles, EmptyFile) { refuse_everywhere(write("empty", ""), {":1:", "empty"}); }

TEST_F(BadFiles, OnlyComments) { refuse_everywhere(write("c", "# a\n# b\n"), {"empty"}); }

TEST_F(BadFiles, AListInsteadOfAMap) {
  refuse_everywhere(write("list", "- a\n- b\n"), {":1:", "expected a map"});
}

TEST_F(BadFiles, BinaryGarbage) {
  std::string garbage;
  for (int i = 0; i < 4096; ++i) garbage += static_cast<char>((i * 131 + 7) * (i >> 3) & 0xff);
  refuse_everywhere(write("garbage", garbage), {});
}

TEST_F(BadFiles, NestedWithoutEnd) {
  refuse_everywhere(write("deep", "a: " + std::string(200, '[') + std::string(200, ']') + "\n"),
                    {"nested deeper"});
}

TEST_F(BadFiles, PlanCutAtAnyLength) {
  const std::string whole = read(plan_file());
  ASSERT_GT(whole.size(), 4096u);
  for (const std::size_t length :
       {std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{20}, std::size_t{63},
        std::size_t{64}, std::size_t{1000}, std::size_t{4096}, whole.size() / 2, whole.size() - 1})
    refuse_plan(whole.substr(0, length),
                length < 8 ? std::vector<std::string>{} : std::vector<std::string>{"cut"});
}

TEST_F(BadFiles, PlanExtended) {
  refuse_plan(read(plan_file()) + std::string(64, '\0'), {"cut or extended"});
}

TEST_F(BadFiles, PlanAlteredAnywhere) {
  const std::string whole = read(plan_file());
  for (std::size_t at = 40; at < whole.size(); at += whole.size() / 23) {
    std::string altered = whole;
    altered[at] = static_cast<char>(altered[at] ^ 0x10);
    refuse_plan(altered, {});
  }
  std::string altered = whole;
  altered[whole.size() / 2] = static_cast<char>(altered[whole.size() / 2] ^ 1);
  refuse_plan(altered, {"digest"});
}

TEST_F(BadFiles, PlanOfAnotherVersion) {
  std::string other = read(plan_file());
  const std::uint32_t version = 99;  // follows the eight bytes of the magic
  std::memcpy(other.data() + 8, &version, sizeof version);
  refuse_plan(other, {"version 99", "version 4"});
}

TEST_F(BadFiles, PlanWhereAJobIsNeeded) {
  const std::string plan = plan_file();
  for (const char* command : {"plan", "transfers", "bound", "compare"})
    expect_refused({command, plan}, {plan, "plan file", "expected a job"});
}

TEST_F(BadFiles, PlanningFlagsForAPlan) {
  const std::string plan = plan_file();
  for (const char* command : {"show", "check", "simulate", "run", "render"}) {
    expect_refused({command, plan, "--strategy", "p2p"}, {plan, "--strategy"});
    expect_refused({command, plan, "--discipline", "groups"}, {plan, "--discipline"});
  }
}

class BadArguments : public CliTest {};

TEST_F(BadArguments, Commands) {
  expect_refused({}, {"--help"});
  expect_refused({"pln"}, {"unknown command pln", "did you mean plan?"});
  expect_refused({"model"}, {"model --help"});
  expect_refused({"model", "shw"}, {"unknown command shw", "did you mean show?"});
  expect_refused({"topology", "imprt", "x"}, {"unknown command imprt"});
  expect_refused({"plan"}, {"JOB is required"});
  expect_refused({"plan", job(), "second"}, {"second"});
}

TEST_F(BadArguments, OptionsOfLaterVersionsAreUnknown) {
  expect_refused({"run", job(), "--fit-ranks"}, {"--fit-ranks"});
  expect_refused({"run", job(), "--backend", "cuda"}, {"--backend", "cuda", "host"});
}

TEST_F(BadArguments, Values) {
  expect_refused({"show", job(), "--limit", "many"}, {"--limit", "many"});
  expect_refused({"show", job(), "--limit", "-1"}, {"--limit", "-1"});
  expect_refused({"show", job(), "--rank", "6"}, {"rank 6", "0 to 5"});
  expect_refused({"show", job(), "--rank", "-1"}, {"rank -1"});
  expect_refused({"show", job(), "--rank", "1.5"}, {"--rank"});
  expect_refused({"show", job(), "--tensor", "v"}, {"'v'"});
  expect_refused({"transfers", job(), "--tensor", "v"}, {"job.yaml", "called v"});
  expect_refused({"run", job(), "--iterations", "0"}, {"--iterations"});
  expect_refused({"run", job(), "--scale", "0"}, {"--scale"});
  expect_refused({"run", job(), "--deadline", "-1"}, {"--deadline"});
  expect_refused({"check", job(), "--limit", "0"}, {"--limit"});
}

TEST_F(BadArguments, StrategiesAndDisciplines) {
  expect_refused({"plan", job(), "--strategy", "p2q"}, {"--strategy", "did you mean p2p?"});
  expect_refused({"plan", job(), "--strategy", ""}, {"--strategy"});
  expect_refused({"plan", job(), "--strategy", "{p2p: {a: 1}}"}, {"--strategy", "p2p.a"});
  expect_refused({"plan", job(), "--strategy", "{"}, {"--strategy", "YAML"});
  expect_refused({"plan", job(), "--discipline", "window"}, {"did you mean windows?"});
  expect_refused({"compare", job(), "--strategies", "p2p,"}, {"--strategy"});
  expect_refused({"compare", job(), "--strategies", "{p2p: "}, {"--strategies", "bracket"});
  expect_refused({"compare", job(), "--strategies", "m2m"}, {"m2m", "transload"});
}

TEST_F(BadArguments, FilesThatCannotBeWritten) {
  expect_refused({"plan", job(), "-o", path("none/a.plan")}, {"-o", path("none")});
  expect_refused({"plan", job(), "-o", folder_.string()}, {"-o", "folder"});
  expect_refused({"simulate", job(), "--trace", path("none/t.json")}, {"--trace"});
  expect_refused({"run", job(), "--trace", path("none/t.json")}, {"--trace"});
  expect_refused({"run", job(), "--report", write("file", "x")}, {"--report"});
  expect_refused({"render", job(), "-o", path("none/p.svg")}, {"-o"});
}

TEST_F(BadArguments, Pictures) {
  expect_refused({"render", job(), "--view", "domain"}, {"--view", "did you mean domains?"});
  expect_refused({"render", job(), "--format", "gif", "-o", path("p.gif")}, {"--format", "gif"});
  expect_refused({"render", job(), "-o", path("p.gif")}, {"p.gif", "expected one of dot"});
  expect_refused({"render", job(), "-o", path("picture")}, {"picture", "--format"});
  expect_refused({"render", job(), "--format", "svg"}, {"-o"});
}

TEST_F(BadArguments, Libraries) {
  expect_refused({"model", "show", "qwen3-30b"}, {"qwen3-30b", "did you mean qwen3-30b-a3b?"});
  expect_refused({"model", "params", path("none.yaml")}, {"none.yaml"});
  expect_refused({"topology", "show", "dgx-h10"}, {"did you mean dgx-h100?"});
  expect_refused({"topology", "show", "dgx-h100", "nodes=x"}, {"topology.nodes", "x"});
  expect_refused({"topology", "show", "dgx-h100", "nodes"}, {"key=value", "nodes"});
  expect_refused({"topology", "show", "dgx-h100", "nodes=1", "nodes=2"}, {"nodes", "twice"});
  expect_refused({"topology", "show", "dgx-h100", "nodes=1", "rail=3"}, {"topology.rail"});
  expect_refused({"topology", "show", path("none.yaml")}, {"none.yaml"});
}

}  // namespace
}  // namespace transload::testing
