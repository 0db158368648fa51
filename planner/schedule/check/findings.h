// What a check has found so far, and the words in which violations name operations and tensors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "planner/schedule/access.h"
#include "planner/schedule/check/check_plan.h"

namespace transload {

inline constexpr std::string_view kExactlyOnce = "exactly-once";
inline constexpr std::string_view kAcyclic = "acyclic";
inline constexpr std::string_view kStaging = "staging";
inline constexpr std::string_view kIssueLimits = "issue-limits";

// Collects violations up to a limit; one more only marks the report as truncated.
class Findings {
 public:
  explicit Findings(std::size_t limit) : limit_(limit) {}

  void add(std::string_view invariant, std::string text) {
    report_.ok = false;
    if (report_.violations.size() < limit_)
      report_.violations.push_back({std::string(invariant), std::move(text)});
    else
      report_.truncated = true;
  }
  // True once nothing more would be kept: checks may stop looking.
  bool full() const { return report_.truncated; }
  CheckReport take() { return std::move(report_); }

 private:
  std::size_t limit_;
  CheckReport report_;
};

// The class of a rank-local slot number; the slot exists (validated).
SlotClass slot_class_of(const Plan& plan, std::int32_t rank, std::int32_t slot);

// An unpack out of a bucket: it writes only those elements that its rank's destination shards hold.
bool is_clipped(const Plan& plan, OpId op);

// "operation 17 (transfer, rank 0 -> rank 8, bundle 3 bytes 0..4096)"
std::string describe_op(const Plan& plan, OpId op);
// "tensor layers.0.w box [0,4) x [0,8)"; further tensors of a range are counted.
std::string describe_box(const Plan& plan, std::uint32_t tensor, std::uint64_t tensors,
                         std::span<const std::int64_t> bounds);

}  // namespace transload
