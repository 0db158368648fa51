#include "cli/subject.h"

#include <fmt/format.h>

#include <array>

#include "common/yaml.h"
#include "planner/job/job_edit.h"

namespace transload {
namespace {

StrategyChoice parse_choice(const std::string& text) {
  if (text.find_first_not_of(' ') == std::string::npos)
    throw InputError("--strategy: expected the name of a strategy, found nothing");
  return parse_strategy(YamlValue::from_text(text, "--strategy"));
}

Discipline parse_discipline(const std::string& word) {
  static constexpr std::array kAll = {Discipline::kWindows, Discipline::kGroups,
                                      Discipline::kUnbounded};
  std::vector<std::string_view> names;
  for (const Discipline discipline : kAll) {
    if (word == name_of(discipline)) return discipline;
    names.push_back(name_of(discipline));
  }
  const auto near = nearest_word(word, names);
  throw InputError(fmt::format("--discipline: expected windows, groups or unbounded, found {}{}",
                               word, near ? fmt::format(" (did you mean {}?)", *near) : ""));
}

}  // namespace

void add_planning_flags(CLI::App* command, PlanningFlags& flags) {
  command->add_option(
      "--strategy", flags.strategy,
      "A strategy of docs/strategies.md: name, name:mode, or {name: {setting: value}}; "
      "default: the job's");
  command->add_option("--discipline", flags.discipline,
                      "windows, groups or unbounded; default: the job's, else what its executor "
                      "can do");
  add_cache_flag(command, flags.cache);
}

void add_cache_flag(CLI::App* command, std::optional<std::string>& cache) {
  command->add_option("--cache", cache,
                      "Folder of plans that were made before; default: $TRANSLOAD_CACHE, else "
                      "none is kept");
}

Job load_job_only(const std::string& path) {
  if (is_plan_file(path))
    throw InputError({path, 0, ""}, "this is a plan file; expected a job (YAML)");
  return naming_file(path, [&] { return load_job(path); });
}

Subject load_subject(const std::string& path) {
  if (is_plan_file(path)) return {path, std::nullopt, open_plan(path)};
  return {path, load_job_only(path), std::nullopt};
}

StrategyChoice strategy_choice(const Job& job, const PlanningFlags& flags) {
  return flags.strategy ? parse_choice(*flags.strategy) : job.strategy;
}

Discipline discipline_choice(const Job& job, const PlanningFlags& flags) {
  return flags.discipline ? parse_discipline(*flags.discipline) : discipline_of(job);
}

CachedPlan planned(Subject& subject, const PlanningFlags& flags) {
  if (subject.plan) {
    if (flags.strategy || flags.discipline)
      throw InputError({subject.path, 0, ""},
                       "a plan file has its strategy and discipline; --strategy and --discipline "
                       "go with a job");
    return {*subject.plan, false};
  }
  Job& job = *subject.job;
  job.strategy = strategy_choice(job, flags);
  const Discipline discipline = discipline_choice(job, flags);
  std::vector<JobEdit> edits;
  if (flags.strategy) edits.push_back({"strategy", *flags.strategy});
  if (flags.discipline) edits.push_back({"options.discipline", *flags.discipline});
  if (!edits.empty()) job.text = edited_job(job.text, edits);
  return naming_file(subject.path, [&] {
    return PlanCache::open(flags.cache).plan(job, job.strategy, discipline, [&] {
      return make_plan(job, prepare(job), job.strategy, discipline);
    });
  });
}

Plan plan_of(Subject subject, const PlanningFlags& flags) { return planned(subject, flags).plan; }

std::vector<StrategyChoice> parse_strategies(const std::string& list) {
  std::vector<StrategyChoice> choices;
  std::string item;
  int depth = 0;
  for (const char c : list + ',') {
    if (c == '{') ++depth;
    if (c == '}') --depth;
    if (c == ',' && depth <= 0) {
      choices.push_back(parse_choice(item));
      item.clear();
    } else {
      item += c;
    }
  }
  if (!item.empty()) throw InputError("--strategies: a bracket is not closed in " + list);
  return choices;
}

}  // namespace transload
