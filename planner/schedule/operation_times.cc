#include "planner/schedule/operation_times.h"

#include <algorithm>

namespace transload {
namespace {

constexpr std::int64_t kMillion = 1'000'000;

// A factor on bytes.
struct Ratio {
  __int128 numerator = 1;
  __int128 denominator = 1;
};

// How much longer a copy with runs of `run_bytes` takes than a contiguous one: one over the
// efficiency of the plan's table, which is linear between its points and flat outside them.
Ratio run_slowdown(const Plan& plan, std::int32_t gpu_model, std::uint32_t run_bytes) {
  if (run_bytes == 0 || gpu_model < 0) return {};
  const auto model = static_cast<std::size_t>(gpu_model);
  if (model + 1 >= plan.copy_rate_first.size()) return {};
  const std::size_t first = plan.copy_rate_first[model];
  const std::size_t end = plan.copy_rate_first[model + 1];
  if (first == end) return {};
  std::size_t above = first;
  while (above < end && plan.copy_run_bytes[above] < run_bytes) ++above;
  if (above == first) return {kMillion, plan.copy_efficiency_ppm[first]};
  if (above == end) return {kMillion, plan.copy_efficiency_ppm[end - 1]};
  const auto low = static_cast<__int128>(plan.copy_run_bytes[above - 1]);
  const auto high = static_cast<__int128>(plan.copy_run_bytes[above]);
  const __int128 at_low = plan.copy_efficiency_ppm[above - 1];
  const __int128 at_high = plan.copy_efficiency_ppm[above];
  return {kMillion * (high - low), at_low * (high - low) + (run_bytes - low) * (at_high - at_low)};
}

// How much longer a conversion takes than a copy of as many bytes.
Ratio convert_slowdown(const Plan& plan, OpId op) {
  const auto rank = static_cast<std::size_t>(plan.op_source[op]);
  const std::int64_t of_line =
      plan.convert_efficiency_ppm[static_cast<std::size_t>(plan.rank_gpu_model[rank])];
  if (of_line == 0) return {};
  return {plan.link_efficiency_ppm[plan.port_link[static_cast<std::size_t>(plan.op_out_port[op])]],
          of_line};
}

std::int64_t port_latency_ps(const Plan& plan, std::int32_t port) {
  return port < 0 ? 0 : plan.port_latency_ps[static_cast<std::size_t>(port)];
}

}  // namespace

std::int64_t wire_bytes(const Plan& plan, OpId op) {
  const auto payload = static_cast<std::int64_t>(plan.op_bytes[op]);
  if (!moves_bytes(plan, op) || op_kind(plan, op) == OpKind::kTransfer)
    return op_kind(plan, op) == OpKind::kTransfer ? payload : 0;
  const bool converts = op_kind(plan, op) == OpKind::kConvert;
  const Ratio run =
      run_slowdown(plan, plan.rank_gpu_model[static_cast<std::size_t>(plan.op_source[op])],
                   plan.op_run_bytes[op]);
  const Ratio conversion = converts ? convert_slowdown(plan, op) : Ratio{};
  const std::int64_t touched =
      payload + (converts ? static_cast<std::int64_t>(plan.op_read_bytes[op]) : payload);
  const __int128 wire =
      touched * run.numerator / run.denominator * conversion.numerator / conversion.denominator;
  return std::max<std::int64_t>(touched > 0 ? 1 : 0, static_cast<std::int64_t>(wire));
}

std::int64_t latency_ps(const Plan& plan, OpId op) {
  if (op_kind(plan, op) == OpKind::kFence) return 0;
  const std::int64_t host = op_kind(plan, op) == OpKind::kHost ? plan.op_cost_ps[op] : 0;
  return std::max(port_latency_ps(plan, plan.op_out_port[op]),
                  port_latency_ps(plan, plan.op_in_port[op])) +
         plan.path_latency_ps[plan.op_out_path[op]] + plan.path_latency_ps[plan.op_in_path[op]] +
         host;
}

std::int64_t lane_occupancy_ps(const Plan& plan, OpId op, bool at_source) {
  if (!at_source && plan.header().one_sided) return 0;
  const std::int32_t port = at_source ? plan.op_out_port[op] : plan.op_in_port[op];
  if (port < 0) return 0;
  // Published systems spend host time on every tensor that a copy handles, and issue nothing
  // meanwhile.
  const std::int64_t host = op_kind(plan, op) == OpKind::kCopy ? plan.op_cost_ps[op] : 0;
  return plan.port_occupancy_ps[static_cast<std::size_t>(port)] + host;
}

std::int64_t slowest_link_rate(const Plan& plan, OpId op) {
  std::int64_t slowest = 0;
  const auto note = [&](std::uint32_t link) {
    const std::int64_t rate = link_achieved_rate(plan, link);
    if (rate > 0) slowest = slowest > 0 ? std::min(slowest, rate) : rate;
  };
  for (const std::int32_t port : {plan.op_out_port[op], plan.op_in_port[op]})
    if (port >= 0) note(plan.port_link[static_cast<std::size_t>(port)]);
  for_each_path_link(plan, op, note);
  return slowest;
}

}  // namespace transload
