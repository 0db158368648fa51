#include "cli/what_if_predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "cli/table.h"
#include "common/error.h"
#include "common/units.h"
#include "simulator/estimate.h"
#include "simulator/simulate.h"

namespace transload {
namespace {

double predicted_seconds(const Plan& plan, bool simulated) {
  return simulated ? simulate(plan).refit_s : estimate_seconds(plan);
}

// Every what-if is a job of its own, so nothing is shared while it is planned.
void predict(PredictedWhatIf& entry, const Job& job, const PredictOptions& options) {
  if (!entry.what_if.impossible.empty()) return;
  try {
    const Job changed = job_from_text(edited_job(job.text, entry.what_if.edits), job.name + ".yaml",
                                      options.base_folder);
    const Plan plan = make_plan(changed);
    entry.refit_s = predicted_seconds(plan, options.simulate);
    entry.bound_s = plan.header().bound_s;
  } catch (const InputError& error) {
    entry.what_if.impossible = error.what();
  }
}

std::string in_yaml(const StrategyChoice& choice) {
  return choice.mode.empty() ? choice.name : choice.name + ":" + choice.mode;
}

std::string names_of(const std::vector<StrategyChoice>& choices) {
  std::string names;
  for (std::size_t i = 0; i < choices.size(); ++i)
    names += (i == 0 ? "" : i + 1 == choices.size() ? " and " : ", ") + in_yaml(choices[i]);
  return names;
}

// Of the rivals' rows only the best one stays.
void keep_best_rival(std::vector<PredictedWhatIf>& entries, std::size_t first_rival,
                     const std::vector<StrategyChoice>& rivals) {
  const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(first_rival);
  if (begin == entries.end()) return;
  const auto best = std::min_element(begin, entries.end(), [](const auto& a, const auto& b) {
    return std::pair(!a.what_if.impossible.empty(), a.refit_s) <
           std::pair(!b.what_if.impossible.empty(), b.refit_s);
  });
  PredictedWhatIf kept = std::move(*best);
  if (rivals.size() > 1)
    kept.what_if.note = kept.what_if.impossible.empty()
                            ? fmt::format("the best of {}", names_of(rivals))
                            : fmt::format("so do all of {}", names_of(rivals));
  entries.erase(begin, entries.end());
  entries.push_back(std::move(kept));
}

}  // namespace

std::vector<PredictedWhatIf> predicted_what_ifs(const Job& job, Discipline discipline,
                                                const PredictOptions& options) {
  std::vector<PredictedWhatIf> entries;
  for (WhatIf& what_if : what_ifs(job, discipline, options.base_folder))
    entries.push_back({std::move(what_if), 0, 0});
  const std::size_t first_rival = entries.size();
  std::vector<StrategyChoice> rivals;
  for (const StrategyChoice& rival : options.rivals) {
    if (rival.name == job.strategy.name && rival.mode == job.strategy.mode) continue;
    rivals.push_back(rival);
    entries.push_back(
        {{fmt::format("strategy {}", in_yaml(rival)),
          {{"strategy", in_yaml(rival)}, {"options.discipline", std::string(name_of(discipline))}},
          "",
          ""},
         0,
         0});
  }
  std::atomic<std::size_t> next = 0;
  const auto work = [&](bool main) {
    for (std::size_t i = next++; i < entries.size(); i = next++) {
      if (main && options.progress)
        options.progress(
            fmt::format("what if {} of {}: {}", i + 1, entries.size(), entries[i].what_if.change));
      predict(entries[i], job, options);
    }
  };
  // A process that forks a simulation may have no second thread.
  std::future<void> other;
  if (!options.simulate && std::thread::hardware_concurrency() > 1)
    other = std::async(std::launch::async, work, false);
  work(true);
  if (other.valid()) other.get();
  keep_best_rival(entries, first_rival, rivals);
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::pair(!a.what_if.impossible.empty(), a.refit_s) <
           std::pair(!b.what_if.impossible.empty(), b.refit_s);
  });
  return entries;
}

nlohmann::json what_if_json(const std::vector<PredictedWhatIf>& what_ifs, double refit_s,
                            bool simulated) {
  nlohmann::json list = nlohmann::json::array();
  for (const PredictedWhatIf& entry : what_ifs) {
    if (!entry.what_if.impossible.empty()) continue;
    nlohmann::json changes = nlohmann::json::object();
    for (const JobEdit& edit : entry.what_if.edits) changes[edit.key] = edit.value;
    list.push_back({{"change", entry.what_if.change},
                    {"refit_s", entry.refit_s},
                    {"bound_s", entry.bound_s},
                    {"gain_s", refit_s - entry.refit_s},
                    {"gain_fraction", refit_s > 0 ? 1 - entry.refit_s / refit_s : 0},
                    {"predicted_by", simulated ? "simulate" : "estimate"},
                    {"changes", std::move(changes)},
                    {"note", entry.what_if.note}});
  }
  return list;
}

nlohmann::json not_possible_json(const std::vector<PredictedWhatIf>& what_ifs) {
  nlohmann::json list = nlohmann::json::array();
  for (const PredictedWhatIf& entry : what_ifs)
    if (!entry.what_if.impossible.empty())
      list.push_back({{"change", entry.what_if.change}, {"why", entry.what_if.impossible}});
  return list;
}

std::string what_if_text(const std::vector<PredictedWhatIf>& what_ifs, double refit_s,
                         bool simulated) {
  Table table({"what if", simulated ? "simulated refit" : "estimated refit", "gain", "", "bound"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  std::string notes;
  for (const PredictedWhatIf& entry : what_ifs) {
    const WhatIf& what_if = entry.what_if;
    if (!what_if.impossible.empty()) {
      notes += fmt::format("  not possible: {}: {}\n", what_if.change, what_if.impossible);
      continue;
    }
    // Differences of rounding are none.
    double gain = refit_s - entry.refit_s;
    if (std::abs(gain) < 1e-6 * refit_s) gain = 0;
    const double share = refit_s > 0 ? gain / refit_s : 0;
    table.add({what_if.change, format_seconds(entry.refit_s),
               fmt::format("{}{}", gain < 0 ? "-" : "", format_seconds(gain < 0 ? -gain : gain)),
               fmt::format("{:.1f} %", 100 * share), format_seconds(entry.bound_s)});
    if (!what_if.note.empty()) notes += fmt::format("  {}: {}\n", what_if.change, what_if.note);
  }
  return (table.empty() ? "" : table.text()) + notes;
}

}  // namespace transload
