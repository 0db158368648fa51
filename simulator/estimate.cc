#include "simulator/estimate.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "common/error.h"
#include "simulator/replay/replay.h"

namespace transload {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// A link or a lane, within one stretch between fences.
struct Station {
  double load_s = 0;
  double head_s = kNever;  // shortest way to the first byte of one of its operations
  double tail_s = kNever;  // shortest way from the end of one of its operations
};

class Estimate {
 public:
  explicit Estimate(const Plan& plan)
      : plan_(plan),
        costs_(operation_costs(plan)),
        stage_(plan.operations(), 0),
        head_(plan.operations(), 0),
        tail_(plan.operations(), 0),
        links_(plan.link_kind.size()),
        lanes_(plan.ranks() * kLanes) {}

  double seconds() {
    find_stages();
    find_heads();
    find_tails();
    double total = 0;
    std::size_t begin = 0;
    while (begin < by_stage_.size()) {
      std::size_t end = begin;
      while (end < by_stage_.size() && stage_[by_stage_[end]] == stage_[by_stage_[begin]]) ++end;
      total += stage_seconds(std::span(by_stage_).subspan(begin, end - begin));
      begin = end;
    }
    return total;
  }

 private:
  // Edges go from smaller to larger ids, so one pass in either direction visits every edge in
  // order. Edges that break that rule belong to a plan that stalls; they are left out.
  template <class Visit>
  void for_each_edge(OpId op, Visit&& visit) const {
    for (OpId before : op_after(plan_, op))
      if (before < op) visit(before, false);
    for (OpId before : op_stream(plan_, op))
      if (before < op) visit(before, true);
  }

  // A stage is a number of fences that lie in front of an operation.
  void find_stages() {
    for (OpId op = 0; op < plan_.operations(); ++op)
      for_each_edge(op, [&](OpId before, bool) {
        const std::uint32_t step = op_kind(plan_, before) == OpKind::kFence ? 1 : 0;
        stage_[op] = std::max(stage_[op], stage_[before] + step);
      });
    by_stage_.resize(plan_.operations());
    std::iota(by_stage_.begin(), by_stage_.end(), OpId{0});
    std::stable_sort(by_stage_.begin(), by_stage_.end(),
                     [&](OpId a, OpId b) { return stage_[a] < stage_[b]; });
  }

  double launch_s(OpId op) const {
    return std::max(lane_occupancy_s(plan_, op, true), lane_occupancy_s(plan_, op, false));
  }
  double delay_s(OpId op) const { return launch_s(op) + costs_.latency_s[op]; }
  // From the start of an operation until a successor may go on: a stream hop passes on its first
  // piece.
  double step_s(OpId op, bool stream) const {
    if (!stream || plan_.op_bytes[op] == 0) return delay_s(op) + costs_.pure_s[op];
    const double share =
        static_cast<double>(plan_.header().piece_bytes) / static_cast<double>(plan_.op_bytes[op]);
    return delay_s(op) + std::min(share, 1.0) * costs_.pure_s[op];
  }

  void find_heads() {
    for (OpId op = 0; op < plan_.operations(); ++op)
      for_each_edge(op, [&](OpId before, bool stream) {
        if (stage_[before] == stage_[op])
          head_[op] = std::max(head_[op], head_[before] + step_s(before, stream));
      });
  }

  void find_tails() {
    for (OpId op = static_cast<OpId>(plan_.operations()); op-- > 0;)
      for_each_edge(op, [&](OpId before, bool stream) {
        if (stage_[before] != stage_[op]) return;
        // Behind a stream hop only what its successor adds to the hop's own time is tail.
        const double after_end = stream ? delay_s(op) : delay_s(op) + costs_.pure_s[op];
        tail_[before] = std::max(tail_[before], after_end + tail_[op]);
      });
  }

  // Host work loads its port by its duration, as many at once as the window lets.
  double link_load_s(OpId op, std::size_t port) const {
    if (op_kind(plan_, op) == OpKind::kHost) return costs_.latency_s[op] / plan_.port_window[port];
    const auto rate = static_cast<double>(link_achieved_rate(plan_, plan_.port_link[port]));
    return rate > 0 ? costs_.wire_bytes[op] / rate : 0;
  }

  // Visits the stations that `op` loads: station, load, and its own time before and behind that
  // load.
  template <class Visit>
  void for_each_station(OpId op, Visit&& visit) {
    for (bool at_source : {true, false}) {
      const std::int32_t port = at_source ? plan_.op_out_port[op] : plan_.op_in_port[op];
      if (port < 0) continue;
      const auto p = static_cast<std::size_t>(port);
      const bool host = op_kind(plan_, op) == OpKind::kHost;
      visit(links_[plan_.port_link[p]], link_load_s(op, p), host ? 0.0 : delay_s(op), 0.0);
      const auto rank =
          static_cast<std::size_t>(at_source ? plan_.op_source[op] : plan_.op_destination[op]);
      visit(lanes_[rank * kLanes + static_cast<std::size_t>(lane_of(plan_, op, at_source))],
            lane_occupancy_s(plan_, op, at_source), 0.0, costs_.latency_s[op] + costs_.pure_s[op]);
    }
    for_each_path_link(plan_, op, [&](std::uint32_t link) {
      const auto rate = static_cast<double>(link_achieved_rate(plan_, link));
      visit(links_[link], rate > 0 ? costs_.wire_bytes[op] / rate : 0.0, delay_s(op), 0.0);
    });
  }

  double stage_seconds(std::span<const OpId> ops) {
    double longest = 0;
    for (OpId op : ops) {
      longest = std::max(longest, head_[op] + delay_s(op) + costs_.pure_s[op]);
      for_each_station(op, [&](Station& station, double load_s, double before_s, double behind_s) {
        if (load_s <= 0) return;
        station.load_s += load_s;
        station.head_s = std::min(station.head_s, head_[op] + before_s);
        station.tail_s = std::min(station.tail_s, behind_s + tail_[op]);
      });
    }
    for (OpId op : ops)
      for_each_station(op, [&](const Station& station, double, double, double) {
        if (station.load_s > 0)
          longest = std::max(longest, station.head_s + station.load_s + station.tail_s);
      });
    // Leave the stations as they were found: plans may have as many stages as operations.
    for (OpId op : ops)
      for_each_station(op, [](Station& station, double, double, double) { station = Station{}; });
    return longest;
  }

  const Plan& plan_;
  OperationCosts costs_;
  std::vector<std::uint32_t> stage_;
  std::vector<OpId> by_stage_;
  std::vector<double> head_;
  std::vector<double> tail_;
  std::vector<Station> links_;
  std::vector<Station> lanes_;
};

}  // namespace

double closed_form_seconds(const Plan& plan) { return Estimate(plan).seconds(); }

double estimate_seconds(const Plan& plan) {
  const std::size_t n = plan.operations();
  if (n > kMostEstimatedOperations) return closed_form_seconds(plan);
  std::vector<double> times(4 * n);
  std::vector<OpId> released_by(n);
  const auto column = [&](std::size_t i) { return std::span(times).subspan(i * n, n); };
  const ReplayRecord record{column(0), column(1), column(2), column(3), released_by};
  try {
    replay(plan, operation_costs(plan), {}, ReplayEngine::kMaxMin, record);
  } catch (const RunFailure&) {
    return closed_form_seconds(plan);  // it stalls
  }
  return n == 0 ? 0 : *std::max_element(record.finish_s.begin(), record.finish_s.end());
}

}  // namespace transload
