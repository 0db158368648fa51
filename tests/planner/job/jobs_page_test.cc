// docs/jobs.md holds: every YAML block of the page is read as the job that it shows, and what the
// page says of the examples is so.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/planner/job/cases.h"

namespace transload::testing {
namespace {

namespace fs = std::filesystem;

std::string read_page() {
  std::ifstream stream(fs::path(TRANSLOAD_SOURCE_DIR) / "docs" / "jobs.md");
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// The fenced YAML blocks, in the order of the page.
std::vector<std::string> yaml_blocks(const std::string& page) {
  std::vector<std::string> blocks;
  std::istringstream lines(page);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = !inside && line == "```yaml";
      if (inside) blocks.emplace_back();
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

// A block that begins with `# NAME.yaml` is that file; all others are jobs, those without a
// topology on the one that the page names.
class JobsPage : public ::testing::Test {
 protected:
  JobsPage() {
    fs::create_directories(folder_);
    for (const std::string& block : yaml_blocks(page_)) {
      const std::string first = block.substr(0, block.find('\n'));
      if (first.starts_with("# ") && first.ends_with(".yaml"))
        std::ofstream(folder_ / first.substr(2)) << block;
      else
        jobs_.push_back(block.find("topology:") == std::string::npos
                            ? "topology: {name: dgx-h100, nodes: 2}\n" + block
                            : block);
    }
  }
  ~JobsPage() override { fs::remove_all(folder_); }

  Job load(const std::string& text) const {
    return job_from_text(text, "docs/jobs.md", folder_.string());
  }

  // The first example with these words.
  Job example(const std::string& words) const {
    for (const std::string& job : jobs_)
      if (job.find(words) != std::string::npos) return load(job);
    throw std::out_of_range(words);
  }

  std::string page_ = read_page();
  fs::path folder_ = fs::path(::testing::TempDir()) / ("jobs_page_" + std::to_string(getpid()));
  std::vector<std::string> jobs_;
};

TEST_F(JobsPage, EveryExampleIsAJob) {
  ASSERT_GE(jobs_.size(), 12u);
  for (const std::string& job : jobs_) {
    SCOPED_TRACE(job);
    const Job read = load(job);
    EXPECT_FALSE(make_demand(read.problem).classes.empty());
  }
}

TEST_F(JobsPage, EveryKeyOfASideStandsInTheTableAndInAnExample) {
  std::string examples;
  for (const std::string& job : jobs_) examples += job;
  for (const char* key : {"mesh", "ranks", "placements", "order", "split", "sizes", "padded",
                          "boxes", "experts", "expert_to_rank", "dims", "memory", "dtype"}) {
    EXPECT_NE(page_.find(std::string("\n| `") + key + "` |"), std::string::npos) << key;
    EXPECT_NE(examples.find(std::string(key) + ": "), std::string::npos) << key;
  }
  // A key that the reader knows and the page does not would be named here.
  try {
    load(
        "topology: {name: dgx-h100, nodes: 2}\ntensors:\n  - {name: w, shape: [1], dtype: fp32, "
        "source: {mesh: {x: 1}, ranks: 0, placements: [R], zzzzzzzzzzzzzzz: 1}, destination: "
        "{}}\n");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    const std::string message = error.what();
    std::istringstream known(message.substr(message.find("known are ") + 10));
    for (std::string key; std::getline(known, key, ',');) {
      key.erase(0, key.find_first_not_of(' '));
      EXPECT_NE(page_.find("\n| `" + key + "` |"), std::string::npos) << key;
    }
  }
}

TEST_F(JobsPage, TheOrderAndTheStridedShardAreTheSame) {
  const Job job = example("by_stride");
  const auto held = rows(job, "by_order", Side::kSource);
  EXPECT_EQ(held, rows(job, "by_stride", Side::kSource));
  EXPECT_EQ(held.at(1), (Ids{4, 5}));
}

TEST_F(JobsPage, ReadingsGiveTheRowsThatThePageNames) {
  std::string text;
  for (const std::string& job : jobs_)
    if (job.find("reading=factor-first") != std::string::npos) text = job;
  EXPECT_EQ(rows(load(text), "w", Side::kSource).at(0), (Ids{0, 1, 3}));
  text.replace(text.find("factor-first"), 12, "unflatten");
  EXPECT_EQ(rows(load(text), "w", Side::kSource).at(0), (Ids{0, 1, 3, 4}));
}

TEST_F(JobsPage, RulesAndPaddingGiveTheExtentsThatThePageNames) {
  const Job rules = example("balanced");
  EXPECT_EQ(lengths(rules, "rules", Side::kSource),
            (std::map<Rank, std::int64_t>{{0, 33}, {1, 33}, {2, 33}, {3, 31}}));
  EXPECT_EQ(lengths(rules, "rules", Side::kDestination),
            (std::map<Rank, std::int64_t>{{8, 33}, {9, 33}, {10, 32}, {11, 32}}));
  const Job padded = example("padded: 152064");
  EXPECT_EQ(lengths(padded, "embed", Side::kDestination),
            (std::map<Rank, std::int64_t>{{8, 76032}, {9, 75904}}));
  for (const RankStorage& storage : layout_of(padded, "embed", Side::kDestination).storage) {
    EXPECT_EQ(storage.bytes, 76032 * 16 * 2) << storage.rank;
    EXPECT_EQ(storage.zero_padding, storage.rank == 9);
  }
}

TEST_F(JobsPage, TablesPutExpertsWhereTheySay) {
  const Job job = example("round_robin");
  EXPECT_EQ(rows(job, "redundant", Side::kDestination).at(9), (Ids{2, 4, 5}));
  EXPECT_EQ(rows(job, "round_robin", Side::kSource),
            (std::map<Rank, Ids>{{0, {0, 1}}, {1, {2, 3}}}));
  EXPECT_EQ(rows(job, "round_robin", Side::kDestination),
            (std::map<Rank, Ids>{{8, {0, 2}}, {9, {1, 3}}}));
}

TEST_F(JobsPage, MemoryLiesWhereTheExamplesSay) {
  const Job transposed = example("intermediate");
  // [expert, intermediate, hidden] of 4 / 2 x 32 x 64 elements of two bytes.
  EXPECT_EQ(address(layout_of(transposed, "w1", Side::kDestination), 9, {3, 5, 7}),
            2 * (1 * 32 * 64 + 7 * 64 + 5));
  const Job fused = example("w13");
  EXPECT_EQ(address(layout_of(fused, "gate", Side::kDestination), 8, {2, 1, 3}),
            2 * (2 * 24 + 1 * 4 + 3));
  EXPECT_EQ(address(layout_of(fused, "up", Side::kDestination), 8, {2, 1, 3}),
            2 * (2 * 24 + 12 + 1 * 4 + 3));
  EXPECT_EQ(address(layout_of(example("factors"), "w", Side::kDestination), 8, {3, 200}),
            2 * (1 * 256 * 128 + 3 * 128 + 72));
  const Job tied = example("also:");
  EXPECT_EQ(operations(tied, "lm_head.weight").size(), 4u);
  EXPECT_EQ(tied.problem.source_tensor[0], tied.problem.source_tensor[1]);
}

}  // namespace
}  // namespace transload::testing
