#include "simulator/replay/streams.h"

#include <algorithm>

namespace transload {

Streams::Streams(const Plan& plan, const OperationCosts& costs)
    : plan_(plan), any_(!plan.op_stream.empty()) {
  if (!any_) return;
  const std::size_t n = plan.operations();
  piece_s_.assign(n, 0);
  for (OpId op = 0; op < n; ++op) {
    if (plan.op_bytes[op] == 0) continue;
    const double share =
        static_cast<double>(plan.header().piece_bytes) / static_cast<double>(plan.op_bytes[op]);
    piece_s_[op] = std::min(share, 1.0) * costs.pure_s[op];
  }
  first_landed_s_.assign(n, 0);
  ended_.assign(n, 0);
  held_.assign(n, 0);
  downstream_ = stream_successors(plan);
}

double Streams::first_pieces_landed_s(OpId op) const {
  double landed = 0;
  if (any_)
    for (OpId upstream : op_stream(plan_, op)) landed = std::max(landed, first_landed_s_[upstream]);
  return landed;
}

void Streams::flows(OpId op, double flow_s) {
  if (any_) first_landed_s_[op] = flow_s + piece_s_[op];
}

bool Streams::upstreams_ended(OpId op) const {
  const auto upstreams = op_stream(plan_, op);
  return std::all_of(upstreams.begin(), upstreams.end(),
                     [&](OpId upstream) { return ended_[upstream] != 0; });
}

bool Streams::drained(OpId op) {
  if (!any_ || upstreams_ended(op)) return true;
  held_[op] = 1;
  return false;
}

void Streams::ended(OpId op, std::vector<OpId>& released) {
  if (!any_) return;
  ended_[op] = 1;
  for (OpId hop : downstream_.of(op)) {
    if (!held_[hop] || !upstreams_ended(hop)) continue;
    held_[hop] = 0;
    released.push_back(hop);
  }
}

}  // namespace transload
