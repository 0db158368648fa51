// User cases: two axes over one dimension in another order than the mesh's, strided shards and
// their two readings.
#include "tests/planner/job/cases.h"

namespace transload::testing {
namespace {

using RowsOfRanks = std::map<Rank, Ids>;

// `ranks` sources (placements and what else is given) to one rank that wants all.
Job gathered(const std::string& shape, const std::string& source, Rank to) {
  return job_of(tensor("w", shape, "fp32", source,
                       fmt::format("mesh: {{one: 1}}, placements: [R], ranks: {}", to)));
}

// TP cuts first, FSDP second; the mesh is (dp, tp). Written by the order, and as torch writes it.
TEST(Case, RC013_FsdpOverTpKeepsRowsInOrder) {
  for (const char* source : {"mesh: {dp: 2, tp: 2}, placements: [S(0), S(0)], order: [tp, dp]",
                             "mesh: {dp: 2, tp: 2}, placements: [S(0, split_factor=2), S(0)]"}) {
    const Job job = gathered("[4, 1]", std::string(source) + ", ranks: 0-3", 4);
    // Ranks 0-3 are (dp0,tp0), (dp0,tp1), (dp1,tp0), (dp1,tp1). One after the other their rows
    // would be 0, 2, 1, 3.
    EXPECT_EQ(rows(job, "w", Side::kSource), (RowsOfRanks{{0, {0}}, {1, {2}}, {2, {1}}, {3, {3}}}))
        << source;
    std::map<std::int64_t, Rank> from;
    for (const Operation& op : operations(job)) {
      EXPECT_EQ(op.bytes, 4);
      from[op.lo()] = op.source;
    }
    EXPECT_EQ(from, (std::map<std::int64_t, Rank>{{0, 0}, {1, 2}, {2, 1}, {3, 3}})) << source;
  }
}

TEST(Case, RC014_FsdpOverTpOfAWholeMesh) {
  for (const char* source : {"mesh: {fsdp: 2, tp: 4}, placements: [S(0), S(0)], order: [tp, fsdp]",
                             "mesh: {fsdp: 2, tp: 4}, placements: [S(0, split_factor=4), S(0)]"}) {
    const Job job = job_of(tensor("w", "[16, 8]", "bf16", std::string(source) + ", ranks: 0-7",
                                  "mesh: {tp: 2}, placements: [S(0)], ranks: 8-9"));
    const RowsOfRanks held = rows(job, "w", Side::kSource);
    EXPECT_EQ(held.at(0), (Ids{0, 1})) << source;    // (0,0)
    EXPECT_EQ(held.at(4), (Ids{2, 3})) << source;    // (1,0)
    EXPECT_EQ(held.at(1), (Ids{4, 5})) << source;    // (0,1)
    EXPECT_EQ(held.at(7), (Ids{14, 15})) << source;  // (1,3)
    std::map<Rank, int> per_destination;
    for (const Operation& op : operations(job)) ++per_destination[op.destination];
    EXPECT_EQ(per_destination, (std::map<Rank, int>{{8, 4}, {9, 4}})) << source;
  }
}

TEST(Case, RC015_UnevenFsdpOverTpHasOneReadingByItsOrder) {
  const RowsOfRanks expected{{0, {0, 1}}, {1, {3}}, {2, {2}}, {3, {4}}};
  const std::string mesh = "mesh: {dp: 2, tp: 2}, ranks: 0-3, placements: ";
  EXPECT_EQ(rows(gathered("[5]", mesh + "[S(0), S(0)], order: [tp, dp]", 4), "w", Side::kSource),
            expected);
  EXPECT_EQ(rows(gathered("[5]", mesh + "[S(0, split_factor=2, reading=factor-first), S(0)]", 4),
                 "w", Side::kSource),
            expected);
}

TEST(Case, RC016_AnUnevenStridedShardNeedsItsReading) {
  const auto source = [](const std::string& reading) {
    return "mesh: {x: 2}, ranks: 0-1, placements: [S(0, split_factor=2" + reading + ")]";
  };
  EXPECT_EQ(rows(gathered("[5]", source(", reading=factor-first"), 2), "w", Side::kSource),
            (RowsOfRanks{{0, {0, 1, 3}}, {1, {2, 4}}}));
  EXPECT_EQ(rows(gathered("[5]", source(", reading=unflatten"), 2), "w", Side::kSource),
            (RowsOfRanks{{0, {0, 1, 3, 4}}, {1, {2}}}));
  const std::string message =
      refusal(tensor("w", "[5]", "fp32", source(""), "mesh: {one: 1}, placements: [R], ranks: 2"));
  for (const char* word :
       {"tensor w, source", "two readings", "reading=factor-first", "reading=unflatten", "[2, 3]"})
    EXPECT_NE(message.find(word), std::string::npos) << message;
}

TEST(Case, RC019_OnlyPartnersOnTheChangedAxisExchange) {
  const std::string mesh = "mesh: {a: 2, b: 2}, ranks: 0-3, placements: ";
  const std::string w =
      tensor("w", "[8, 8, 8]", "fp32", mesh + "[S(1), S(1)]", mesh + "[S(1), S(2)]");
  const Job job = job_of(w);
  EXPECT_EQ(totals(job).count, 8);
  int local = 0;
  std::map<Rank, std::int64_t> sent;
  for (const Operation& op : operations(job)) {
    EXPECT_EQ(op.source / 2, op.destination / 2) << "nothing moves along axis a";
    if (op.source == op.destination)
      ++local;
    else
      sent[op.source] += op.bytes;
  }
  EXPECT_EQ(local, 4);
  // Half of 8 x 2 x 8 elements of 4 bytes.
  EXPECT_EQ(sent, (std::map<Rank, std::int64_t>{{0, 256}, {1, 256}, {2, 256}, {3, 256}}));
  const PlanTotals one_domain = planned(job);
  EXPECT_EQ(one_domain.network_bytes, 0u);
  EXPECT_EQ(one_domain.nvlink_bytes, 1024u);
  const PlanTotals apart = planned(job_of(w, nodes({1, 1, 1, 1})));
  EXPECT_EQ(apart.network_bytes, 1024u);
  EXPECT_EQ(apart.nvlink_bytes, 0u);
}

}  // namespace
}  // namespace transload::testing
