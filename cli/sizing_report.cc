#include "cli/sizing_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/table.h"
#include "common/error.h"
#include "common/units.h"

namespace transload {
namespace {

constexpr double kSecondsPerHour = 3600;

nlohmann::json stages_json(const std::vector<StageTime>& stages) {
  nlohmann::json list = nlohmann::json::array();
  for (const StageTime& stage : stages)
    list.push_back({{"name", stage.name}, {"ranks", stage.ranks}, {"free_s", stage.free_s}});
  return list;
}

nlohmann::json replicas_json(const std::vector<ReplicaTime>& replicas) {
  nlohmann::json list = nlohmann::json::array();
  for (const ReplicaTime& replica : replicas)
    list.push_back({{"name", replica.name},
                    {"ranks", replica.ranks},
                    {"paused_from_s", replica.paused_from_s},
                    {"ready_s", replica.ready_s},
                    {"pause_s", replica.pause_s()}});
  return list;
}

nlohmann::json memory_json(const std::vector<RankMemory>& ranks) {
  nlohmann::json list = nlohmann::json::array();
  for (const RankMemory& rank : ranks)
    list.push_back({{"rank", rank.rank},
                    {"peak_bytes", rank.peak_bytes},
                    {"reserved_bytes", rank.reserved_bytes},
                    {"needed_bytes", rank.needed_bytes},
                    {"memory_bytes", rank.memory_bytes == 0 ? nlohmann::json(nullptr)
                                                            : nlohmann::json(rank.memory_bytes)}});
  return list;
}

// The rank for which it is tightest, relative to its memory where that is known.
const RankMemory* tightest(const std::vector<RankMemory>& ranks) {
  const auto fill = [](const RankMemory& rank) {
    const double memory = rank.memory_bytes == 0 ? 1e30 : static_cast<double>(rank.memory_bytes);
    return static_cast<double>(rank.needed_bytes) / memory;
  };
  const auto found =
      std::max_element(ranks.begin(), ranks.end(),
                       [&](const RankMemory& a, const RankMemory& b) { return fill(a) < fill(b); });
  return found == ranks.end() ? nullptr : &*found;
}

std::string memory_text(const MemoryUse& memory) {
  const RankMemory* rank = tightest(memory.ranks);
  if (rank == nullptr) return "no rank takes part";
  const auto bytes = [](std::uint64_t value) { return format_bytes(static_cast<double>(value)); };
  if (rank->memory_bytes == 0)
    return fmt::format("rank {} needs {}; how much its GPU has is unknown", rank->rank,
                       bytes(rank->needed_bytes));
  return fmt::format("tightest is rank {}: {} of {} needed, {} of it reserved: {}", rank->rank,
                     bytes(rank->needed_bytes), bytes(rank->memory_bytes),
                     bytes(rank->reserved_bytes),
                     !memory.fits   ? "fits, as far as known"
                     : *memory.fits ? "fits"
                                    : "does not fit");
}

double first_refit_s(const SizingReport& report) {
  return report.refit_s + report.first_refit->connect_s + report.first_refit->register_s;
}

double gpu_hours(const SizingReport& report) { return report.availability.gpu_s / kSecondsPerHour; }

}  // namespace

void add_sizing_flags(CLI::App* command, SizingFlags& flags) {
  command->add_option("--reserve", flags.reserve,
                      "What engines keep of each GPU's memory, weights included: 0.9, 90% or 70GB; "
                      "default: what the engine's own default takes");
  command->add_option("--source-reserve", flags.source_reserve,
                      "What trainers keep besides their weights; default: nothing is known of it");
  command->add_option("--refits-per-day", flags.refits_per_day,
                      "For the GPU hours that refits cost in a day");
}

SizingReport sizing_report(const Plan& plan, const SimulationResult& result,
                           const ClusterFacts& facts, const SizingFlags& flags,
                           bool sources_on_host) {
  if (flags.refits_per_day && !(*flags.refits_per_day >= 0 && *flags.refits_per_day < 1e9))
    throw InputError("--refits-per-day: expected a number that is not negative");
  MemoryOptions memory;
  memory.sources_on_host = sources_on_host;
  if (flags.reserve) memory.destination = parse_reserve(*flags.reserve, "--reserve");
  if (flags.source_reserve)
    memory.source = parse_reserve(*flags.source_reserve, "--source-reserve");
  SizingReport report;
  report.availability = availability(plan, result, facts);
  if (plan.header().planned_for == "nccl") report.first_refit = first_refit_costs(plan);
  report.memory = memory_use(plan, facts, memory);
  report.refits_per_day = flags.refits_per_day;
  report.refit_s = result.refit_s;
  return report;
}

nlohmann::json sizing_json(const SizingReport& report) {
  std::uint64_t peak = 0;
  for (const RankMemory& rank : report.memory.ranks) peak = std::max(peak, rank.peak_bytes);
  nlohmann::json json = {{"first_refit_s", nullptr},
                         {"first_refit", nullptr},
                         {"pause_s", report.availability.pause_s},
                         {"replicas", replicas_json(report.availability.replicas)},
                         {"source_stages", stages_json(report.availability.stages)},
                         {"fits", nullptr},
                         {"peak_bytes", peak},
                         {"memory", memory_json(report.memory.ranks)},
                         {"gpu_hours_per_refit", gpu_hours(report)},
                         {"gpu_hours_per_day", nullptr},
                         {"sizing_assumptions", report.memory.assumptions}};
  if (report.memory.fits) json["fits"] = *report.memory.fits;
  if (report.refits_per_day) json["gpu_hours_per_day"] = gpu_hours(report) * *report.refits_per_day;
  if (report.first_refit) {
    json["first_refit_s"] = first_refit_s(report);
    json["first_refit"] = {{"connect_s", report.first_refit->connect_s},
                           {"register_s", report.first_refit->register_s},
                           {"peers", report.first_refit->peers},
                           {"registered_bytes", report.first_refit->registered_bytes}};
    for (const std::string& line : report.first_refit->assumptions)
      json["sizing_assumptions"].push_back(line);
  }
  return json;
}

std::string sizing_text(const SizingReport& report) {
  const Availability& availability = report.availability;
  Facts facts;
  if (!availability.stages.empty()) {
    const auto last = std::max_element(
        availability.stages.begin(), availability.stages.end(),
        [](const StageTime& a, const StageTime& b) { return a.free_s < b.free_s; });
    const auto first = std::min_element(
        availability.stages.begin(), availability.stages.end(),
        [](const StageTime& a, const StageTime& b) { return a.free_s < b.free_s; });
    facts.add("source stages free",
              fmt::format("{} after {}, {} last, after {}", first->name,
                          format_seconds(first->free_s), last->name, format_seconds(last->free_s)));
  }
  if (!availability.replicas.empty())
    facts.add("longest pause",
              fmt::format("{} of {} replicas", format_seconds(availability.pause_s),
                          availability.replicas.size()));
  if (report.first_refit)
    facts.add("first refit",
              fmt::format("{}: {} more to connect to {} peers, {} to register {}",
                          format_seconds(first_refit_s(report)),
                          format_seconds(report.first_refit->connect_s), report.first_refit->peers,
                          format_seconds(report.first_refit->register_s),
                          format_bytes(static_cast<double>(report.first_refit->registered_bytes))));
  facts.add("memory", memory_text(report.memory));
  facts.add("GPU hours",
            fmt::format("{:.4g} a refit", gpu_hours(report)) +
                (report.refits_per_day
                     ? fmt::format(", {:.4g} a day", gpu_hours(report) * *report.refits_per_day)
                     : ""));
  std::string text = "what it means for the cluster\n" + facts.text();
  const auto add_lines = [&](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) text += "  " + line + "\n";
  };
  add_lines(report.memory.assumptions);
  if (report.first_refit) add_lines(report.first_refit->assumptions);
  return text;
}

}  // namespace transload
