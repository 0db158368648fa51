// Logs of NCCL's benchmark programs (alltoall_perf, sendrecv_perf, ...), row by row.
//
// A log holds one table per run; each row is a message size with its time, algorithm bandwidth
// (size / time) and bus bandwidth (what one GPU sends, after the correction for the pattern). All
// rows are kept. Rows where a network collapsed are flagged, and nothing is fitted to them. Source
// of the columns and of the correction factors: NVIDIA/nccl-tests, doc/PERFORMANCE.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/import/findings.h"

namespace transload {

// One half of a row: out of place or in place.
struct NcclTestResult {
  std::int64_t time_ps = 0;         // 0: not stated
  std::int64_t algorithm_rate = 0;  // bytes/s
  std::int64_t bus_rate = 0;        // bytes/s
  std::int64_t wrong = kUnknown;    // elements that were not right; kUnknown: not checked
};

struct NcclTestRow {
  std::int64_t size_bytes = 0;
  std::int32_t ranks = kUnknown;
  NcclTestResult out_of_place;
  NcclTestResult in_place;  // all 0 where the log has none
  bool flagged = false;     // see flag_collapsed_rows
  int line = 0;
};

struct NcclTestTable {
  std::string test;  // "alltoall", "sendrecv"; empty: not stated
  std::string gpu;   // "NVIDIA GB300"; empty: not stated
  std::int32_t ranks = kUnknown;
  std::int32_t hosts = kUnknown;
  std::int32_t racks = kUnknown;
  std::vector<NcclTestRow> rows;
};

struct NcclTestLog {
  std::vector<NcclTestTable> tables;
};

// Reads a log as the programs print it. Ranks and hosts of a table come from its "Rank" lines or
// from a comment that counts them ("16 hosts of one rack, 64 ranks"). Throws InputError for rows
// of another form and for a file without rows.
NcclTestLog parse_nccl_tests_log(const std::string& text, const std::string& file);

// Reads a table of bus bandwidths in GB/s by size and number of nodes, as CSV: a header
// "size,2_nodes,4_nodes" and sizes such as 4K (powers of 1024). One table for each column, with
// `hosts` set; times are not stated. A comment has to say that the figures are bus bandwidths.
NcclTestLog parse_nccl_scaling_csv(const std::string& text, const std::string& file);

// The test that a word of a comment names: "./build/alltoall_perf," is "alltoall". Empty for other
// words.
std::string nccl_test_name(std::string_view word);

// Flags the rows whose out-of-place bus bandwidth is below half of the best at a smaller size:
// healthy networks get faster with size. Rows are compared by size, not by their order.
void flag_collapsed_rows(std::vector<NcclTestRow>& rows);

// The row with the best out-of-place bus bandwidth among those not flagged and without wrong
// elements (the larger size where two are equal), or nullptr.
const NcclTestRow* best_row(const NcclTestTable& table);

// Bytes/s that each GPU of an all-to-all sends to ranks outside its own group of `group` ranks:
// size * (ranks - group) / ranks over the out-of-place time, rounded down. 0 where the time is not
// stated or the group is everyone.
std::int64_t alltoall_rate_beyond_group(const NcclTestRow& row, std::int32_t ranks,
                                        std::int32_t group);

// The time that a small message costs whatever its size: the lower median of time - size / best
// algorithm bandwidth, over the rows that take at most twice the least time. Flagged and wrong rows
// do not count. 0 where fewer than three rows are left.
std::int64_t fitted_latency_ps(const NcclTestTable& table);

}  // namespace transload
