// Edits of a job's text: what they change, and that everything else stays the job that it was.
#include "planner/job/job_edit.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "planner/job/job.h"
#include "planner/job/job_digest.h"
#include "tests/testing/random_job.h"

namespace transload::testing {
namespace {

std::string edited(const std::string& text, std::vector<JobEdit> edits) {
  return edited_job(text, edits);
}

std::string refusal(const std::string& text, const JobEdit& edit) {
  try {
    edited_job(text, std::array{edit});
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(JobEdit, SetsReplacesMakesAndRemovesKeys) {
  const std::string text = "a: {b: 1, c: two}\nlist:\n  - {x: 1}\n  - {x: 2}\n";
  const std::string changed = edited(
      text, {{"a.b", "7"}, {"list[1].x", "[3, 4]"}, {"new.deep.key", "{y: z}"}, {"a.c", ""}});
  const auto at = [&](const std::string& key) { return value_at(changed, key, "job"); };
  EXPECT_EQ(at("a.b")->integer(), 7);
  EXPECT_EQ(at("list[0].x")->integer(), 1);
  EXPECT_EQ(at("list[1].x[1]")->integer(), 4);
  EXPECT_EQ(at("new.deep.key.y")->text(), "z");
  EXPECT_FALSE(at("a.c"));
  EXPECT_FALSE(at("list[2]"));
  EXPECT_FALSE(at("a.b.c"));
}

TEST(JobEdit, RefusesPathsThatTheJobDoesNotHave) {
  EXPECT_NE(refusal("a: 1\n", {"a.b", "2"}).find("a.b"), std::string::npos);
  EXPECT_NE(refusal("a: [1]\n", {"a[1]", "2"}).find("no entry 1"), std::string::npos);
  EXPECT_NE(refusal("a: [1]\n", {"a[x]", "2"}).find("index"), std::string::npos);
  EXPECT_NE(refusal("- 1\n", {"a", "2"}).find("map"), std::string::npos);
}

TEST(JobEdit, ListsOfNumbersAreShort) {
  EXPECT_EQ(index_text(std::vector<std::int32_t>{}), "[]");
  EXPECT_EQ(index_text(std::vector<std::int32_t>{4}), "[4]");
  EXPECT_EQ(index_text(std::vector<std::int32_t>{0, 1, 2, 5, 7, 8}), "[0-2, 5, 7-8]");
}

// Writing a job anew changes nothing that it means: placements, ranks, quoted words, units.
TEST(JobEdit, AJobStaysTheSameJob) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 60; ++i) {
    const std::string text = random_job(random);
    Job before = job_from_text(text, "job.yaml", "");
    Job after = job_from_text(edited(text, {}), "job.yaml", "");
    after.text = before.text;
    EXPECT_EQ(content_digest(before), content_digest(after)) << text;
  }
}

}  // namespace
}  // namespace transload::testing
