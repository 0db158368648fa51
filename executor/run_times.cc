#include "executor/run_times.h"

#include <algorithm>
#include <utility>

namespace transload {

void summarise(std::vector<double>& seconds, RunResult& result) {
  std::sort(seconds.begin(), seconds.end());
  const std::size_t middle = seconds.size() / 2;
  result.refit_min_s = seconds.front();
  result.refit_max_s = seconds.back();
  result.refit_s =
      seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
}

void keep_verdict(VerifyReport&& report, RunResult& result) {
  result.verified_bytes = report.verified_bytes;
  if (report.mismatched_bytes <= result.mismatched_bytes) return;
  result.mismatched_bytes = report.mismatched_bytes;
  result.mismatches = std::move(report.mismatches);
}

}  // namespace transload
