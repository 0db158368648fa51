// What a command is about: a job file or a plan file, recognised by its content.
#pragma once

#include <optional>
#include <string>

#include "cli/plan_cache.h"
#include "cli/session.h"
#include "common/error.h"
#include "planner/job/job.h"
#include "planner/schedule/plan_file.h"
#include "planner/strategy/strategy.h"

namespace transload {

// --strategy, --discipline and --cache of commands that plan.
struct PlanningFlags {
  std::optional<std::string> strategy;
  std::optional<std::string> discipline;
  std::optional<std::string> cache;
};
void add_planning_flags(CLI::App* command, PlanningFlags& flags);
void add_cache_flag(CLI::App* command, std::optional<std::string>& cache);

// Exactly one of both is there.
struct Subject {
  std::string path;
  std::optional<Job> job;
  std::optional<Plan> plan;
};
Subject load_subject(const std::string& path);

// The job at `path`; a plan file is refused by name.
Job load_job_only(const std::string& path);

// The plan of a plan file as it stands, or the job planned as its file and the flags say, or found
// in the plan cache. The flags become part of the job's text, so that the plan tells by itself how
// it was made. InputError if --strategy or --discipline are given for a plan file.
CachedPlan planned(Subject& subject, const PlanningFlags& flags);
Plan plan_of(Subject subject, const PlanningFlags& flags);

StrategyChoice strategy_choice(const Job& job, const PlanningFlags& flags);
Discipline discipline_choice(const Job& job, const PlanningFlags& flags);

// The strategies of a list such as "p2p,{gather-broadcast: {bucket_bytes: 1GiB}}".
std::vector<StrategyChoice> parse_strategies(const std::string& list);

// Planning knows tensors and ranks but no files: puts the file in front of what it complains about.
template <class Function>
auto naming_file(const std::string& path, Function&& function) {
  try {
    return function();
  } catch (const InputError& error) {
    if (std::string(error.what()).find(path) != std::string::npos) throw;
    throw InputError({path, 0, ""}, error.what());
  }
}

}  // namespace transload
