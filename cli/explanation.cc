#include "cli/explanation.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "cli/explanation_sentences.h"
#include "planner/schedule/access.h"
#include "planner/strategy/strategy.h"
#include "simulator/estimate.h"

namespace transload {
namespace {

constexpr double kIdleShare = 0.05;

// Bytes of each link at its own rate: copies read and write.
std::vector<std::uint64_t> link_bytes(const Plan& plan, const PlanTotals& totals) {
  std::vector<std::uint64_t> bytes(plan.link_kind.size(), 0);
  for (std::size_t port = 0; port < plan.ports(); ++port) {
    const std::uint32_t link = plan.port_link[port];
    const bool hbm = plan.link_kind[link] == static_cast<std::uint8_t>(LinkKind::kHbm);
    bytes[link] += (hbm ? 2 : 1) * totals.port_bytes[port];
  }
  for (OpId op = 0; op < plan.operations(); ++op)
    for_each_path_link(plan, op, [&](std::uint32_t link) { bytes[link] += plan.op_bytes[op]; });
  return bytes;
}

std::vector<LoadedPort> loaded_ports(const Plan& plan, const std::vector<std::uint64_t>& bytes) {
  constexpr int kKinds = static_cast<int>(LinkKind::kPcie) + 1;
  std::vector<LoadedPort> ports;
  for (int kind = 0; kind < kKinds; ++kind) {
    LoadedPort most;
    std::vector<double> busy;
    for (std::uint32_t link = 0; link < plan.link_kind.size(); ++link) {
      if (plan.link_kind[link] != kind || bytes[link] == 0) continue;
      const double seconds = busy_seconds(plan, link, bytes[link]);
      if (busy.empty() || seconds > most.busy_s) {
        most.name = plan_name(plan, plan.link_name[link]);
        most.bytes = bytes[link];
        most.busy_s = seconds;
      }
      busy.push_back(seconds);
    }
    if (busy.empty()) continue;
    std::nth_element(busy.begin(), busy.begin() + static_cast<std::ptrdiff_t>(busy.size() / 2),
                     busy.end());
    most.kind = name_of(static_cast<LinkKind>(kind));
    most.median_busy_s = busy[busy.size() / 2];
    most.links = busy.size();
    ports.push_back(std::move(most));
  }
  return ports;
}

// A NIC is idle where the busier of its two directions is.
IdleNics idle_nics(const Plan& plan, const std::vector<std::uint64_t>& bytes) {
  std::map<std::string, std::uint64_t> nics;
  std::uint64_t most = 0;
  for (std::uint32_t link = 0; link < plan.link_kind.size(); ++link) {
    const auto kind = static_cast<LinkKind>(plan.link_kind[link]);
    if (kind != LinkKind::kNicOut && kind != LinkKind::kNicIn) continue;
    const std::string_view name = plan_name(plan, plan.link_name[link]);
    std::uint64_t& busier = nics[std::string(name.substr(0, name.rfind('.')))];
    busier = std::max(busier, bytes[link]);
    most = std::max(most, bytes[link]);
  }
  IdleNics idle;
  idle.of = nics.size();
  for (const auto& [name, load] : nics)
    if (static_cast<double>(load) < kIdleShare * static_cast<double>(most))
      idle.names.push_back(name);
  return idle;
}

}  // namespace

Explanation explain(const Plan& plan, const std::optional<BoundReport>& bounds,
                    const std::optional<SimulationResult>& simulation) {
  const PlanTotals totals = plan_totals(plan);
  const std::vector<std::uint64_t> bytes = link_bytes(plan, totals);
  Explanation result;
  result.simulated = simulation.has_value();
  const double estimate_s = closed_form_seconds(plan);
  result.refit_s = simulation ? simulation->refit_s : estimate_s;
  result.ideal_s = ideal_seconds(plan);
  result.gap.balance_s = result.ideal_s - plan.header().bound_s;
  result.gap.fill_s = estimate_s - result.ideal_s;
  result.gap.waiting_s = result.refit_s - estimate_s;
  result.ports = loaded_ports(plan, bytes);
  result.idle = idle_nics(plan, bytes);
  result.sentences = sentences_of(plan, result, totals, bounds, simulation);
  return result;
}

nlohmann::json explanation_json(const Plan& plan, const Explanation& explanation) {
  nlohmann::json ports = nlohmann::json::array();
  for (const LoadedPort& port : explanation.ports)
    ports.push_back({{"kind", port.kind},
                     {"name", port.name},
                     {"bytes", port.bytes},
                     {"busy_s", port.busy_s},
                     {"median_busy_s", port.median_busy_s},
                     {"links", port.links}});
  const PlanHeader& header = plan.header();
  return {{"sentences", explanation.sentences},
          {"refit_s", explanation.refit_s},
          {"predicted_by", explanation.simulated ? "simulate" : "estimate"},
          {"ideal_s", explanation.ideal_s},
          {"bound_s", header.bound_s},
          {"binding", header.bound_name},
          {"strategy", header.strategy},
          {"discipline", name_of(header.discipline)},
          {"gap",
           {{"balance_s", explanation.gap.balance_s},
            {"fill_s", explanation.gap.fill_s},
            {"waiting_s", explanation.simulated ? nlohmann::json(explanation.gap.waiting_s)
                                                : nlohmann::json(nullptr)}}},
          {"ports", std::move(ports)},
          {"idle_nics", explanation.idle.names},
          {"nics", explanation.idle.of}};
}

}  // namespace transload
