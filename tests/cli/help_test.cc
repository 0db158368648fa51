// Help of every command, and that every example that help prints works as printed.
#include <functional>

#include "tests/cli/cli_fixture.h"

namespace transload::testing {
namespace {

class Help : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    before_ = std::filesystem::current_path();
    std::filesystem::create_directory_symlink(TRANSLOAD_SOURCE_DIR "/examples", path("examples"));
    std::filesystem::current_path(folder_);
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    CliTest::TearDown();
  }

 private:
  std::filesystem::path before_;
};

const std::vector<std::vector<std::string>> kCommands = {{},
                                                         {"plan"},
                                                         {"transfers"},
                                                         {"show"},
                                                         {"check"},
                                                         {"bound"},
                                                         {"simulate"},
                                                         {"compare"},
                                                         {"explain"},
                                                         {"replan"},
                                                         {"validate"},
                                                         {"sweep"},
                                                         {"run"},
                                                         {"render"},
                                                         {"export"},
                                                         {"model"},
                                                         {"model", "list"},
                                                         {"model", "show"},
                                                         {"model", "params"},
                                                         {"model", "import"},
                                                         {"topology"},
                                                         {"topology", "list"},
                                                         {"topology", "show"},
                                                         {"topology", "check"},
                                                         {"topology", "import"}};

std::string help_of(std::vector<std::string> command) {
  command.push_back("--help");
  const CliResult result = cli(command);
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  return result.out;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  // Quotes are for the shell: no example has a blank between them.
  for (std::string word; stream >> word;) {
    std::erase(word, '\'');
    words.push_back(word);
  }
  return words;
}

TEST_F(Help, EveryExampleWorks) {
  for (const auto& command : kCommands) {
    std::istringstream lines(help_of(command));
    std::size_t examples = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("  transload ", 0) != 0) continue;
      ++examples;
      std::vector<std::string> words = words_of(line);
      words.erase(words.begin());
      const CliResult result = cli(words);
      EXPECT_EQ(result.code, 0) << line << '\n' << result.err;
      EXPECT_NE(result.out, "") << line;
    }
    EXPECT_GE(examples, 1u) << "help without an example: "
                            << (command.empty() ? "transload" : command.back());
  }
}

// What is listed above must be all there is.
TEST_F(Help, ListsTheCommandsThatThisTestWalks) {
  const auto listed = [](const std::string& help) {
    std::istringstream lines(help.substr(help.find("Subcommands:")));
    std::vector<std::string> names;
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line) && line.rfind("  ", 0) == 0)
      if (line[2] != ' ') names.push_back(words_of(line)[0]);
    return names;
  };
  std::vector<std::vector<std::string>> all = {{}};
  for (const std::string& name : listed(help_of({}))) {
    all.push_back({name});
    const std::string help = help_of({name});
    if (help.find("Subcommands:") == std::string::npos) continue;
    for (const std::string& child : listed(help)) all.push_back({name, child});
  }
  EXPECT_EQ(all, kCommands);
}

TEST_F(Help, VersionIsPrinted) {
  const CliResult result = cli({"--version"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out.rfind("transload ", 0), 0u);
}

// The jobs that come with the product are read and planned; DeepSeek-V3 is left to the bound.
TEST_F(Help, BundledJobsAreValid) {
  EXPECT_EQ(cli({"bound", "examples/deepseek-v3-h100.yaml"}).code, 0);
  EXPECT_EQ(cli({"plan", "examples/qwen3-30b-a3b.yaml"}).code, 0);
  EXPECT_EQ(cli({"plan", "examples/my-cluster-job.yaml"}).code, 0);
}

}  // namespace
}  // namespace transload::testing
