#include "planner/schedule/fluid_time.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "common/units.h"
#include "planner/schedule/fair_shares.h"
#include "planner/schedule/issue.h"
#include "planner/schedule/operation_times.h"

namespace transload {
namespace {

// Ends closer together than this part of the time in flight are one event.
constexpr std::int64_t kEventsPerFlight = 100;

std::vector<std::int64_t> link_rates(const Plan& plan) {
  std::vector<std::int64_t> rates(plan.link_kind.size());
  for (std::uint32_t link = 0; link < rates.size(); ++link)
    rates[link] = link_achieved_rate(plan, link);
  return rates;
}

std::size_t most_path_links(const Plan& plan) {
  std::size_t most = 0;
  for (std::size_t path = 0; path + 1 < plan.path_link_first.size(); ++path)
    most = std::max<std::size_t>(most, plan.path_link_first[path + 1] - plan.path_link_first[path]);
  return most;
}

class FluidReplay {
 public:
  explicit FluidReplay(const Plan& plan)
      : plan_(plan),
        rates_(link_rates(plan)),
        issue_(plan),
        shares_(rates_, 2 + 2 * most_path_links(plan)),
        lane_free_ps_(plan.ranks() * kLanes, 0),
        streams_(!plan.op_stream.empty()),
        event_ps_(flight_ps() / kEventsPerFlight) {
    if (!streams_) return;
    first_landed_ps_.assign(plan.operations(), 0);
    has_ended_.assign(plan.operations(), 0);
    held_.assign(plan.operations(), 0);
    downstream_ = stream_successors(plan);
  }

  std::int64_t run(std::int64_t limit_ps) {
    issue_.begin(ready_);
    proceed();
    while (issue_.unfinished() > 0) {
      if (flying_.empty() && departures_.empty()) return kNeverEnds;
      advance();
      if (now_ps_ >= limit_ps) return limit_ps;
      proceed();
    }
    return now_ps_;
  }

 private:
  struct Departure {
    std::int64_t date_ps;
    std::uint64_t number;
    OpId op;
    bool operator>(const Departure& other) const {
      return std::tie(date_ps, number) > std::tie(other.date_ps, other.number);
    }
  };
  struct Flight {
    OpId op = 0;
    std::uint32_t flow = 0;
    unsigned __int128 left = 0;  // bytes x picoseconds per second: what rate x picoseconds drains
    std::int64_t end_ps = 0;     // at the rate of now, from now on
  };

  // How long an operation of the most loaded link is under way, on average: it shares the link with
  // the others of its window or group.
  std::int64_t flight_ps() const {
    struct Load {
      std::int64_t busy_ps = 0;
      std::int64_t operations = 0;
      std::int64_t width = 1;
    };
    std::vector<Load> loads(rates_.size());
    for (OpId op = 0; op < plan_.operations(); ++op) {
      const std::int64_t bytes = wire_bytes(plan_, op);
      for (const std::int32_t port : {plan_.op_out_port[op], plan_.op_in_port[op]}) {
        if (port < 0 || bytes == 0) continue;
        const auto p = static_cast<std::size_t>(port);
        Load& load = loads[plan_.port_link[p]];
        load.busy_ps += duration_ps(bytes, rates_[plan_.port_link[p]]);
        ++load.operations;
        // Hops of bucket collectives follow one another, whatever the window allows.
        if (op_role(plan_, op) != OpRole::kCollective && op_role(plan_, op) != OpRole::kExport)
          load.width =
              plan_.op_group[op] >= 0 ? plan_.header().colours_per_group : plan_.port_window[p];
      }
    }
    const Load busiest =
        loads.empty()
            ? Load{}
            : *std::max_element(loads.begin(), loads.end(),
                                [](const Load& a, const Load& b) { return a.busy_ps < b.busy_ps; });
    if (busiest.operations == 0) return 0;
    return busiest.busy_ps / busiest.operations *
           std::clamp<std::int64_t>(busiest.width, 1, busiest.operations);
  }

  // Starts and ends whatever the issue rule allows at this instant.
  void proceed() {
    std::size_t next_ended = 0;
    std::size_t next_ready = 0;
    while (true) {
      if (next_ended < ended_.size())
        end(ended_[next_ended++]);
      else if (next_ready < ready_.size())
        start(ready_[next_ready++]);
      else if (!departures_.empty() && departures_.top().date_ps <= now_ps_ + event_ps_ / 2)
        depart_next();
      else
        break;
    }
    ended_.clear();
    ready_.clear();
  }

  void start(OpId op) {
    issue_.started(op, ready_);
    std::int64_t flow_ps = now_ps_;
    if (op_kind(plan_, op) != OpKind::kFence)
      flow_ps = std::max(launch(op), upstream_landed_ps(op)) + latency_ps(plan_, op);
    if (streams_) first_landed_ps_[op] = flow_ps + piece_ps(op);
    if (flow_ps > now_ps_)
      departures_.push({flow_ps, departed_++, op});
    else
      depart(op);
  }

