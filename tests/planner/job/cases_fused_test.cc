// User cases: several parts in one buffer, each cut by its own rule. A fused tensor is written as
// its parts, each a tensor of its own with its place in the buffer.
#include "tests/planner/job/cases.h"

namespace transload::testing {
namespace {

// One part of a fused projection: rows of `columns` elements of two bytes.
struct Part {
  std::string name;
  std::int64_t rows = 0;
};

// Parts stacked in one buffer on both sides, whole on rank 0, each cut over `ranks`.
std::string stacked(const std::vector<Part>& parts, std::int64_t columns, int tp) {
  std::string text;
  std::int64_t source = 0;
  std::int64_t destination = 0;
  for (const Part& part : parts) {
    text += tensor(part.name, fmt::format("[{}, {}]", part.rows, columns), "bf16",
                   fmt::format("mesh: {{one: 1}}, placements: [R], ranks: 0, memory: {{buffer: "
                               "in_proj, offset: {}}}",
                               source),
                   fmt::format("mesh: {{tp: {}}}, placements: [S(0)], ranks: 1-{}, memory: "
                               "{{buffer: in_proj, offset: {}}}",
                               tp, tp, destination));
    source += part.rows * columns * 2;
    destination += part.rows / tp * columns * 2;
  }
  return text;
}

// Rows of the fused tensor that `rank` gets, in the order of its buffer: those of each part,
// counted from the part's first row.
Ids fused_rows(const Job& job, const std::vector<Part>& parts, Rank rank) {
  Ids all;
  std::int64_t first = 0;
  for (const Part& part : parts) {
    const Ids held = rows(job, part.name, Side::kDestination).at(rank);
    for (const std::int64_t row : held) all.push_back(first + row);
    first += part.rows;
  }
  return all;
}

Ids joined(const std::vector<Ids>& pieces) {
  Ids all;
  for (const Ids& piece : pieces) all.insert(all.end(), piece.begin(), piece.end());
  return all;
}

// Megatron's linear_qkv: two groups of 4096 q rows, 128 k rows and 128 v rows; eight ranks take
// 1088 rows each, so k and v lie on the last rank of each group's four. A row has 128 bytes.
std::string qkv_parts() {
  const std::string destination = "mesh: {tp: 4}, placements: [S(0)], ranks: 8-11";
  const std::string heads = "mesh: {head: 2, copy: 2}, placements: [S(0), R], ranks: 8-11";
  const auto memory = [](int row) {
    return fmt::format(", memory: {{buffer: qkv, offset: {}}}", row * 128);
  };
  std::string q_boxes;
  std::int64_t low = 0;
  for (int rank = 0; rank < 8; ++rank) {
    const std::int64_t high = low + (rank % 4 == 3 ? 832 : 1088);
    q_boxes += fmt::format("{}{}: [[{}, {}], [0, 64]]", rank == 0 ? "" : ", ", rank, low, high);
    low = high;
  }
  const std::string kv_boxes = "boxes: {3: [[0, 128], [0, 64]], 7: [[128, 256], [0, 64]]}";
  return tensor("q", "[8192, 64]", "bf16", "boxes: {" + q_boxes + "}" + memory(0),
                destination + memory(0)) +
         tensor("k", "[256, 64]", "bf16", kv_boxes + memory(832), heads + memory(2048)) +
         tensor("v", "[256, 64]", "bf16", kv_boxes + memory(960), heads + memory(2176)) +
         fmt::format("buffers: {{qkv: {{bytes: {{{}}}}}}}\n", [] {
           std::string bytes;
           for (int rank = 0; rank < 8; ++rank) bytes += fmt::format("{}: {}, ", rank, 1088 * 128);
           for (int rank = 8; rank < 12; ++rank) bytes += fmt::format("{}: {}, ", rank, 2304 * 128);
           return bytes.substr(0, bytes.size() - 2);
         }());
}

TEST(Case, RC021_InterleavedQkvByItsParts) {
  const Job job = job_of(qkv_parts());
  const auto q = lengths(job, "q", Side::kSource);
  for (Rank rank = 0; rank < 8; ++rank) EXPECT_EQ(q.at(rank), rank % 4 == 3 ? 832 : 1088) << rank;
  for (const char* name : {"k", "v"})
    EXPECT_EQ(lengths(job, name, Side::kSource),
              (std::map<Rank, std::int64_t>{{3, 128}, {7, 128}}));
  EXPECT_EQ(totals(job, "q").count, 10);
  std::map<Rank, int> sources_of_q;
  for (const Operation& op : operations(job, "q")) ++sources_of_q[op.destination];
  EXPECT_EQ(sources_of_q, (std::map<Rank, int>{{8, 2}, {9, 3}, {10, 2}, {11, 3}}));
  for (const char* name : {"k", "v"}) {
    std::vector<std::pair<Rank, Rank>> moves;
    for (const Operation& op : operations(job, name)) moves.emplace_back(op.source, op.destination);
    EXPECT_EQ(moves, (std::vector<std::pair<Rank, Rank>>{{3, 8}, {3, 9}, {7, 10}, {7, 11}}));
  }
  EXPECT_EQ(totals(job).bytes, (8192 + 2 * 2 * 256) * 128);
}

// The same as one tensor of 8704 rows: what each destination rank wants of it as boxes, stored one
// after the other. Rank 9's q rows end where k and v begin, so they are one box; so are rank 11's.
TEST(Case, RC021_InterleavedQkvAsOneTensor) {
  const Job job = job_of(tensor("linear_qkv", "[8704, 64]", "bf16",
                                "mesh: {tp: 8}, placements: [S(0)], ranks: 0-7",
                                "boxes: {8: [[[0, 2048], [0, 64]], [[4096, 4352], [0, 64]]], "
                                "9: [[2048, 4352], [0, 64]], "
                                "10: [[[4352, 6400], [0, 64]], [[8448, 8704], [0, 64]]], "
                                "11: [[6400, 8704], [0, 64]]}"));
  for (const auto& [rank, count] : lengths(job, "linear_qkv", Side::kSource))
    EXPECT_EQ(count, 1088) << rank;
  std::map<Rank, Ranks> sources;
  for (const Operation& op : operations(job)) sources[op.destination].push_back(op.source);
  EXPECT_EQ(sources, (std::map<Rank, Ranks>{
                         {8, {0, 1, 3}}, {9, {1, 2, 3}}, {10, {4, 5, 7}}, {11, {5, 6, 7}}}));
  EXPECT_EQ(totals(job).bytes, totals(job_of(qkv_parts())).bytes);
}

TEST(Case, RC024_GatedDeltaNetPartsAreCutOneByOne) {
  const std::vector<Part> parts = {{"q", 4}, {"k", 4}, {"v", 8}, {"z", 8}, {"b", 2}, {"a", 2}};
  const Job job = job_of(stacked(parts, 16, 2));
  const Ids expected = {0, 1, 4, 5, 8, 9, 10, 11, 16, 17, 18, 19, 24, 26};
  EXPECT_EQ(fused_rows(job, parts, 1), expected);
  EXPECT_NE(fused_rows(job, parts, 1), range(0, 14));
  std::int64_t runs = 0;
  for (const Operation& op : operations(job))
    if (op.destination == 1) runs += op.source_runs;
  EXPECT_EQ(runs, 6);
}

// Two experts a rank, gate over up in 12 rows of four elements; each inference rank keeps three
// rows of both.
TEST(Case, RC027_GateAndUpOfStackedExperts) {
  const auto part = [](const std::string& name, int offset) {
    return tensor(
        name, "[8, 6, 4]", "bf16",
        fmt::format("mesh: {{ep: 4}}, placements: [S(0)], ranks: 0-3, memory: {{buffer: gate_up, "
                    "offset: {}, strides: [48, 4, 1]}}",
                    2 * offset),
        fmt::format("mesh: {{tp: 2}}, placements: [S(1)], ranks: 4-5, memory: {{buffer: gate_up, "
                    "offset: {}, strides: [24, 4, 1]}}",
                    offset));
  };
  const Job job = job_of(part("gate", 0) + part("up", 24));
  // Row r of the stacked expert is row r of gate, or row r - 6 of up.
  const Layout& gate = layout_of(job, "gate", Side::kDestination);
  const Layout& up = layout_of(job, "up", Side::kDestination);
  for (std::int64_t expert = 0; expert < 8; ++expert)
    for (std::int64_t row = 0; row < 3; ++row) {
      EXPECT_EQ(address(gate, 4, {expert, row, 0}), expert * 48 + row * 8);
      EXPECT_EQ(address(up, 4, {expert, row, 0}), expert * 48 + 24 + row * 8);
      EXPECT_EQ(address(gate, 5, {expert, row + 3, 0}), expert * 48 + row * 8);
    }
  EXPECT_EQ(address(gate, 4, {0, 3, 0}), -1);
  EXPECT_EQ(totals(job).count, 16);
  EXPECT_EQ(totals(job, "gate").count, 8);
  EXPECT_EQ(totals(job).pairs, 8);
  std::map<Rank, std::int64_t> runs;
  for (const Operation& op : operations(job)) {
    EXPECT_EQ(op.source_runs, 2) << "one for each of the source's two experts";
    runs[op.destination] += op.destination_runs;
  }
  EXPECT_EQ(runs, (std::map<Rank, std::int64_t>{{4, 8 * 2}, {5, 8 * 2}}));
  // A part that is not there is noticed when the job is read, long before any rank moves.
  EXPECT_EQ(refusal(part("gate", 0)),
            "buffer gate_up, source, rank 0: bytes 48 to 96 belong to no tensor; name them as "
            "padding of the buffer");
}

TEST(Case, RC029_FusedQkvIsCutByPart) {
  const std::vector<Part> parts = {{"q", 4}, {"k", 4}, {"v", 4}};
  std::string text;
  for (int i = 0; i < 3; ++i)
    text += tensor(parts[static_cast<std::size_t>(i)].name, "[4, 4]", "bf16",
                   fmt::format("mesh: {{tp: 4}}, placements: [S(0)], ranks: 0-3, memory: {{buffer: "
                               "qkv, offset: {}}}",
                               i * 8),
                   fmt::format("mesh: {{tp: 2}}, placements: [S(0)], ranks: 4-5, memory: {{buffer: "
                               "qkv, offset: {}}}",
                               i * 16));
  const Job job = job_of(text);
  EXPECT_EQ(fused_rows(job, parts, 4), (Ids{0, 1, 4, 5, 8, 9}));
  std::map<Rank, Ids> from;  // fused rows by source
  std::int64_t runs = 0;
  std::map<std::string, std::int64_t> first = {{"q", 0}, {"k", 4}, {"v", 8}};
  for (const Operation& op : operations(job)) {
    from[op.source].push_back(first[op.tensor] + op.lo());
    runs += op.destination_runs;
    EXPECT_EQ(op.bytes, 8);
  }
  EXPECT_EQ(from.at(0), (Ids{0, 4, 8}));
  EXPECT_EQ(from.at(1), (Ids{1, 5, 9}));
  EXPECT_EQ(totals(job).count, 12);
  EXPECT_EQ(runs, 12);
  EXPECT_EQ(totals(job).pairs, 4);
}

TEST(Case, RC030_MambaInProjOverFourRanks) {
  const std::vector<Part> parts = {{"z", 8192}, {"x", 8192}, {"B", 1024}, {"C", 1024}, {"dt", 128}};
  const Job job = job_of(stacked(parts, 4096, 4));
  EXPECT_EQ(fused_rows(job, parts, 1),
            joined({range(0, 2048), range(8192, 10240), range(16384, 16640), range(17408, 17664),
                    range(18432, 18464)}));
  for (Rank rank = 1; rank <= 4; ++rank)
    EXPECT_EQ(fused_rows(job, parts, rank).size(), 4640u) << rank;
  EXPECT_EQ(totals(job).bytes, std::int64_t{18560} * 4096 * 2);
}

}  // namespace
}  // namespace transload::testing
