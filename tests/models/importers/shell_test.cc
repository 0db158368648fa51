// Launch scripts, as far as they are read.
#include "models/importers/shell.h"

#include "tests/models/importers/importer_fixture.h"

namespace transload::importing {
namespace {

std::vector<std::string> words(const Command& command) {
  std::vector<std::string> texts;
  for (const Word& word : command.words) texts.push_back(word.text);
  return texts;
}

TEST(Shell, WordsQuotesAndContinuation) {
  const Script script = read_script(
      "# nothing\n"
      "run --a 1 \\\n"
      "  --b 'two words' --c \"x \\\"y\\\"\"   # rest\n"
      "next; last | tee log 2>&1\n",
      "f");
  ASSERT_EQ(script.commands.size(), 4u);
  EXPECT_THAT(words(script.commands[0]),
              ::testing::ElementsAre("run", "--a", "1", "--b", "two words", "--c", "x \"y\""));
  EXPECT_EQ(script.commands[0].line, 2);
  EXPECT_EQ(script.commands[0].words[4].line, 3);
  EXPECT_EQ(script.commands[1].line, 4);
}

TEST(Shell, VariablesArraysAndProducts) {
  const Script script = read_script(
      "NODES=${NNODES:-4}\n"
      "export GPUS=8\n"
      "WORLD=$(($GPUS * NODES))\n"
      "ARGS=(\n"
      "  --tp 2   # why\n"
      "  --name \"a b\"\n"
      ")\n"
      "ARGS+=(--ep $GPUS)\n"
      "MORE=\"--x 1 --y 2\"\n"
      "run ${ARGS[@]} $MORE --world ${WORLD} $(date) $UNSET \"$MORE\"\n",
      "f");
  ASSERT_EQ(script.commands.size(), 1u);
  EXPECT_THAT(
      words(script.commands[0]),
      ::testing::ElementsAre("run", "--tp", "2", "--name", "a b", "--ep", "8", "--x", "1", "--y",
                             "2", "--world", "32", "$(date)", "$UNSET", "--x 1 --y 2"));
  EXPECT_THAT(script.defaults_taken, ::testing::ElementsAre("NNODES: 4"));
}

TEST(Shell, AVariableOfTwoValuesStaysAsWritten) {
  const Script script = read_script("TP=2\nif x; then\n  TP=4\nfi\nrun --tp $TP\n", "f");
  EXPECT_THAT(words(script.commands.back()), ::testing::ElementsAre("run", "--tp", "$TP"));
}

TEST(Shell, EnvironmentInFrontOfACommand) {
  const Script script = read_script("A=1 B='2 3' run x\n", "f");
  ASSERT_EQ(script.commands.size(), 1u);
  EXPECT_THAT(script.commands[0].environment,
              ::testing::ElementsAre(::testing::Pair("A", "1"), ::testing::Pair("B", "2 3")));
  EXPECT_TRUE(script.variables.empty());
}

TEST(Shell, WhatNeverCloses) {
  EXPECT_THROW(read_script("run 'a\nb\n", "f"), InputError);
  EXPECT_THROW(read_script("run \"a\nb\n", "f"), InputError);
  EXPECT_THROW(read_script("A=(1 2\n", "f"), InputError);
  // Each line doubles the one before it.
  std::string bomb = "A0=xxxxxxxxxxxxxxxx\n";
  for (int i = 1; i < 60; ++i)
    bomb += "A" + std::to_string(i) + "=\"$A" + std::to_string(i - 1) + "$A" +
            std::to_string(i - 1) + "\"\n";
  EXPECT_THROW(read_script(bomb, "f"), InputError);
}

TEST(Shell, AnyTextEnds) {
  // Odd pieces of scripts in every order: none may hang or crash.
  const std::vector<std::string> pieces = {"(",   ")",  "$",   "${", "}", "'", "\"",
                                           "\\",  "\n", "A=(", ";",  "&", "|", "#",
                                           "$((", "))", "=",   "x",  " ", "`"};
  for (const std::string& a : pieces)
    for (const std::string& b : pieces)
      for (const std::string& c : pieces)
        for (const std::string& d : pieces) try {
            read_script(a + b + c + d, "f");
          } catch (const InputError&) {
          }
}

}  // namespace
}  // namespace transload::importing