  // When the launches on the operation's lanes are over; the two sides of a transfer launch
  // independently of each other.
  std::int64_t launch(OpId op) {
    std::int64_t over_ps = now_ps_;
    for (const bool at_source : {true, false}) {
      if ((at_source ? plan_.op_out_port[op] : plan_.op_in_port[op]) < 0) continue;
      const std::int64_t occupancy = lane_occupancy_ps(plan_, op, at_source);
      if (occupancy <= 0) continue;
      const auto rank =
          static_cast<std::size_t>(at_source ? plan_.op_source[op] : plan_.op_destination[op]);
      std::int64_t& free =
          lane_free_ps_[rank * kLanes + static_cast<std::size_t>(lane_of(plan_, op, at_source))];
      free = std::max(free, now_ps_) + occupancy;
      over_ps = std::max(over_ps, free);
    }
    return over_ps;
  }

  std::int64_t upstream_landed_ps(OpId op) const {
    std::int64_t landed = 0;
    if (streams_)
      for (const OpId upstream : op_stream(plan_, op))
        landed = std::max(landed, first_landed_ps_[upstream]);
    return landed;
  }

  // A stream hop passes on its first piece after this time.
  std::int64_t piece_ps(OpId op) const {
    const auto piece = static_cast<std::int64_t>(
        std::min<std::uint64_t>(plan_.header().piece_bytes, plan_.op_bytes[op]));
    return duration_ps(piece, slowest_link_rate(plan_, op));
  }

  void depart_next() {
    const OpId op = departures_.top().op;
    departures_.pop();
    depart(op);
  }

  // All delays of `op` are over.
  void depart(OpId op) {
    const std::int64_t bytes = wire_bytes(plan_, op);
    if (bytes == 0 || !moves_bytes(plan_, op) || !limited(op)) {
      drained(op);
      return;
    }
    flying_.push_back({op, shares_.add(links_),
                       static_cast<unsigned __int128>(bytes) * kPicosecondsPerSecond, 0});
  }

  // Collects the operation's links; false where none of them costs time.
  bool limited(OpId op) {
    links_.clear();
    for (const std::int32_t port : {plan_.op_out_port[op], plan_.op_in_port[op]})
      if (port >= 0) links_.push_back(plan_.port_link[static_cast<std::size_t>(port)]);
    for_each_path_link(plan_, op, [&](std::uint32_t link) { links_.push_back(link); });
    return std::any_of(links_.begin(), links_.end(),
                       [&](std::uint32_t link) { return rates_[link] > 0; });
  }

  // All bytes have moved. A stream hop ends no earlier than what it passes on.
  void drained(OpId op) {
    if (streams_ && !upstreams_ended(op))
      held_[op] = 1;
    else
      ended_.push_back(op);
  }

  bool upstreams_ended(OpId op) const {
    const auto upstreams = op_stream(plan_, op);
    return std::all_of(upstreams.begin(), upstreams.end(),
                       [&](OpId upstream) { return has_ended_[upstream] != 0; });
  }

  void end(OpId op) {
    issue_.finished(op, ready_);
    if (!streams_) return;
    has_ended_[op] = 1;
    for (const OpId hop : downstream_.of(op)) {
      if (!held_[hop] || !upstreams_ended(hop)) continue;
      held_[hop] = 0;
      ended_.push_back(hop);
    }
  }

  // To the next event: the mean of the ends that count as one, or a departure before that.
  void advance() {
    if (shares_.changed()) shares_.solve();
    std::int64_t first = INT64_MAX;
    for (Flight& flight : flying_) {
      const auto rate = static_cast<unsigned __int128>(shares_.rate(flight.flow));
      flight.end_ps = static_cast<std::int64_t>((flight.left + rate - 1) / rate);
      first = std::min(first, flight.end_ps);
    }
    std::int64_t step = INT64_MAX;
    if (!flying_.empty()) {
      std::int64_t later = 0;
      std::int64_t ends = 0;
      for (const Flight& flight : flying_) {
        if (flight.end_ps > first + event_ps_) continue;
        later += flight.end_ps - first;
        ++ends;
      }
      step = first + later / ends;
    }
    if (!departures_.empty()) step = std::min(step, departures_.top().date_ps - now_ps_);
    step = std::max<std::int64_t>(step, 0);
    now_ps_ += step;
    std::size_t kept = 0;
    for (const Flight& flight : flying_) {
      if (flight.end_ps <= step + event_ps_ / 2) {
        shares_.remove(flight.flow);
        drained(flight.op);
        continue;
      }
      flying_[kept] = flight;
      flying_[kept++].left -= static_cast<unsigned __int128>(shares_.rate(flight.flow)) *
                              static_cast<unsigned __int128>(step);
    }
    flying_.resize(kept);
  }

  const Plan& plan_;
  std::vector<std::int64_t> rates_;  // by link
  IssueState issue_;
  FairShares shares_;
  std::vector<std::int64_t> lane_free_ps_;  // rank x lane
  bool streams_;
  std::int64_t event_ps_;
  std::int64_t now_ps_ = 0;
  std::vector<Flight> flying_;
  std::priority_queue<Departure, std::vector<Departure>, std::greater<>> departures_;
  std::uint64_t departed_ = 0;
  std::vector<std::uint32_t> links_;  // of the operation at hand
  std::vector<OpId> ready_;
  std::vector<OpId> ended_;
  // Stream edges only, by operation.
  std::vector<std::int64_t> first_landed_ps_;
  std::vector<std::uint8_t> has_ended_;
  std::vector<std::uint8_t> held_;
  Successors downstream_;
};

}  // namespace

std::int64_t fluid_time_ps(const Plan& plan, std::int64_t limit_ps) {
  return FluidReplay(plan).run(limit_ps);
}

}  // namespace transload
