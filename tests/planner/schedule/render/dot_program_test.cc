#include "planner/schedule/render/dot_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"

namespace transload::render {
namespace {

using ::testing::HasSubstr;

DotProgram program(const std::string& name, int limit_ms = 10'000) {
  return {name, std::chrono::milliseconds(limit_ms)};
}

TEST(DotProgram, PassesTextInAndOutUnchanged) {
  const std::string text = std::string(1 << 20, 'x') + "\n\"$(id)\" \\";
  EXPECT_EQ(run_dot(text, {}, program("cat")), text);
}

TEST(DotProgram, PassesArgumentsWithoutAShell) {
  EXPECT_EQ(run_dot("", {"%s", "$HOME; `id` 'x'"}, program("printf")), "$HOME; `id` 'x'");
}

TEST(DotProgram, SaysWhatToDoIfItIsMissing) {
  try {
    run_dot("", {}, program("no-such-graphviz"));
    FAIL() << "there is no such program";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("install graphviz, or use --format dot"));
  }
}

TEST(DotProgram, ReportsFailureWithItsWords) {
  try {
    run_dot("", {"/no/such/file"}, program("cat"));
    FAIL() << "cat cannot read that";
  } catch (const RunFailure& error) {
    EXPECT_THAT(error.what(), HasSubstr("/no/such/file"));
  }
}

TEST(DotProgram, IsStoppedAtItsLimit) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    run_dot("", {"30"}, program("sleep", 100));
    FAIL() << "30 s are longer than 0.1 s";
  } catch (const RunFailure& error) {
    EXPECT_THAT(error.what(), HasSubstr("was stopped"));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace transload::render
