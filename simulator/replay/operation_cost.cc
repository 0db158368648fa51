#include "simulator/replay/operation_cost.h"

#include <algorithm>

#include "common/units.h"

namespace transload {
namespace {

constexpr double kPerMillion = 1e-6;
constexpr double kUnitsPerByte = 1 << 20;
constexpr double kExactIntegers = std::uint64_t{1} << 53;  // of a double

double link_rate(const Plan& plan, std::int32_t port) {
  if (port < 0) return 0;
  return static_cast<double>(
      link_achieved_rate(plan, plan.port_link[static_cast<std::size_t>(port)]));
}

double port_latency_s(const Plan& plan, std::int32_t port) {
  return port < 0 ? 0 : to_seconds(plan.port_latency_ps[static_cast<std::size_t>(port)]);
}

}  // namespace

double copy_efficiency(const Plan& plan, std::int32_t gpu_model, std::uint32_t run_bytes) {
  if (run_bytes == 0 || gpu_model < 0) return 1;
  const auto model = static_cast<std::size_t>(gpu_model);
  if (model + 1 >= plan.copy_rate_first.size()) return 1;
  const std::size_t first = plan.copy_rate_first[model];
  const std::size_t end = plan.copy_rate_first[model + 1];
  if (first == end) return 1;
  const auto efficiency = [&](std::size_t i) {
    return static_cast<double>(plan.copy_efficiency_ppm[i]) * kPerMillion;
  };
  std::size_t above = first;
  while (above < end && plan.copy_run_bytes[above] < run_bytes) ++above;
  if (above == first) return efficiency(first);
  if (above == end) return efficiency(end - 1);
  const auto low = static_cast<double>(plan.copy_run_bytes[above - 1]);
  const auto high = static_cast<double>(plan.copy_run_bytes[above]);
  const double share = (run_bytes - low) / (high - low);
  return efficiency(above - 1) + share * (efficiency(above) - efficiency(above - 1));
}

double convert_efficiency(const Plan& plan, OpId op) {
  const auto model =
      static_cast<std::size_t>(plan.rank_gpu_model[static_cast<std::size_t>(plan.op_source[op])]);
  const std::int64_t of_line = plan.convert_efficiency_ppm[model];
  if (of_line == 0) return 1;
  const std::uint32_t link = plan.port_link[static_cast<std::size_t>(plan.op_out_port[op])];
  return static_cast<double>(of_line) / static_cast<double>(plan.link_efficiency_ppm[link]);
}

double operation_rate(const Plan& plan, OpId op) {
  const double out = link_rate(plan, plan.op_out_port[op]);
  const double in = link_rate(plan, plan.op_in_port[op]);
  double rate = out > 0 && in > 0 ? std::min(out, in) : std::max(out, in);
  for_each_path_link(plan, op, [&](std::uint32_t link) {
    const auto on_the_way = static_cast<double>(link_achieved_rate(plan, link));
    if (on_the_way > 0) rate = rate > 0 ? std::min(rate, on_the_way) : on_the_way;
  });
  return rate;
}

double lane_occupancy_s(const Plan& plan, OpId op, bool at_source) {
  if (!at_source && plan.header().one_sided) return 0;
  const std::int32_t port = at_source ? plan.op_out_port[op] : plan.op_in_port[op];
  if (port < 0) return 0;
  // Published systems spend host time on every tensor that a copy handles, and issue nothing
  // meanwhile.
  const std::int64_t host_ps = op_kind(plan, op) == OpKind::kCopy ? plan.op_cost_ps[op] : 0;
  return to_seconds(plan.port_occupancy_ps[static_cast<std::size_t>(port)] + host_ps);
}

OperationCosts operation_costs(const Plan& plan) {
  const std::size_t n = plan.operations();
  OperationCosts costs;
  costs.wire_bytes.assign(n, 0);
  costs.pure_s.assign(n, 0);
  costs.latency_s.assign(n, 0);
  for (OpId op = 0; op < n; ++op) {
    const OpKind kind = op_kind(plan, op);
    if (kind == OpKind::kFence) continue;
    costs.latency_s[op] = std::max(port_latency_s(plan, plan.op_out_port[op]),
                                   port_latency_s(plan, plan.op_in_port[op])) +
                          to_seconds(plan.path_latency_ps[plan.op_out_path[op]] +
                                     plan.path_latency_ps[plan.op_in_path[op]]);
    if (kind == OpKind::kHost) {
      costs.latency_s[op] += to_seconds(plan.op_cost_ps[op]);
      continue;
    }
    const double rate = operation_rate(plan, op);
    if (rate <= 0) continue;
    auto bytes = static_cast<double>(plan.op_bytes[op]);
    if (kind != OpKind::kTransfer) {
      const std::int32_t model = plan.rank_gpu_model[static_cast<std::size_t>(plan.op_source[op])];
      if (kind == OpKind::kCopy)
        bytes *= 2;
      else
        bytes =
            (bytes + static_cast<double>(plan.op_read_bytes[op])) / convert_efficiency(plan, op);
      bytes /= copy_efficiency(plan, model, plan.op_run_bytes[op]);
    }
    costs.wire_bytes[op] = bytes;
    costs.pure_s[op] = bytes / rate;
  }
  return costs;
}

double payload_units_per_byte(const OperationCosts& costs) {
  for (double bytes : costs.wire_bytes)
    if (bytes * kUnitsPerByte > kExactIntegers) return 1;
  return kUnitsPerByte;
}

}  // namespace transload
