// The plan cache: one planning for equal jobs, none the worse for damage, other writers, or a full
// folder.
#include "cli/plan_cache.h"

#include <unistd.h>

#include <thread>

#include "planner/strategy/strategy.h"
#include "tests/cli/cli_fixture.h"

namespace transload::testing {
namespace {

using Json = nlohmann::json;

class Cache : public CliTest {
 protected:
  std::vector<std::filesystem::path> entries() const {
    std::vector<std::filesystem::path> found;
    for (const auto& file : std::filesystem::directory_iterator(path("cache")))
      found.push_back(file.path());
    return found;
  }
  Json planned(const std::string& job, std::vector<std::string> flags = {}) {
    std::vector<std::string> args = {"plan", job, "--cache", path("cache")};
    args.insert(args.end(), flags.begin(), flags.end());
    return json_of(args);
  }
};

// RC-170: thirty refits of one job are planned once.
TEST_F(Cache, RC170EqualJobsArePlannedOnce) {
  const std::string file = job();
  int made = 0;
  std::string digest;
  for (int refit = 0; refit < 30; ++refit) {
    const Json json = planned(file);
    if (!json["cached"]) ++made;
    if (refit > 0) EXPECT_EQ(json["digest"], digest);
    digest = json["digest"];
  }
  EXPECT_EQ(made, 1);
  EXPECT_EQ(entries().size(), 1u);
  EXPECT_EQ(json_of({"plan", file})["digest"], digest) << "the same plan as without a cache";
  EXPECT_EQ(json_of({"plan", file})["cached"], false);
}

// RC-076: the dtype of a tensor changes: never the plan of before.
TEST_F(Cache, RC076WhateverDiffersIsPlannedAnew) {
  EXPECT_FALSE(planned(job())["cached"]);
  std::string other = kEightByEight;
  other.replace(other.find("fp32"), 4, "bf16");
  const Json json = planned(write("job.yaml", other));
  EXPECT_FALSE(json["cached"]);
  EXPECT_EQ(json["payload_bytes"], 128);
  EXPECT_FALSE(planned(job(), {"--discipline", "groups"})["cached"]);
  EXPECT_FALSE(planned(job(), {"--strategy", "p2p"})["cached"]);
  EXPECT_FALSE(planned(job(), {"--strategy", "p2p:full-tensor"})["cached"]);
  EXPECT_TRUE(planned(job())["cached"]);
  EXPECT_EQ(entries().size(), 5u);
}

TEST_F(Cache, EveryCommandThatPlansUsesIt) {
  const std::string file = job();
  const std::vector<std::string> flag = {"--cache", path("cache")};
  const auto cached = [&](std::vector<std::string> args) {
    args.insert(args.end(), flag.begin(), flag.end());
    return json_of(args)["cached"].get<bool>();
  };
  EXPECT_FALSE(cached({"simulate", file}));
  EXPECT_TRUE(cached({"simulate", file}));
  EXPECT_TRUE(cached({"run", file}));
  EXPECT_TRUE(cached({"plan", file}));
  const std::vector<std::string> compare = {"compare",       file,      "--strategies",
                                            "transload,p2p", "--cache", path("cache")};
  const Json first = json_of(compare);
  EXPECT_TRUE(first["rows"][0]["cached"]);
  EXPECT_FALSE(first["rows"][1]["cached"]);
  const Json second = json_of(compare);
  EXPECT_TRUE(second["rows"][1]["cached"]);
  EXPECT_EQ(first["rows"][1]["refit_s"], second["rows"][1]["refit_s"]);
}

TEST_F(Cache, DamagedEntriesAreReplaced) {
  const std::string digest = planned(job())["digest"];
  const std::string entry = entries().at(0).string();
  const std::string whole = read(entry);
  for (const std::string& damaged :
       {std::string(), whole.substr(0, whole.size() / 2), std::string("text"),
        whole.substr(0, whole.size() - 1) + static_cast<char>(~whole.back())}) {
    std::ofstream(entry, std::ios::binary) << damaged;
    const Json json = planned(job());
    EXPECT_FALSE(json["cached"]);
    EXPECT_EQ(json["digest"], digest);
    EXPECT_EQ(read(entry), whole);
  }
  // A whole plan of another job under this one's name is damage as well.
  ASSERT_EQ(cli({"plan", job(), "--strategy", "p2p", "-o", entry}).code, 0);
  EXPECT_FALSE(planned(job())["cached"]);
  EXPECT_EQ(read(entry), whole);
}

TEST_F(Cache, TheEnvironmentNamesAFolderAndTheFlagAnother) {
  setenv("TRANSLOAD_CACHE", path("from-environment").c_str(), 1);
  EXPECT_FALSE(json_of({"plan", job()})["cached"]);
  EXPECT_TRUE(json_of({"plan", job()})["cached"]);
  EXPECT_FALSE(planned(job())["cached"]) << "--cache goes first";
  unsetenv("TRANSLOAD_CACHE");
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(Cache, RefusesAFolderThatCannotBe) {
  write("file", "x");
  expect_refused({"plan", job(), "--cache", path("file")}, {"--cache"});
  expect_refused({"plan", job(), "--cache", ""}, {"--cache"});
  setenv("TRANSLOAD_CACHE_BYTES", "much", 1);
  expect_refused({"plan", job(), "--cache", path("cache")}, {"TRANSLOAD_CACHE_BYTES", "much"});
  unsetenv("TRANSLOAD_CACHE_BYTES");
}

Job numbered(int number) {
  std::string text = kEightByEight;
  text.replace(text.find("name: w"), 7, "name: w" + std::to_string(number));
  return job_from_text(text, "job.yaml", "");
}

// Room for two plans and a half: of three the one that was not used for longest goes.
TEST_F(Cache, OldestEntriesGoWhereThereIsNoRoom) {
  const std::string folder = path("cache");
  std::filesystem::create_directory(folder);
  const std::uint64_t size = make_plan(numbered(0)).image().size();
  const PlanCache cache(folder, size * 5 / 2);
  const auto hit = [&](int number) {
    const Job job = numbered(number);
    return cache.plan(job, job.strategy, Discipline::kWindows, [&] { return make_plan(job); }).hit;
  };
  // Times of files tick coarsely: entries are made older by hand.
  const auto age_all = [&] {
    for (const auto& entry : entries())
      std::filesystem::last_write_time(
          entry, std::filesystem::last_write_time(entry) - std::chrono::minutes(1));
  };
  EXPECT_FALSE(hit(0));
  age_all();
  EXPECT_FALSE(hit(1));
  age_all();
  EXPECT_TRUE(hit(0));  // so 1 is the oldest
  age_all();
  EXPECT_FALSE(hit(2));
  EXPECT_EQ(entries().size(), 2u);
  EXPECT_TRUE(hit(0));
  EXPECT_TRUE(hit(2));
  EXPECT_FALSE(hit(1));
  // Nothing larger than the whole folder may be is kept.
  const PlanCache tiny(folder, size / 2);
  const Job job = numbered(9);
  EXPECT_FALSE(
      tiny.plan(job, job.strategy, Discipline::kWindows, [&] { return make_plan(job); }).hit);
  EXPECT_EQ(entries().size(), 2u);
}

// Several programs plan the same job into one folder: whatever is read is whole.
TEST_F(Cache, WritersAtOnceLeaveOneWholeEntry) {
  const std::string folder = path("cache");
  std::filesystem::create_directory(folder);
  const Job job = numbered(0);
  const Digest digest = make_plan(job).digest();
  std::vector<std::thread> writers;
  std::vector<int> right(8, 0);
  for (int i = 0; i < 8; ++i)
    writers.emplace_back([&, i] {
      for (int round = 0; round < 10; ++round)
        right[static_cast<std::size_t>(i)] +=
            PlanCache(folder, PlanCache::kDefaultLimit)
                .plan(job, job.strategy, Discipline::kWindows, [&] { return make_plan(job); })
                .plan.digest() == digest;
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(right, std::vector<int>(8, 10));
  EXPECT_EQ(entries().size(), 1u);
}

// A cache that cannot be written costs nothing but the planning.
TEST_F(Cache, AFolderThatIsGoneIsNoError) {
  const Job job = numbered(0);
  const PlanCache cache(path("not-there"), PlanCache::kDefaultLimit);
  EXPECT_FALSE(
      cache.plan(job, job.strategy, Discipline::kWindows, [&] { return make_plan(job); }).hit);
}

}  // namespace
}  // namespace transload::testing
