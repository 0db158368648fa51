// Refits of which only the time is public: their files, their section, and the range itself.
#include "cli/published_ranges.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "cli/sweep_file.h"
#include "common/home.h"
#include "planner/job/job.h"
#include "tests/cli/cli_fixture.h"

namespace transload::testing {
namespace {

using ::testing::HasSubstr;

TEST(PublishedRanges, EveryOneHasAJobAndAGridThatContainsIt) {
  const std::vector<PublishedRange> ranges = listed_ranges();
  ASSERT_FALSE(ranges.empty());
  for (const PublishedRange& range : ranges) {
    EXPECT_GT(range.published_s, 0) << range.id;
    const Sweep sweep = load_sweep(transload_home() + "/" + range.sweep);
    EXPECT_GT(point_count(sweep), 1u) << range.id;
    const std::string likely =
        load_job(transload_home() + "/" + range.job).framework;  // the file is a job
    EXPECT_FALSE(likely.empty()) << range.id;
  }
}

TEST(PublishedRanges, SectionSaysWhatThePhasesAreToTheSystem) {
  PublishedRange range;
  range.title = "A to B";
  range.published_s = 1.3;
  range.low_s = 0.5;
  range.likely_s = 1.5;
  range.high_s = 2;
  range.points = 7;
  range.job = "j.yaml";
  range.sweep = "s.yaml";
  range.source_memory = "host";
  range.phase_names["export"] = "full_tensor";
  PhaseTime phase;
  phase.name = "export";
  phase.finish_s = 1.5;
  phase.critical_s = 1.25;
  range.phases = {phase};
  const std::string text = range_section({range});
  EXPECT_THAT(text, HasSubstr("| A to B | 1.3 s | 500 ms | 1.5 s | 2 s | 7 |"));
  EXPECT_THAT(text, HasSubstr("| full_tensor (export) | - | 0 s | 1.5 s | 1.25 s |"));
  EXPECT_THAT(text, HasSubstr("simulate j.yaml --source-memory host --range"));
}

// The page that stands in the repository is not older than the list.
TEST(PublishedRanges, AccuracyPageHasThem) {
  std::ifstream file(transload_home() + "/docs/accuracy.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const PublishedRange& range : listed_ranges()) EXPECT_THAT(page, HasSubstr(range.title));
}

// About a minute: plans the grids and simulates the likely cases.
TEST(FullPublishedRanges, PublishedTimesLieInside) {
  std::ostringstream out;
  Session session{out, out};
  Progress progress(session);
  for (const PublishedRange& range : predict_ranges(progress)) {
    EXPECT_LE(range.low_s, range.published_s) << range.id;
    EXPECT_GE(range.high_s, range.published_s) << range.id;
    double sum = 0;
    for (const PhaseTime& phase : range.phases) sum += phase.critical_s;
    EXPECT_NEAR(sum, range.likely_s, 1e-6 * range.likely_s) << range.id;
  }
}

}  // namespace
}  // namespace transload::testing
