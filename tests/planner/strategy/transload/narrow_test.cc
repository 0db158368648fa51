// Oversubscribed fabrics and sites by hand: NIC 1 B/s, NVLink 9 B/s, 1-byte elements.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/units.h"
#include "tests/planner/strategy/small_jobs.h"

namespace transload {
namespace {

struct Outcome {
  std::uint64_t crossing_bytes = 0;  // between the two halves of the ranks
  double ideal_s = 0;
  double bound_s = 0;
};

Outcome outcome_of(const std::string& text, int border) {
  const Job job = job_from_text(text, "job.yaml", "");
  const Plan plan = testing::plan_of(job, job.strategy);
  Outcome outcome{0, ideal_seconds(plan), to_seconds(prepare(job).bounds.bound_ps)};
  for (OpId op = 0; op < plan.operations(); ++op)
    if (op_kind(plan, op) == OpKind::kTransfer &&
        (plan.op_source[op] < border) != (plan.op_destination[op] < border))
      outcome.crossing_bytes += plan.op_bytes[op];
  return outcome;
}

// Two nodes of two GPUs hold 256 bytes, each of four others wants all of them.
std::string four_replicas(const std::string& topology) {
  return topology +
         "tensors:\n  - {name: w, shape: [256], dtype: uint8, source: {mesh: {x: 4}, placements: "
         "[S(0)], ranks: 0-3}, destination: {mesh: {d: 4, x: 2}, placements: [R, S(0)], ranks: "
         "4-11}}\n";
}

TEST(TransloadNarrow, ALinkBetweenSitesCarriesEveryByteOnce) {
  // 256 bytes over 1 B/s; four copies would take 1,024 s.
  const Outcome outcome =
      outcome_of(four_replicas("topology:\n  efficiency: 1\n  latency: 0\n  nodes:\n"
                               "    - {count: 2, gpus: 2, nvlink: 9B/s, nic: 1B/s, site: a}\n"
                               "    - {count: 4, gpus: 2, nvlink: 9B/s, nic: 1B/s, site: b}\n"
                               "  links: [{between: [a, b], rate: 1B/s}]\n"),
                 4);
  EXPECT_EQ(outcome.crossing_bytes, 256u);
  EXPECT_DOUBLE_EQ(outcome.bound_s, 256);
  EXPECT_DOUBLE_EQ(outcome.ideal_s, 256);
}

TEST(TransloadNarrow, AWideLinkIsLeftAlone) {
  // 256 bytes into each of four domains of two NICs: 128 s, whatever 1,000 B/s between the sites
  // carry.
  const Outcome outcome =
      outcome_of(four_replicas("topology:\n  efficiency: 1\n  latency: 0\n  nodes:\n"
                               "    - {count: 2, gpus: 2, nvlink: 9B/s, nic: 8B/s, site: a}\n"
                               "    - {count: 4, gpus: 2, nvlink: 9B/s, nic: 1B/s, site: b}\n"
                               "  links: [{between: [a, b], rate: 1000B/s}]\n"),
                 4);
  EXPECT_EQ(outcome.crossing_bytes, 1024u);
  EXPECT_DOUBLE_EQ(outcome.ideal_s, 128);
}

TEST(TransloadNarrow, DomainsBelowOneUpLinkShareWhatEnters) {
  // Leaf 1 (ranks 4 to 11) has eight NICs and an up-link of 2 B/s: 128 s once, 512 s four times.
  const Outcome outcome = outcome_of(
      four_replicas("topology:\n  efficiency: 1\n  latency: 0\n"
                    "  nodes: [{count: 6, gpus: 2, nvlink: 9B/s, nic: 1B/s}]\n"
                    "  fabric:\n    kind: switches\n    switches:\n"
                    "      - {name: spine}\n"
                    "      - {name: leaf0, parent: spine, nodes: [node0, node1]}\n"
                    "      - {name: leaf1, parent: spine, uplink: 2B/s, nodes: [node2, node3, "
                    "node4, node5]}\n"),
      4);
  EXPECT_DOUBLE_EQ(outcome.bound_s, 128);
  EXPECT_EQ(outcome.crossing_bytes, 256u);
  // The sources are relieved by relays as well, and these load the same NICs: not evenly yet.
  EXPECT_LE(outcome.ideal_s, 1.25 * 128);
}

TEST(TransloadNarrow, AReplicaBelowTheSameLeafIsPreferred) {
  // Both leaves hold everything; each of two receivers has a source below its own leaf, whose
  // up-link is four times narrower than its NICs.
  const Outcome outcome = outcome_of(
      "topology:\n  efficiency: 1\n  latency: 0\n  nodes: [{count: 8, gpus: 1, nic: 1B/s}]\n"
      "  fabric: {kind: leaf-spine, unit: 4, oversubscription: 4}\n"
      "tensors:\n  - {name: w, shape: [120], dtype: uint8, source: {mesh: {x: 6}, placements: [R], "
      "ranks: [0, 1, 2, 4, 5, 6]}, destination: {mesh: {x: 2}, placements: [R], ranks: [3, 7]}}\n",
      4);
  EXPECT_DOUBLE_EQ(outcome.ideal_s, 120);
}

}  // namespace
}  // namespace transload
