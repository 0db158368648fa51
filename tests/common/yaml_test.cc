#include "common/yaml.h"

#include <gtest/gtest.h>

#include <functional>

namespace transload {
namespace {

std::string refusal(const std::string& text, const std::function<void(YamlMap&)>& read) {
  try {
    const YamlValue root = YamlValue::from_text(text, "f.yaml");
    YamlMap map = root.map();
    read(map);
    map.finish();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Yaml, UnknownKeysSuggestTheNearestKnownOne) {
  EXPECT_EQ(refusal("gpus: 8\nengin: x\n",
                    [](YamlMap& map) {
                      map.optional("gpus");
                      map.optional("engine");
                    }),
            "f.yaml:2: engin: unknown key (did you mean engine?)");
}

TEST(Yaml, ErrorsNameFileLineAndDottedField) {
  EXPECT_EQ(refusal("a:\n  b: x\n",
                    [](YamlMap& map) {
                      YamlMap inner = map.required("a").map();
                      inner.required("b").integer();
                    }),
            "f.yaml:2: a.b: expected a whole number, found x");
  EXPECT_EQ(refusal("a: 1\n", [](YamlMap& map) { map.required("b"); }),
            "f.yaml:1: the key b is missing");
}

TEST(Yaml, RefusesTwinsDeepNestingAndSecondDocuments) {
  EXPECT_EQ(refusal("a: 1\na: 2\n", [](YamlMap&) {}),
            "f.yaml:2: a: the key stands twice in one map");
  EXPECT_EQ(refusal(std::string(100, '[') + std::string(100, ']'), [](YamlMap&) {}),
            "f.yaml:1: nested deeper than 64 levels");
  EXPECT_EQ(refusal("a: 1\n---\nb: 2\n", [](YamlMap&) {}),
            "f.yaml:3: a second document; one file describes one thing");
  EXPECT_EQ(refusal("", [](YamlMap&) {}), "f.yaml:1: the file is empty; expected a map");
}

TEST(Yaml, AnchorsThatMultiplyAreRefusedBeforeTheyFillMemory) {
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*" + before + ", *" + before +
            "]\n";
  }
  EXPECT_EQ(refusal(bomb, [](YamlMap&) {}), "f.yaml: more than 20 million values");
}

// yaml-cpp alone reads empty documents from these until memory is full.
TEST(Yaml, StrayTokensEnd) {
  const auto read = [](YamlMap&) {};
  EXPECT_EQ(refusal(", c]\n", read), "f.yaml:1: not valid YAML: nothing may begin like this");
  EXPECT_EQ(refusal("# x\n, c\n", read), "f.yaml:2: not valid YAML: nothing may begin like this");
  EXPECT_NE(refusal("a: 1\n---\n, c\n", read), "accepted");
}

TEST(Yaml, IndexListsAreRangesWithoutTwins) {
  const auto list = [](const std::string& text) {
    const YamlValue root = YamlValue::from_text("r: " + text + "\n", "f.yaml");
    return root.map().required("r").index_list(9);
  };
  EXPECT_EQ(list("[0, 3, 5-7]"), (std::vector<std::int32_t>{0, 3, 5, 6, 7}));
  EXPECT_EQ(list("8"), std::vector<std::int32_t>{8});
  for (const char* text : {"[1, 1]", "0-10", "3-2", "x", "-1", "[[0]]", "0-99999999999999999999"})
    EXPECT_THROW(list(text), InputError) << text;
}

}  // namespace
}  // namespace transload
