#include <algorithm>
#include <utility>

#include "common/units.h"
#include "topologies/import/nccl_tests.h"

namespace transload {
namespace {

constexpr std::int64_t kMaxRate = 1'000'000'000'000'000;  // bytes/s; no row is read above it

}  // namespace

std::string nccl_test_name(std::string_view word) {
  constexpr std::string_view kSuffix = "_perf";
  while (!word.empty() && std::string_view(",.:;()").find(word.back()) != std::string_view::npos)
    word.remove_suffix(1);
  if (!word.ends_with(kSuffix)) return "";
  word.remove_suffix(kSuffix.size());
  const std::size_t slash = word.rfind('/');
  if (slash != std::string_view::npos) word.remove_prefix(slash + 1);
  return std::string(word);
}

void flag_collapsed_rows(std::vector<NcclTestRow>& rows) {
  std::vector<NcclTestRow*> by_size;
  for (NcclTestRow& row : rows) by_size.push_back(&row);
  std::stable_sort(by_size.begin(), by_size.end(), [](const NcclTestRow* a, const NcclTestRow* b) {
    return a->size_bytes < b->size_bytes;
  });
  std::int64_t best = 0;          // at smaller sizes
  std::int64_t best_of_size = 0;  // at this size
  std::int64_t size = -1;
  for (NcclTestRow* row : by_size) {
    if (row->size_bytes != size) best = std::max(best, best_of_size);
    size = row->size_bytes;
    best_of_size = std::max(best_of_size, row->out_of_place.bus_rate);
    row->flagged = row->out_of_place.bus_rate < best - row->out_of_place.bus_rate;
  }
}

const NcclTestRow* best_row(const NcclTestTable& table) {
  const NcclTestRow* best = nullptr;
  for (const NcclTestRow& row : table.rows) {
    if (row.flagged || row.out_of_place.wrong > 0) continue;
    const auto key = [](const NcclTestRow& one) {
      return std::pair(one.out_of_place.bus_rate, one.size_bytes);
    };
    if (best == nullptr || key(row) > key(*best)) best = &row;
  }
  return best;
}

std::int64_t alltoall_rate_beyond_group(const NcclTestRow& row, std::int32_t ranks,
                                        std::int32_t group) {
  if (row.out_of_place.time_ps == 0 || group < 1 || group >= ranks) return 0;
  const __int128 bytes = static_cast<__int128>(row.size_bytes) * (ranks - group) / ranks;
  const __int128 rate = bytes * kPicosecondsPerSecond / row.out_of_place.time_ps;
  return static_cast<std::int64_t>(std::min<__int128>(rate, kMaxRate));
}

std::int64_t fitted_latency_ps(const NcclTestTable& table) {
  std::int64_t least = 0;
  std::int64_t best_rate = 0;
  std::vector<const NcclTestRow*> rows;
  for (const NcclTestRow& row : table.rows) {
    if (row.flagged || row.out_of_place.wrong > 0 || row.out_of_place.time_ps == 0) continue;
    rows.push_back(&row);
    best_rate = std::max(best_rate, row.out_of_place.algorithm_rate);
    if (least == 0 || row.out_of_place.time_ps < least) least = row.out_of_place.time_ps;
  }
  std::vector<std::int64_t> latencies;
  for (const NcclTestRow* row : rows) {
    const std::int64_t time = row->out_of_place.time_ps;
    if (time - least > least) continue;
    latencies.push_back(std::max<std::int64_t>(0, time - duration_ps(row->size_bytes, best_rate)));
  }
  if (latencies.size() < 3) return 0;
  const std::size_t middle = (latencies.size() - 1) / 2;
  std::nth_element(latencies.begin(), latencies.begin() + static_cast<std::ptrdiff_t>(middle),
                   latencies.end());
  return latencies[middle];
}

}  // namespace transload
