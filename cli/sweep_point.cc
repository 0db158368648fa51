#include "cli/sweep_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/describe_plan.h"
#include "cli/job_facts.h"
#include "common/units.h"
#include "planner/schedule/access.h"
#include "planner/strategy/strategy.h"
#include "simulator/estimate.h"
#include "simulator/simulate.h"
#include "simulator/sizing/availability.h"

namespace transload {
namespace {

using Json = nlohmann::json;

constexpr double kSecondsPerHour = 3600;

// 64 rather than "64" where the label is a number.
Json label_json(const std::string& label) {
  const Json parsed = Json::parse(label, nullptr, false);
  return parsed.is_number() ? parsed : Json(label);
}

Json values_json(const Sweep& sweep, const SweepPoint& point) {
  Json values = Json::object();
  for (std::size_t i = 0; i < sweep.axes.size(); ++i)
    values[sweep.axes[i].name] = label_json(point.labels[i]);
  return values;
}

// What all rows of a point share.
Json blank_row(const Sweep& sweep, const SweepPoint& point) {
  Json row = {{"point", point.number}, {"values", values_json(sweep, point)}};
  for (const char* key : {"strategy",
                          "mode",
                          "rank",
                          "estimate_s",
                          "refit_s",
                          "seconds",
                          "figure",
                          "bound_s",
                          "bound_line_rate_s",
                          "binding",
                          "ratio_to_bound",
                          "discipline",
                          "bottleneck",
                          "pause_s",
                          "gpu_hours_per_refit",
                          "network_bytes",
                          "cluster_nodes",
                          "cluster_gpus",
                          "cluster_nics",
                          "capital_cost",
                          "refit_cost",
                          "refit_cost_per_day",
                          "refused"})
    row[key] = nullptr;
  row["best"] = false;
  row["unsupported"] = Json::array();
  return row;
}

void add_cluster(const SweepPrices& prices, const Topology& topology, Json& row) {
  row["cluster_nodes"] = topology.nodes.size();
  row["cluster_gpus"] = topology.gpus.size();
  row["cluster_nics"] = topology.nics.size();
  if (prices.capital())
    row["capital_cost"] = prices.gpu * static_cast<double>(topology.gpus.size()) +
                          prices.nic * static_cast<double>(topology.nics.size()) +
                          prices.node * static_cast<double>(topology.nodes.size());
}

// A strategy's plan with its estimate.
struct Candidate {
  Json row;
  Plan plan;
  double estimate_s = 0;
};

class PointRows {
 public:
  PointRows(const Sweep& sweep, const SweepPoint& point)
      : sweep_(sweep), point_(point), blank_(blank_row(sweep, point)) {}

  Json rows() {
    try {
      const Job job = job_from_text(
          point_.job_text,
          fmt::format("{} (point {}: {})", sweep_.path, point_.number, point_title(sweep_, point_)),
          sweep_.base_folder);
      add_cluster(point_.prices, job.topology, blank_);
      facts_ = facts_of(job);
      plan_all(job);
    } catch (const InputError& error) {
      Json row = blank_;
      row["refused"] = error.what();
      return Json::array({row});
    }
    rank_and_simulate();
    Json list = Json::array();
    for (Candidate& candidate : candidates_) list.push_back(std::move(candidate.row));
    for (Json& row : refused_) list.push_back(std::move(row));
    return list;
  }

 private:
  void plan_all(const Job& job) {
    const PlanningInput input = prepare(job);
    const Discipline discipline = discipline_of(job);
    std::vector<StrategyChoice> choices;
    for (const std::string& text : sweep_.strategies)
      choices.push_back(parse_strategy(YamlValue::from_text(text, sweep_.path)));
    if (choices.empty()) choices.push_back(job.strategy);
    for (const StrategyChoice& choice : choices) plan_one(job, input, choice, discipline);
  }

