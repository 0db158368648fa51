#include "cli/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/critical_path_text.h"
#include "cli/describe_plan.h"
#include "cli/table.h"
#include "common/units.h"
#include "planner/schedule/access.h"

namespace transload {
namespace {

std::vector<double> known(const std::vector<double>& per_rank) {
  std::vector<double> values;
  std::copy_if(per_rank.begin(), per_rank.end(), std::back_inserter(values),
               [](double value) { return !std::isnan(value); });
  return values;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double largest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

template <class T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

nlohmann::json phases_json(const std::vector<PhaseTime>& phases) {
  nlohmann::json list = nlohmann::json::array();
  for (const PhaseTime& phase : phases)
    list.push_back({{"name", phase.name},
                    {"start_s", phase.start_s},
                    {"finish_s", phase.finish_s},
                    {"bytes", phase.bytes},
                    {"operations", phase.operations},
                    {"critical_s", phase.critical_s}});
  return list;
}

// Host work follows the transport, phase after phase, as far as it is not hidden beside it.
void add_host_phases(nlohmann::json& phases, const HostPrediction& host) {
  double at_s = host.transport_s;
  for (const HostPhase& phase : host.phases) {
    phases.push_back({{"name", phase.name},
                      {"start_s", at_s},
                      {"finish_s", at_s + phase.exposed_s},
                      {"bytes", 0},
                      {"operations", 0},
                      {"critical_s", phase.exposed_s},
                      {"host_s", phase.seconds}});
    at_s += phase.exposed_s;
  }
}

std::string host_text(const HostPrediction& host) {
  std::string text;
  for (const HostPhase& phase : host.phases)
    text += fmt::format("{}{} {}{}", text.empty() ? "" : " + ", phase.name,
                        format_seconds(phase.exposed_s),
                        phase.exposed_s < phase.seconds
                            ? fmt::format(" ({} more beside the transport)",
                                          format_seconds(phase.seconds - phase.exposed_s))
                            : "");
  return text;
}

nlohmann::json links_json(const std::vector<LinkUse>& links) {
  nlohmann::json list = nlohmann::json::array();
  for (const LinkUse& link : links)
    list.push_back({{"name", link.name},
                    {"kind", link.kind},
                    {"bytes", link.bytes},
                    {"busy_s", link.busy_s},
                    {"utilisation", link.utilisation}});
  return list;
}

nlohmann::json ready_ranks(const std::vector<double>& per_rank) {
  nlohmann::json ranks = nlohmann::json::array();
  for (std::size_t rank = 0; rank < per_rank.size(); ++rank)
    if (!std::isnan(per_rank[rank])) ranks.push_back(rank);
  return ranks;
}

std::string phase_table(const SimulationResult& result) {
  Table table(
      {"phase", "operations", "bytes", "from", "to", "on the critical path"},
      {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  for (const PhaseTime& phase : result.phases)
    table.add({phase.name, fmt::format("{}", phase.operations),
               format_bytes(static_cast<double>(phase.bytes)), format_seconds(phase.start_s),
               format_seconds(phase.finish_s), format_seconds(phase.critical_s)});
  return table.text();
}

std::string link_table(const SimulationResult& result) {
  constexpr std::size_t kShown = 5;
  std::vector<const LinkUse*> links;
  for (const LinkUse& link : result.links) links.push_back(&link);
  std::stable_sort(links.begin(), links.end(), [](const LinkUse* a, const LinkUse* b) {
    return a->utilisation > b->utilisation;
  });
  Table table({"busiest links", "bytes", "busy", "utilisation"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  for (std::size_t i = 0; i < std::min(links.size(), kShown); ++i)
    table.add({links[i]->name, format_bytes(static_cast<double>(links[i]->bytes)),
               format_seconds(links[i]->busy_s),
               fmt::format("{:.1f} %", 100 * links[i]->utilisation)});
  return table.text();
}

}  // namespace

std::optional<ExposedPhases> exposed_phases(const Plan& plan, const SimulationResult& result) {
  bool published = false;  // has the host work that only published systems pay
  bool any = false;
  double begin = result.refit_s;
  double end = 0;
  double export_end = 0;
  for (OpId op = 0; op < plan.operations(); ++op) {
    const OpRole role = op_role(plan, op);
    if (role == OpRole::kExport || role == OpRole::kLoad) published = true;
    if (role == OpRole::kExport || role == OpRole::kPack)
      export_end = std::max(export_end, result.times.finish_s[op]);
    if (role != OpRole::kCollective) continue;
    any = true;
    begin = std::min(begin, result.times.start_s[op]);
    end = std::max(end, result.times.finish_s[op]);
  }
  if (!published) return std::nullopt;
  // Colocated: nothing is broadcast, and loading follows the export.
  if (!any) return ExposedPhases{export_end, 0, result.refit_s - export_end};
  return ExposedPhases{begin, end - begin, result.refit_s - end};
}

nlohmann::json prediction_json(const Plan& plan, const SimulationResult& result,
                               const std::optional<HostPrediction>& host) {
  const PlanHeader& header = plan.header();
  const std::vector<double> free_s = known(result.source_free_s);
  nlohmann::json json = {{"refit_s", result.refit_s},
                         {"estimate_s", result.estimate_s},
                         {"bound_s", header.bound_s},
                         {"bound_line_rate_s", header.bound_line_rate_s},
                         {"bound", header.bound_name},
                         {"ratio_to_bound", or_null(ratio_to_bound(header, result.refit_s))},
                         {"strategy", header.strategy},
                         {"discipline", name_of(header.discipline)},
                         {"source_free_s", {{"median", median(free_s)}, {"max", largest(free_s)}}},
                         {"destination_ready_s", known(result.destination_ready_s)},
                         {"destination_ranks", ready_ranks(result.destination_ready_s)},
                         {"phases", phases_json(result.phases)},
                         {"links", links_json(result.links)},
                         {"critical_path", critical_path_json(plan, result)},
                         {"bottleneck", result.bottleneck},
                         {"engine", name_of(result.engine)},
                         {"precision_s", result.precision_s},
                         {"bias_bound", result.bias_bound},
                         {"simulate_s", result.simulate_s},
                         {"assumptions", header.assumptions}};
  if (const auto split = exposed_phases(plan, result)) {
    json["export_s"] = split->export_s;
    json["broadcast_s"] = split->broadcast_s;
    json["load_s"] = split->load_s;
  }
  if (host) {
    json["transport_s"] = host->transport_s;
    json["refit_s"] = host->refit_s;
    json["estimate_s"] = result.estimate_s + host->refit_s - host->transport_s;
    json["ratio_to_bound"] = or_null(ratio_to_bound(header, host->refit_s));
    add_host_phases(json["phases"], *host);
  }
  return json;
}

std::string prediction_text(const Plan& plan, const SimulationResult& result,
                            const std::optional<HostPrediction>& host) {
  const PlanHeader& header = plan.header();
  const std::vector<double> free_s = known(result.source_free_s);
  const std::vector<double> ready_s = known(result.destination_ready_s);
  Facts facts;
  if (host)
    facts.add("refit with host costs",
              fmt::format("{} = transport {} + {}", format_seconds(host->refit_s),
                          format_seconds(host->transport_s), host_text(*host)));
  facts.add(host ? "simulated transport" : "simulated refit",
            fmt::format("{} (off by up to {:.2g} %; closed-form estimate {})",
                        format_seconds(result.refit_s), 100 * result.bias_bound,
                        format_seconds(result.estimate_s)));
  facts.add("bound", bound_text(header));
  facts.add("ratio to bound", ratio_text(ratio_to_bound(header, result.refit_s)));
  if (const auto split = exposed_phases(plan, result))
    facts.add("made of",
              fmt::format("export {} + broadcast {} + load {}, as far as not hidden",
                          format_seconds(split->export_s), format_seconds(split->broadcast_s),
                          format_seconds(split->load_s)));
  facts.add("sources free", fmt::format("median {}, last {}", format_seconds(median(free_s)),
                                        format_seconds(largest(free_s))));
  facts.add("destinations ready", fmt::format("median {}, last {}", format_seconds(median(ready_s)),
                                              format_seconds(largest(ready_s))));
  facts.add("bottleneck", result.bottleneck.empty() ? "none" : result.bottleneck);
  facts.add("simulated in",
            fmt::format("{} ({})", format_seconds(result.simulate_s), name_of(result.engine)));
  std::string text = heading_of(plan) + "\n" + facts.text() + "\n" + phase_table(result) + "\n" +
                     link_table(result) + "\n" + critical_path_text(plan, result);
  if (!header.assumptions.empty()) text += "\n";
  for (const std::string& line : header.assumptions) text += "  " + line + "\n";
  return text;
}

}  // namespace transload
