#include "planner/demand/demand.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "common/error.h"
#include "planner/job/job.h"
#include "tests/testing/random_job.h"

namespace transload {
namespace {

constexpr const char* kEightByEight = R"(
topology: {nodes: [{gpus: 2, nic: 50GB/s, nvlink: 450GB/s}, {gpus: 4, nic: 50GB/s, nvlink: 450GB/s}]}
tensors:
  - name: w
    shape: [8, 8]
    dtype: fp32
    source: {mesh: {x: 2}, placements: [S(0)], ranks: 0-1}
    destination: {mesh: {y: 4}, placements: [S(1)], ranks: 2-5}
)";

TEST(Demand, EightByEightHasOneClassPerPairOf32Bytes) {
  const Job job = job_from_text(kEightByEight, "job.yaml", "");
  const Demand demand = make_demand(job.problem);
  ASSERT_EQ(demand.classes.size(), 8u);
  for (const DemandClass& item : demand.classes) {
    EXPECT_EQ(item.bytes, 4 * 2 * 4);  // 4 rows of 2 columns of 4 bytes
    EXPECT_EQ(job.problem.sets.of(item.holders).size(), 1u);
    EXPECT_EQ(job.problem.sets.of(item.receivers).size(), 1u);
  }
}

// Every element of every tensor: who holds and who wants it, from the layouts' boxes, must be what
// the classes say, each element in exactly one class.
TEST(Demand, ClassesPartitionWantedElementsOnRandomJobs) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    const Job job = job_from_text(testing::random_job(random), "job.yaml", "");
    const ReshardProblem& problem = job.problem;
    const Demand demand = make_demand(problem);
    using Element = std::pair<std::uint32_t, std::vector<std::int64_t>>;  // group, coordinates
    std::map<Element, std::pair<std::uint32_t, std::uint32_t>> found;
    const auto each = [](const Box& box, auto&& visit) {
      std::vector<std::int64_t> at;
      for (std::size_t d = 0; d < box.dims(); ++d) at.push_back(box.lo(d));
      while (true) {
        visit(at);
        std::size_t d = box.dims();
        while (d-- > 0) {
          if (++at[d] < box.hi(d)) break;
          at[d] = box.lo(d);
        }
        if (d == static_cast<std::size_t>(-1)) return;
      }
    };
    for (const DemandClass& item : demand.classes) {
      std::int64_t bytes = 0;
      for (const DemandSlice& slice : item.slices) {
        bytes += slice_bytes(problem, slice);
        each(slice.box, [&](const std::vector<std::int64_t>& at) {
          ASSERT_TRUE(
              found.emplace(Element{slice.group, at}, std::pair(item.holders, item.receivers))
                  .second)
              << "seed " << seed;
        });
      }
      EXPECT_EQ(bytes, item.bytes);
    }
    for (std::uint32_t g = 0; g < problem.groups.size(); ++g) {
      const TensorGroup& group = problem.groups[g];
      each(whole_box(group.shape), [&](const std::vector<std::int64_t>& at) {
        const auto ranks = [&](const Layout& layout) {
          std::set<Rank> set;
          for (const RankBox& shard : layout.shards) {
            bool inside = true;
            for (std::size_t d = 0; d < at.size(); ++d)
              inside &= at[d] >= shard.box.lo(d) && at[d] < shard.box.hi(d);
            if (inside) set.insert(shard.rank);
          }
          return std::vector<Rank>(set.begin(), set.end());
        };
        const auto entry = found.find({g, at});
        ASSERT_NE(entry, found.end()) << "seed " << seed;
        const auto holders = problem.sets.of(entry->second.first);
        const auto receivers = problem.sets.of(entry->second.second);
        EXPECT_EQ(std::vector<Rank>(holders.begin(), holders.end()),
                  ranks(problem.layouts[group.source]));
        EXPECT_EQ(std::vector<Rank>(receivers.begin(), receivers.end()),
                  ranks(problem.layouts[group.destination]));
      });
    }
  }
}

TEST(Demand, RefusesElementsThatNobodyHolds) {
  const Job job = job_from_text(R"(
topology: {nodes: [{count: 3, gpus: 1, nic: 50GB/s}]}
tensors:
  - name: w
    shape: [10]
    dtype: fp32
    source: {boxes: {0: [[0, 4]], 1: [[6, 10]]}}
    destination: {mesh: {y: 1}, placements: [R], ranks: 2}
)",
                                "job.yaml", "");
  try {
    make_demand(job.problem);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "tensor w, rank 2: no source rank holds box [4:6], which the destination wants");
  }
}

TEST(Demand, TensorsOfEqualLayoutAreOneGroupInPlanOrder) {
  std::string text = "topology: {nodes: [{count: 2, gpus: 1, nic: 50GB/s}]}\ntensors:\n";
  for (const char* name : {"a", "b", "c"})
    text += std::string("  - {name: ") + name +
            ", shape: [4], dtype: fp32, source: {mesh: {x: 1}, placements: [R], ranks: 0}, "
            "destination: {mesh: "
            "{x: 1}, placements: [R], ranks: 1}}\n";
  const Job job = job_from_text(text, "job.yaml", "");
  ASSERT_EQ(job.problem.groups.size(), 1u);
  EXPECT_EQ(job.problem.names, (std::vector<std::string>{"a", "b", "c"}));
  const Demand demand = make_demand(job.problem);
  ASSERT_EQ(demand.classes.size(), 1u);
  EXPECT_EQ(demand.classes[0].bytes, 3 * 16);
}

}  // namespace
}  // namespace transload
