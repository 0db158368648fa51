#include "cli/published_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/conditions.h"
#include "cli/markdown.h"
#include "cli/subject.h"
#include "cli/sweep_file.h"
#include "cli/sweep_point.h"
#include "common/home.h"
#include "common/units.h"
#include "common/yaml.h"
#include "simulator/calibration/calibration.h"

namespace transload {
namespace {

PublishedRange read_range(const YamlValue& value) {
  YamlMap map = value.map();
  PublishedRange range;
  range.id = map.required("id").text();
  range.title = map.required("title").text();
  range.published_s = to_seconds(map.required("published").duration_ps());
  range.source = map.required("source").text();
  range.unpublished = map.required("unpublished").text();
  range.job = map.required("job").text();
  range.sweep = map.required("sweep").text();
  range.source_memory = map.required("source_memory").word_of({"gpu", "host"});
  for (const auto& [role, name] : map.required("phases").map().entries())
    range.phase_names[role] = name.text();
  map.finish();
  return range;
}

void predict_ends(PublishedRange& range, Progress& progress) {
  const Sweep sweep = load_sweep(transload_home() + "/" + range.sweep);
  range.low_s = std::numeric_limits<double>::infinity();
  for (std::size_t number = 0; number < point_count(sweep); ++number) {
    progress.show(fmt::format("{}: {} of {}", range.id, number + 1, point_count(sweep)));
    for (const nlohmann::json& row : rows_of_point(sweep, make_point(sweep, number))) {
      if (row.at("seconds").is_null()) continue;
      const double seconds = row.at("seconds").get<double>();
      range.low_s = std::min(range.low_s, seconds);
      range.high_s = std::max(range.high_s, seconds);
      ++range.points;
    }
  }
}

void predict_likely(PublishedRange& range, Progress& progress) {
  progress.show(range.id + ": likely case");
  const Subject subject = load_subject(transload_home() + "/" + range.job);
  ConditionFlags conditions;
  conditions.source_memory = range.source_memory;
  const Plan plan = plan_under(subject, PlanningFlags{}, conditions).plan;
  const SimulationResult result = simulate(plan);
  range.likely_s = result.refit_s;
  range.phases = result.phases;
  if (subject.job->framework == "none") return;
  const StrategyChoice choice = strategy_choice(*subject.job, PlanningFlags{});
  const std::string strategy =
      plan.header().strategy + (choice.mode.empty() ? "" : ":" + choice.mode);
  const HostPrediction host = add_host_costs(load_calibration(subject.job->framework), strategy,
                                             host_work(plan), result.refit_s);
  range.likely_s = host.refit_s;
  for (const HostPhase& phase : host.phases) {
    PhaseTime time;
    time.name = phase.name;
    time.start_s = result.refit_s;
    time.finish_s = result.refit_s + phase.exposed_s;
    time.critical_s = phase.exposed_s;
    range.phases.push_back(std::move(time));
  }
}

std::string phase_name(const PublishedRange& range, const std::string& role) {
  const auto found = range.phase_names.find(role);
  return found == range.phase_names.end() ? role : fmt::format("{} ({})", found->second, role);
}

}  // namespace

std::vector<PublishedRange> listed_ranges() {
  std::vector<PublishedRange> ranges;
  for (const YamlValue& value :
       YamlValue::from_file(transload_home() + "/simulator/validation/ranges.yaml").list())
    ranges.push_back(read_range(value));
  return ranges;
}

std::vector<PublishedRange> predict_ranges(Progress& progress) {
  std::vector<PublishedRange> ranges = listed_ranges();
  for (PublishedRange& range : ranges) {
    predict_ends(range, progress);
    predict_likely(range, progress);
  }
  return ranges;
}

std::string range_section(const std::vector<PublishedRange>& ranges) {
  std::string text =
      "\n## Ranges\n\nOf these refits the time is public and the setting is not. *Low* and *high* "
      "are "
      "the best and the worst point of a\ngrid over what is not published (closed-form estimates), "
      "*likely* is one job of it, simulated. Behind each: where\nthe likely one's time goes. "
      "Phases "
      "overlap; what each adds to the critical path adds up to the refit.\n\n";
  std::vector<std::vector<std::string>> rows;
  for (const PublishedRange& range : ranges)
    rows.push_back({range.title, format_seconds(range.published_s), format_seconds(range.low_s),
                    format_seconds(range.likely_s), format_seconds(range.high_s),
                    fmt::format("{}", range.points), range.unpublished, range.source});
  text += markdown_table(
      {"refit", "published", "low", "likely", "high", "points", "not published", "source"}, rows);
  for (const PublishedRange& range : ranges) {
    const bool host = range.source_memory == "host";
    text += fmt::format(
        "\n{}: `transload simulate {}{} --range` adds the range of the efficiencies, "
        "`transload sweep {}` has every point.\n\n",
        range.title, range.job, host ? " --source-memory host" : "", range.sweep);
    rows.clear();
    for (const PhaseTime& phase : range.phases)
      rows.push_back({phase_name(range, phase.name),
                      phase.bytes > 0 ? format_bytes(static_cast<double>(phase.bytes)) : "-",
                      format_seconds(phase.start_s), format_seconds(phase.finish_s),
                      format_seconds(phase.critical_s)});
    text += markdown_table({"phase", "bytes", "from", "to", "on the critical path"}, rows);
  }
  return text;
}

}  // namespace transload
