#include "planner/bound/bound.h"

#include <gtest/gtest.h>

#include <random>

#include "common/units.h"
#include "planner/bound/min_max_flow.h"
#include "planner/job/job.h"
#include "tests/testing/random_job.h"

namespace transload {
namespace {

BoundReport bounds_of(const std::string& text) {
  const Job job = job_from_text(text, "job.yaml", "");
  return compute_bounds(job.problem, make_demand(job.problem), job.topology);
}

double seconds(const BoundReport& report, const std::string& name) {
  for (const Bound& bound : report.bounds)
    if (bound.name == name) return to_seconds(bound.ps);
  ADD_FAILURE() << "no bound " << name;
  return -1;
}

// Unit rates: NIC 1 byte/s, NVLink 9 byte/s, 1-byte elements.
std::string unit_job(int trainers, const std::string& source) {
  return "topology:\n  efficiency: 1\n  latency: 0\n  nodes:\n    - {gpus: " +
         std::to_string(trainers) +
         ", nic: 1B/s, nvlink: 9B/s}\n    - {gpus: 4, nic: 1B/s, nvlink: 9B/s}\n"
         "tensors:\n  - {name: w, shape: [8, 8], dtype: uint8, source: " +
         source +
         ", destination: {mesh: {y: 4}, placements: [S(1)], ranks: " + std::to_string(trainers) +
         "-" + std::to_string(trainers + 3) + "}}\n";
}

TEST(Bound, ExampleAIsSourceBoundAt32Seconds) {
  // 64 bytes sit on two trainers of one node and must leave it once over 2 NICs: 32 s. Each
  // receiver needs 16 bytes over NIC + NVLink (10 byte/s): 1.6 s; its node 64 bytes over 4 NICs: 16
  // s.
  const BoundReport report =
      bounds_of(unit_job(2, "{mesh: {x: 2}, placements: [S(0)], ranks: 0-1}"));
  EXPECT_EQ(report.binding, "src_once");
  EXPECT_DOUBLE_EQ(to_seconds(report.bound_ps), 32.0);
  EXPECT_DOUBLE_EQ(seconds(report, "dst_gpu"), 1.6);
  EXPECT_DOUBLE_EQ(seconds(report, "domain_in"), 16.0);
  // 64 bytes over NICs + NVLink of the node: 4 * (1 + 9).
  EXPECT_DOUBLE_EQ(seconds(report, "nvlink"), 1.6);
}

TEST(Bound, ExampleAPrimeHalvesWithASecondReplica) {
  const BoundReport report =
      bounds_of(unit_job(4, "{mesh: {replica: 2, x: 2}, placements: [R, S(0)], ranks: 0-3}"));
  EXPECT_DOUBLE_EQ(to_seconds(report.bound_ps), 16.0);
  EXPECT_DOUBLE_EQ(seconds(report, "src_once"), 16.0);
}

// One node of four GPUs and one of two whose rank 4 holds the tensor, as ranks 0 to 3 do or not.
std::string part_job(const std::string& source, const std::string& destination) {
  return "topology:\n  efficiency: 1\n  latency: 0\n  nodes:\n"
         "    - {gpus: 4, nic: 1B/s, nvlink: 9B/s}\n    - {gpus: 4, nic: 1B/s, nvlink: 9B/s}\n"
         "tensors:\n  - {name: w, shape: [36], dtype: uint8, source: " +
         source + ", destination: " + destination + "}\n";
}

TEST(Bound, PartOfADomainGetsNoMoreThanItsOtherGpusSend) {
  // Rank 4 and four GPUs elsewhere hold 36 bytes, ranks 5 to 7 want a third each. Into the three
  // come 3 byte/s through NICs and 9 from rank 4: 3 s. One of them alone could take 10 byte/s.
  const BoundReport in = bounds_of(part_job("{mesh: {x: 5}, placements: [R], ranks: 0-4}",
                                            "{mesh: {x: 3}, placements: [S(0)], ranks: 5-7}"));
  EXPECT_EQ(in.binding, "domain_part");
  EXPECT_DOUBLE_EQ(to_seconds(in.bound_ps), 3.0);
  EXPECT_DOUBLE_EQ(seconds(in, "dst_gpu"), 1.2);
}

TEST(Bound, PartOfADomainSendsNoMoreThanTheOthersTakeIn) {
  // Ranks 4 to 6 hold a third of 36 bytes each, rank 7 wants all: out of the three 3 byte/s through
  // NICs and 9 into rank 7; but its own NIC and NVLink are the narrower cut: 36 / 10.
  const BoundReport out = bounds_of(part_job("{mesh: {x: 3}, placements: [S(0)], ranks: 4-6}",
                                             "{mesh: {x: 1}, placements: [R], ranks: 7}"));
  EXPECT_DOUBLE_EQ(seconds(out, "domain_part"), 3.6);
  EXPECT_DOUBLE_EQ(seconds(out, "dst_gpu"), 3.6);
  EXPECT_EQ(out.binding, "dst_gpu") << "ties go to the first";
}

TEST(Bound, WhatTwoGpusOfADomainHoldAloneLeavesThroughTheirPorts) {
  // Ranks 4 and 5 hold half of 36 bytes each; ranks 0 to 3 and 6, 7 want them all. Out of 4 and 5
  // together: 2 byte/s of NICs and 18 of NVLink, no more than ranks 6 and 7 take in: 36 / 20.
  const BoundReport out =
      bounds_of(part_job("{mesh: {x: 2}, placements: [S(0)], ranks: 4-5}",
                         "{mesh: {x: 6}, placements: [R], ranks: [0, 1, 2, 3, 6, 7]}"));
  EXPECT_DOUBLE_EQ(seconds(out, "dst_gpu"), 3.6);
  EXPECT_DOUBLE_EQ(seconds(out, "domain_part"), 3.6);
  EXPECT_DOUBLE_EQ(seconds(out, "domain_in"), 9.0);
}

// Four nodes of two GPUs, two nodes below a leaf; 64 bytes from the first leaf to the second.
std::string pod_job(const std::string& fabric) {
  return "topology:\n  efficiency: 1\n  latency: 0\n  nodes: [{count: 4, gpus: 2, nic: 1B/s, "
         "nvlink: "
         "9B/s}]\n  fabric: " +
         fabric +
         "\ntensors:\n  - {name: w, shape: [8, 8], dtype: uint8, source: {mesh: {x: 4}, "
         "placements: "
         "[S(0)], ranks: 0-3}, destination: {mesh: {y: 4}, placements: [S(1)], ranks: 4-7}}\n";
}

TEST(Bound, NarrowUpLinksBoundWhatHangsBelow) {
  // Four NICs of 1 B/s below a leaf, two to one: 64 bytes over 2 B/s.
  const BoundReport leaf = bounds_of(pod_job("{kind: leaf-spine, unit: 2, oversubscription: 2}"));
  EXPECT_EQ(leaf.binding, "pod_in");
  EXPECT_DOUBLE_EQ(seconds(leaf, "pod_in"), 32.0);
  EXPECT_DOUBLE_EQ(seconds(leaf, "pod_out"), 32.0);
  // With rails a unit has two leaves of 1 B/s up each; NVLink joins them to one pod.
  const BoundReport rails =
      bounds_of(pod_job("{kind: rail-optimised, unit: 2, oversubscription: 2}"));
  EXPECT_DOUBLE_EQ(to_seconds(rails.bound_ps), 32.0);
  EXPECT_EQ(rails.bounds[2].port, "links into leaf1.0 to leaf1.1");
  // As wide as its ports: only the NICs count, 64 bytes over 4 B/s.
  const BoundReport wide = bounds_of(pod_job("{kind: rail-optimised, unit: 2}"));
  EXPECT_DOUBLE_EQ(seconds(wide, "pod_in"), 0.0);
  EXPECT_DOUBLE_EQ(to_seconds(wide.bound_ps), 16.0);
  // All in one unit: nothing has to pass an up-link.
  const BoundReport one = bounds_of(pod_job("{kind: leaf-spine, unit: 4, oversubscription: 2}"));
  EXPECT_DOUBLE_EQ(seconds(one, "pod_in"), 0.0);
  // A core of pods: units 0 and 1 below different spine layers, 2 x 2 to one at their up-links.
  const BoundReport core = bounds_of(pod_job(
      "{kind: leaf-spine, unit: 2, oversubscription: 2, pod: 1, core_oversubscription: 2}"));
  EXPECT_DOUBLE_EQ(seconds(core, "pod_in"), 64.0);
}

TEST(Bound, LinksBetweenSitesBoundWhatCrossesThem) {
  const BoundReport report = bounds_of(
      "topology:\n  efficiency: 1\n  latency: 0\n"
      "  nodes: [{gpus: 2, nic: 1B/s, site: a}, {gpus: 2, nic: 1B/s, site: b}]\n"
      "  links: [{between: [a, b], rate: 1B/s}]\n"
      "tensors:\n  - {name: w, shape: [8, 8], dtype: uint8, source: {mesh: {x: 2}, placements: "
      "[S(0)], ranks: 0-1}, destination: {mesh: {y: 2}, placements: [S(0)], ranks: 2-3}}\n");
  EXPECT_EQ(report.binding, "pod_in");
  EXPECT_DOUBLE_EQ(to_seconds(report.bound_ps), 64.0);
}

TEST(Bound, UnequalHoldersAreAssignedExclusively) {
  // Example D: a (60 bytes) only on rank 0, b (60 bytes) on ranks 0 and 1, each its own domain:
  // max(60 / 1, 120 / 2) = 60 s.
  const BoundReport report = bounds_of(R"(
topology: {efficiency: 1, latency: 0, nodes: [{count: 2, gpus: 1, nic: 1B/s}, {gpus: 1, nic: 100B/s}]}
tensors:
  - {name: a, shape: [60], dtype: uint8, source: {mesh: {x: 1}, placements: [R], ranks: 0},
     destination: {mesh: {y: 1}, placements: [R], ranks: 2}}
  - {name: b, shape: [60], dtype: uint8, source: {mesh: {x: 2}, placements: [R], ranks: 0-1},
     destination: {mesh: {y: 1}, placements: [R], ranks: 2}}
)");
  EXPECT_DOUBLE_EQ(seconds(report, "src_once"), 60.0);
}

TEST(Bound, CopiesCountOnlyWhereReceiversDoNotRelay) {
  // 60 bytes on one trainer for two domains: they leave once in 60 s; without relays twice, 120 s.
  const BoundReport report = bounds_of(R"(
topology: {efficiency: 1, latency: 0, nodes: [{count: 3, gpus: 1, nic: 1B/s}]}
tensors:
  - {name: a, shape: [60], dtype: uint8, source: {mesh: {x: 1}, placements: [R], ranks: 0},
     destination: {mesh: {y: 2}, placements: [R], ranks: 1-2}}
)");
  EXPECT_DOUBLE_EQ(seconds(report, "src_once"), 60.0);
  EXPECT_DOUBLE_EQ(seconds(report, "src_copies"), 120.0);
  EXPECT_DOUBLE_EQ(to_seconds(report.bound_ps), 60.0) << "conditional bounds never bind";
  EXPECT_EQ(report.binding, "dst_gpu") << "ties go to the first";
  for (const Bound& bound : report.bounds)
    EXPECT_EQ(bound.conditional, bound.name == "src_copies") << bound.name;
}

TEST(Bound, WhatOnlyOneColocatedDomainHoldsMustLeaveIt) {
  // Both ranks hold a half and want all: 50 bytes leave each, though no domain is without source.
  const BoundReport report = bounds_of(R"(
topology: {efficiency: 1, latency: 0, nodes: [{gpus: 1, nic: 1B/s}, {gpus: 1, nic: 10B/s}]}
tensors:
  - {name: a, shape: [100], dtype: uint8, source: {mesh: {x: 2}, placements: [S(0)], ranks: 0-1},
     destination: {mesh: {y: 2}, placements: [R], ranks: 0-1}}
)");
  EXPECT_DOUBLE_EQ(seconds(report, "src_once"), 50.0);
}

TEST(Bound, ASlowNvlinkLimitsWhatLeavesOneGpu) {
  // Rank 0 alone holds 60 bytes; its NIC and its NVLink (to the NIC of rank 1) carry 2 byte/s.
  const BoundReport report = bounds_of(R"(
topology: {efficiency: 1, latency: 0, nodes: [{gpus: 4, nic: 1B/s, nvlink: 1B/s}, {gpus: 1, nic: 100B/s}]}
tensors:
  - {name: a, shape: [60], dtype: uint8, source: {mesh: {x: 1}, placements: [R], ranks: 0},
     destination: {mesh: {y: 1}, placements: [R], ranks: 4}}
  - {name: b, shape: [3], dtype: uint8, source: {mesh: {x: 3}, placements: [S(0)], ranks: 1-3},
     destination: {mesh: {y: 1}, placements: [R], ranks: 4}}
)");
  EXPECT_DOUBLE_EQ(seconds(report, "src_once"), 30.0);  // the domain alone: 63 / 4
}

TEST(Bound, MemoryCountsWhatStaysTwice) {
  // 100 bytes wanted by rank 1, 40 of them its own: (60 + 2 * 40) / (3350 GB/s * 0.9...): compared
  // with the figure of one byte more, which needs no rate.
  const auto memory = [](int own) {
    return bounds_of(
        "topology: {name: dgx-h100, nodes: 1}\ntensors:\n"
        "  - {name: a, shape: [1000000000], dtype: uint8, source: {boxes: {0: [[0, " +
        std::to_string(1000000000 - own) + "]], 1: [[" + std::to_string(1000000000 - own) +
        ", 1000000000]]}}, destination: {boxes: {1: [[0, 1000000000]]}}}\n");
  };
  const double none = seconds(memory(0 + 1), "hbm");
  const double half = seconds(memory(500000000), "hbm");
  EXPECT_NEAR(half / none, 1.5, 1e-6);
}

TEST(Bound, LocalBytesCostNothing) {
  const BoundReport report = bounds_of(R"(
topology: {efficiency: 1, latency: 0, nodes: [{count: 2, gpus: 1, nic: 1B/s}]}
tensors:
  - {name: a, shape: [60], dtype: uint8, source: {mesh: {x: 2}, placements: [R], ranks: 0-1},
     destination: {mesh: {y: 2}, placements: [S(0)], ranks: 0-1}}
)");
  EXPECT_EQ(report.bound_ps, 0);
}

TEST(Bound, LineRatesIgnoreEfficiency) {
  const BoundReport report = bounds_of(R"(
topology: {efficiency: 0.5, latency: 0, nodes: [{count: 2, gpus: 1, nic: 10B/s}]}
tensors:
  - {name: a, shape: [100], dtype: uint8, source: {mesh: {x: 1}, placements: [R], ranks: 0},
     destination: {mesh: {y: 1}, placements: [R], ranks: 1}}
)");
  EXPECT_DOUBLE_EQ(to_seconds(report.bound_ps), 20.0);
  EXPECT_DOUBLE_EQ(to_seconds(report.bound_line_rate_ps), 10.0);
}

TEST(MinMaxFlow, EqualsTheWorstSetOfDemandsByBruteForce) {
  // T* = max over sets Y of demands: w(Y) / E(N(Y)). All 2^n sets are tried.
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    const auto ports = static_cast<std::size_t>(testing::pick(random, 1, 6));
    std::vector<std::int64_t> rates;
    for (std::size_t p = 0; p < ports; ++p) rates.push_back(testing::pick(random, 1, 50));
    std::vector<FlowDemand> demands(static_cast<std::size_t>(testing::pick(random, 1, 9)));
    for (FlowDemand& demand : demands) {
      demand.bytes = testing::pick(random, 0, 1000);
      for (std::uint32_t p = 0; p < ports; ++p)
        if (testing::pick(random, 0, 1) == 1) demand.ports.push_back(p);
      if (demand.ports.empty()) demand.ports.push_back(0);
    }
    std::int64_t best_bytes = 0;
    std::int64_t best_rate = 1;
    for (std::uint32_t set = 1; set < 1u << demands.size(); ++set) {
      std::int64_t bytes = 0;
      std::vector<bool> used(ports, false);
      for (std::size_t i = 0; i < demands.size(); ++i) {
        if ((set >> i & 1u) == 0) continue;
        bytes += demands[i].bytes;
        for (std::uint32_t p : demands[i].ports) used[p] = true;
      }
      std::int64_t rate = 0;
      for (std::size_t p = 0; p < ports; ++p)
        if (used[p]) rate += rates[p];
      if (static_cast<__int128>(bytes) * best_rate > static_cast<__int128>(best_bytes) * rate) {
        best_bytes = bytes;
        best_rate = rate;
      }
    }
    const MinMaxCut cut = min_max_cut(demands, rates);
    EXPECT_EQ(static_cast<__int128>(cut.bytes) * best_rate,
              static_cast<__int128>(best_bytes) * cut.rate)
        << "round " << round;
  }
}

TEST(MinMaxFlow, NothingToMoveTakesNoTime) { EXPECT_EQ(min_max_cut({}, {1, 2}).bytes, 0); }

}  // namespace
}  // namespace transload
