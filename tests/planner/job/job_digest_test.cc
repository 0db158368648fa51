// The digest of a job's content: whatever a plan depends on changes it.
#include "planner/job/job_digest.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/testing/temp_path.h"

namespace transload::testing {
namespace {

const std::string kJob = R"(
topology: {nodes: [{count: 2, gpus: 2, nic: 50GB/s, nvlink: 450GB/s}]}
tensors:
  - name: w
    shape: [8, 8]
    dtype: bf16
    source:      {mesh: {x: 2}, placements: [S(0)], ranks: 0-1}
    destination: {mesh: {y: 2}, placements: [S(1)], ranks: 2-3}
)";

std::string digest(const std::string& text, const std::string& folder = "") {
  return to_string(content_digest(job_from_text(text, "job.yaml", folder)));
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kJob;
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(JobDigest, IsTheSameForTheSameJob) { EXPECT_EQ(digest(kJob), digest(kJob)); }

TEST(JobDigest, EveryChangeOfTheTextChangesIt) {
  std::set<std::string> digests = {digest(kJob)};
  const std::pair<const char*, const char*> changes[] = {
      {"bf16", "fp32"},       {"[8, 8]", "[8, 10]"},           {"name: w", "name: v"},
      {"S(1)", "S(0)"},       {"ranks: 0-1", "ranks: [1, 0]"}, {"nic: 50GB/s", "nic: 25GB/s"},
      {"450GB/s", "900GB/s"}, {"count: 2", "count: 3"}};
  for (const auto& [from, to] : changes)
    EXPECT_TRUE(digests.insert(digest(with(from, to))).second) << to;
}

// The text alone would not tell: only the loaded content differs here.
TEST(JobDigest, LayoutAndTopologyCountBesideTheText) {
  const auto content = [](const std::string& text) {
    Job job = job_from_text(text, "job.yaml", "");
    job.text.clear();
    return to_string(content_digest(job));
  };
  std::set<std::string> digests = {content(kJob)};
  const std::pair<const char*, const char*> changes[] = {
      {"bf16", "fp32"},       {"[8, 8]", "[8, 10]"},           {"name: w", "name: v"},
      {"S(1)", "S(0)"},       {"ranks: 0-1", "ranks: [1, 0]"}, {"nic: 50GB/s", "nic: 25GB/s"},
      {"450GB/s", "900GB/s"}, {"count: 2", "count: 3"}};
  for (const auto& [from, to] : changes)
    EXPECT_TRUE(digests.insert(content(with(from, to))).second) << to;
  EXPECT_EQ(content(kJob), content(with("name: w\n", "name:   w  # a comment\n")));
}

// RC-076: the dtype of a tensor changes between two refits; RC-064: facts about stages that changed
// were kept. Files that a job names count by what is in them.
TEST(JobDigest, FilesCountByContentNotByName) {
  const std::string folder = temp_path("job-digest");
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& content) {
    std::ofstream(folder + "/experts.yaml") << content;
  };
  const std::string text = with("{mesh: {y: 2}, placements: [S(1)], ranks: 2-3}",
                                "{expert_to_rank: {file: experts.yaml}}");
  write("[2, 2, 2, 2, 3, 3, 3, 3]");
  const std::string first = digest(text, folder);
  write("[3, 2, 2, 2, 3, 3, 3, 2]");
  EXPECT_NE(digest(text, folder), first);
  write("[2, 2, 2, 2, 3, 3, 3, 3]");
  EXPECT_EQ(digest(text, folder), first);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace transload::testing
