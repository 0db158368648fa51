#include "simulator/replay/max_min_engine.h"

#include <algorithm>
#include <cmath>

#include "simulator/replay/conductor.h"
#include "simulator/replay/max_min.h"

namespace transload {
namespace {

std::vector<double> link_rates(const Plan& plan) {
  std::vector<double> rates(plan.link_kind.size());
  for (std::uint32_t link = 0; link < rates.size(); ++link)
    rates[link] = static_cast<double>(link_achieved_rate(plan, link));
  return rates;
}

// Links that one operation loads at most: those of its two ports and of its two paths.
std::size_t most_links(const Plan& plan) {
  std::uint64_t longest = 0;
  for (std::size_t path = 0; path + 1 < plan.path_link_first.size(); ++path)
    longest = std::max(longest, plan.path_link_first[path + 1] - plan.path_link_first[path]);
  return 2 + 2 * longest;
}

class MaxMinReplay {
 public:
  MaxMinReplay(const Plan& plan, const OperationCosts& costs, const ReplayClock& clock,
               ReplayRecord record)
      : plan_(plan),
        costs_(costs),
        precision_s_(clock.precision_s),
        network_(link_rates(plan), most_links(plan)),
        conductor_(plan, costs, clock, record, [this](OpId op) { flow(op); }) {}

  void run() {
    conductor_.begin();
    double now_s = 0;
    while (true) {
      const double end_s = network_.next_end_s(now_s);
      const double next_s = std::min(end_s, conductor_.next_stop_s());
      if (!std::isfinite(next_s)) break;
      now_s = std::max(now_s, next_s);
      ended_.clear();
      network_.end_until(now_s + precision_s_, ended_);
      for (const OpId op : ended_) conductor_.drained(op);
      conductor_.proceed(now_s);
    }
    conductor_.require_finished();
  }

 private:
  void flow(OpId op) {
    route_.clear();
    for (const std::int32_t port : {plan_.op_out_port[op], plan_.op_in_port[op]})
      if (port >= 0) route_.push_back(plan_.port_link[static_cast<std::size_t>(port)]);
    for_each_path_link(plan_, op, [&](std::uint32_t link) { route_.push_back(link); });
    network_.start(op, costs_.wire_bytes[op], route_);
  }

  const Plan& plan_;
  const OperationCosts& costs_;
  double precision_s_;
  MaxMinNetwork network_;
  Conductor conductor_;
  std::vector<std::uint32_t> route_;
  std::vector<OpId> ended_;
};

}  // namespace

void replay_on_max_min(const Plan& plan, const OperationCosts& costs, const ReplayClock& clock,
                       ReplayRecord record) {
  MaxMinReplay(plan, costs, clock, record).run();
}

}  // namespace transload
