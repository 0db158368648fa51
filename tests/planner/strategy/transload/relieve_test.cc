// Jobs whose bottleneck is NVLink, or a NIC that NVLink can relieve, by hand: rates in GB/s, 1-byte
// elements. Each says what the ports would do without other courses.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/units.h"
#include "planner/strategy/helper_ranks.h"
#include "planner/strategy/transload/assign.h"
#include "tests/planner/strategy/small_jobs.h"

namespace transload {
namespace {

std::string node(int gpus, int nic, int nvlink) {
  return fmt::format("    - {{gpus: {}, nic: {}GB/s, nvlink: {}GB/s}}\n", gpus, nic, nvlink);
}

struct Outcome {
  double busiest_s = 0;  // of all ports
  double bound_s = 0;
};

// One tensor of so many GB: its routes, checked as a plan.
Outcome outcome_of(const std::string& nodes, int gigabytes, const std::string& source,
                   const std::string& destination) {
  const Job job = job_from_text(
      fmt::format("options: {{chunk_bytes: 64MiB}}\ntopology:\n  efficiency: 1\n  latency: 0\n  "
                  "nodes:\n{}tensors:\n  - {{name: w, "
                  "shape: [{}000000000], dtype: uint8, source: {}, destination: {}}}\n",
                  nodes, gigabytes, source, destination),
      "job.yaml", "");
  testing::plan_of(job, job.strategy);
  const PlanningInput input = prepare(job);
  PlanBuilder builder;
  const Fabric fabric = add_fabric(builder, job.topology, job.problem);
  const RouteSet routes =
      assign_balanced(job.problem, input.demand, fabric, {may_help(job), input.bounds.bound_ps});
  return {to_seconds(most_loaded_ps(routes, fabric)), to_seconds(input.bounds.bound_ps)};
}

std::string all_of(int first, int last) {
  return fmt::format("{{mesh: {{x: {}}}, placements: [R], ranks: {}-{}}}", last - first + 1, first,
                     last);
}
std::string parts_of(int first, int last) {
  return fmt::format("{{mesh: {{x: {}}}, placements: [S(0)], ranks: {}-{}}}", last - first + 1,
                     first, last);
}

// Cuts and what is left alone may cost so much.
constexpr double kClose = 5e-3;

TEST(TransloadRelieve, AHolderThatPiecesAreWantedOfIsHelpedByHoldersElsewhere) {
  // Ranks 0 to 4 hold 36 GB, ranks 5 to 7 want a third each. Rank 4 is of their domain: alone it
  // takes 36 / 9 = 4 s. With the three NICs at 1 GB/s, 12 GB/s come in: 3 s.
  const Outcome outcome =
      outcome_of(node(4, 1, 9) + node(4, 1, 9), 36, all_of(0, 4), parts_of(5, 7));
  EXPECT_NEAR(outcome.busiest_s, 3, 3 * kClose);
  EXPECT_DOUBLE_EQ(outcome.bound_s, 3);
}

TEST(TransloadRelieve, NeighboursSendOnWhatTheyGetAnyway) {
  // Rank 0 holds 36 GB that seven others in two domains want. Four NICs bring them to the second
  // domain in 9 s. If rank 0 brought them to its neighbours' NICs besides handing them to the
  // neighbours, its NVLink would take (27 + 36) / 5 = 12.6 s; as they get the bytes anyway, 36 / 5.
  const Outcome outcome = outcome_of(node(4, 1, 5) + node(4, 1, 5), 36, all_of(0, 0), all_of(1, 7));
  EXPECT_NEAR(outcome.busiest_s, 9, 9 * kClose);
  EXPECT_DOUBLE_EQ(outcome.bound_s, 9);
}

TEST(TransloadRelieve, IdleNicsCarryWhatNvlinkCannot) {
  // 50 GB from one GPU to its neighbour: NVLink alone takes 50 / 9 s, with the NICs 50 / 10.
  const Outcome outcome = outcome_of(node(2, 1, 9), 50, all_of(0, 0), all_of(1, 1));
  EXPECT_NEAR(outcome.busiest_s, 5, 5 * kClose);
  EXPECT_DOUBLE_EQ(outcome.bound_s, 5);
}

TEST(TransloadRelieve, BytesEnterADomainTwiceWhereThatIsFasterThanNvlink) {
  // Two GPUs want all of 30 GB that eight others hold. Each lands half and hands it on at 0.5 GB/s:
  // 30 s. 20 GB through each NIC and 10 through each NVLink port: 20 s.
  const Outcome outcome =
      outcome_of(node(8, 1, 9) + "    - {gpus: 2, nic: 1GB/s, nvlink: 500MB/s}\n", 30, all_of(0, 7),
                 all_of(8, 9));
  EXPECT_NEAR(outcome.busiest_s, 20, 20 * kClose);
  EXPECT_DOUBLE_EQ(outcome.bound_s, 20);
}

TEST(TransloadRelieve, OneHolderOfAColocatedDomainScatters) {
  // Rank 0 of eight holds 72 GB and the others want them: 72 / (9 + 1) = 7.2 s into each of them
  // and out of rank 0, which sends every byte once; seven copies by itself would take 50.4 s.
  const Outcome outcome = outcome_of(node(8, 1, 9), 72, all_of(0, 0), all_of(1, 7));
  EXPECT_LE(outcome.busiest_s, 7.2 * 1.02);  // many full ports: the last percent takes long
  EXPECT_DOUBLE_EQ(outcome.bound_s, 7.2);
}

TEST(TransloadRelieve, NothingChangesWhereTheNetworkIsTheBottleneck) {
  // 16 GB from four GPUs to four that want all: 4 s of NICs, and one copy over the network.
  const Job job = job_from_text(
      "topology:\n  efficiency: 1\n  latency: 0\n  nodes:\n" + node(4, 1, 9) + node(4, 1, 9) +
          "tensors:\n  - {name: w, shape: [16000000000], dtype: uint8, source: " + parts_of(0, 3) +
          ", destination: " + all_of(4, 7) + "}\n",
      "job.yaml", "");
  const Plan plan = testing::plan_of(job, job.strategy);
  EXPECT_DOUBLE_EQ(ideal_seconds(plan), 4);
  EXPECT_EQ(plan_totals(plan).network_bytes, 16'000'000'000u);
}

}  // namespace
}  // namespace transload
