// Calls the command line in this process, in a temporary folder of its own.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run_cli.h"

namespace transload::testing {

struct CliResult {
  int code = 0;
  std::string out;
  std::string err;
};

inline CliResult cli(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_cli(args, out, err);
  return {code, out.str(), err.str()};
}

// An 8 x 8 tensor from rows over ranks 0-1 to columns over ranks 2-5; each line is named in tests.
inline const std::string kEightByEight =
    "topology:\n"                                                         // 1
    "  nodes:\n"                                                          // 2
    "    - {gpus: 2, nic: 50GB/s, nvlink: 450GB/s}\n"                     // 3
    "    - {gpus: 4, nic: 50GB/s, nvlink: 450GB/s}\n"                     // 4
    "tensors:\n"                                                          // 5
    "  - name: w\n"                                                       // 6
    "    shape: [8, 8]\n"                                                 // 7
    "    dtype: fp32\n"                                                   // 8
    "    source: {mesh: {x: 2}, placements: [S(0)], ranks: 0-1}\n"        // 9
    "    destination: {mesh: {y: 4}, placements: [S(1)], ranks: 2-5}\n";  // 10

class CliTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "transload-cli-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

  static std::string read(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
  }

  std::string job() const { return write("job.yaml", kEightByEight); }

  std::string plan_file() const {
    EXPECT_EQ(cli({"plan", job(), "-o", path("job.plan")}).code, 0);
    return path("job.plan");
  }

  // The JSON of a command that must succeed and print nothing else.
  static nlohmann::json json_of(std::vector<std::string> args, int code = 0) {
    args.push_back("--json");
    const CliResult result = cli(args);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_TRUE(nlohmann::json::accept(result.out)) << result.out;
    return nlohmann::json::parse(result.out, nullptr, false);
  }

  std::filesystem::path folder_;
};

// Bad input: exit code 2, nothing on stdout, one line on stderr that holds every one of `words`.
inline void expect_refused(const std::vector<std::string>& args,
                           const std::vector<std::string>& words) {
  const CliResult result = cli(args);
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err.rfind("transload: error: ", 0), 0u) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  for (const std::string& word : words)
    EXPECT_NE(result.err.find(word), std::string::npos)
        << "expected " << word << " in: " << result.err;
}

}  // namespace transload::testing