  void plan_one(const Job& job, const PlanningInput& input, const StrategyChoice& choice,
                Discipline discipline) {
    Json row = blank_;
    row["strategy"] = choice.name;
    if (!choice.mode.empty()) row["mode"] = choice.mode;
    row["discipline"] = name_of(discipline);
    row["bound_s"] = to_seconds(input.bounds.bound_ps);
    row["bound_line_rate_s"] = to_seconds(input.bounds.bound_line_rate_ps);
    row["binding"] = input.bounds.binding;
    try {
      Candidate candidate{row, make_plan(job, input, choice, discipline), 0};
      candidate.estimate_s = estimate_seconds(candidate.plan);
      candidate.row["estimate_s"] = candidate.estimate_s;
      candidate.row["network_bytes"] = plan_totals(candidate.plan).network_bytes;
      keep(std::move(candidate));
    } catch (const UnsupportedError& error) {
      for (const Unsupported& entry : error.limits())
        row["unsupported"].push_back(
            {{"limit", entry.limit}, {"value", entry.value}, {"tensor", entry.tensor}});
      refused_.push_back(std::move(row));
    } catch (const InputError& error) {
      row["unsupported"].push_back({{"limit", error.what()}, {"value", ""}, {"tensor", ""}});
      refused_.push_back(std::move(row));
    }
  }

  // In order of their estimates. Plans take hundreds of megabytes: only those that may yet be
  // simulated stay.
  void keep(Candidate candidate) {
    const auto place = std::upper_bound(
        candidates_.begin(), candidates_.end(), candidate.estimate_s,
        [](double estimate_s, const Candidate& other) { return estimate_s < other.estimate_s; });
    candidates_.insert(place, std::move(candidate));
    for (std::size_t i = sweep_.simulate; i < candidates_.size(); ++i) candidates_[i].plan = Plan();
  }

  void rank_and_simulate() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      Json& row = candidates_[i].row;
      row["rank"] = i + 1;
      row["seconds"] = candidates_[i].estimate_s;
      row["figure"] = "estimate";
      if (i < sweep_.simulate) simulate_one(candidates_[i]);
      if (const double bound = row["bound_s"]; bound > 0)
        row["ratio_to_bound"] = row["seconds"].get<double>() / bound;
    }
    // The best by simulation; without any, by estimate.
    const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(
                                               sweep_.simulate == 0
                                                   ? std::min<std::size_t>(1, candidates_.size())
                                                   : std::min(sweep_.simulate, candidates_.size()));
    const auto best =
        std::min_element(candidates_.begin(), end, [](const Candidate& a, const Candidate& b) {
          return a.row["seconds"].get<double>() < b.row["seconds"].get<double>();
        });
    if (best != end) best->row["best"] = true;
  }

  void simulate_one(Candidate& candidate) {
    SimulateOptions options;
    options.coarse_share = kSweepShare;
    const SimulationResult result = simulate(candidate.plan, options);
    const Availability found = availability(candidate.plan, result, facts_);
    Json& row = candidate.row;
    row["refit_s"] = result.refit_s;
    row["seconds"] = result.refit_s;
    row["figure"] = "simulated";
    row["bottleneck"] = result.bottleneck;
    row["pause_s"] = found.pause_s;
    const double gpu_hours = found.gpu_s / kSecondsPerHour;
    row["gpu_hours_per_refit"] = gpu_hours;
    if (point_.prices.gpu_hour > 0) {
      row["refit_cost"] = gpu_hours * point_.prices.gpu_hour;
      if (sweep_.refits_per_day > 0)
        row["refit_cost_per_day"] = gpu_hours * point_.prices.gpu_hour * sweep_.refits_per_day;
    }
  }

  const Sweep& sweep_;
  const SweepPoint& point_;
  Json blank_;
  ClusterFacts facts_;
  std::vector<Candidate> candidates_;
  std::vector<Json> refused_;
};

}  // namespace

nlohmann::json rows_of_point(const Sweep& sweep, const SweepPoint& point) {
  return PointRows(sweep, point).rows();
}

}  // namespace transload
