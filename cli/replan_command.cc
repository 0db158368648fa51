// transload replan: the plan for other members, after ranks or NICs were lost or engines came.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/plan_job.h"
#include "cli/plan_report.h"
#include "cli/subject.h"
#include "cli/table.h"
#include "common/units.h"
#include "planner/job/job_edit.h"
#include "planner/job/more_gpus.h"
#include "planner/schedule/reuse.h"

namespace transload {
namespace {

struct Arguments {
  std::string plan;
  std::optional<std::string> output;
  std::optional<std::string> job_output;
  std::optional<std::string> without;
  std::vector<std::string> without_nics;
  std::optional<std::int64_t> add;
  std::optional<std::int64_t> pool;
  bool allow_missing = false;
  bool fresh = false;
  std::optional<std::string> base;
};

// Who takes part before and after.
struct Members {
  std::vector<std::int32_t> stay;
  std::vector<std::int32_t> leave;
  std::vector<std::int32_t> join;
};

Members members(const Plan& before, const Plan& after) {
  Members result;
  const auto takes = [](const Plan& plan, std::size_t rank) {
    return rank < plan.ranks() && takes_part(plan, static_cast<std::int32_t>(rank));
  };
  for (std::size_t rank = 0; rank < std::max(before.ranks(), after.ranks()); ++rank) {
    const bool was = takes(before, rank);
    const bool is = takes(after, rank);
    if (!was && !is) continue;
    (was && is ? result.stay
     : was     ? result.leave
               : result.join)
        .push_back(static_cast<std::int32_t>(rank));
  }
  return result;
}

Plan open_plan_only(const std::string& path) {
  if (!is_plan_file(path))
    throw InputError({path, 0, ""},
                     "expected a plan file; `transload plan JOB -o FILE` makes one of a job");
  return open_plan(path);
}

// Ranks as --without has them: "3,8-15".
std::vector<std::int32_t> lost_ranks(const std::string& text, const Plan& plan) {
  std::vector<std::int32_t> ranks = YamlValue::from_text("[" + text + "]", "--without")
                                        .index_list(static_cast<std::int64_t>(plan.ranks()) - 1);
  if (ranks.empty()) throw InputError("--without: expected ranks, as 3 or 3,8-15, found none");
  return ranks;
}

// The keys of `without:` that the flags and the job's own list come to.
std::vector<JobEdit> membership_edits(const Arguments& arguments, const Plan& plan,
                                      const std::string& text) {
  std::vector<JobEdit> edits;
  if (arguments.without) {
    std::vector<std::int32_t> ranks = lost_ranks(*arguments.without, plan);
    if (const auto earlier = value_at(text, "without.ranks", plan.header().job_name))
      for (const std::int32_t rank : earlier->index_list(INT32_MAX)) ranks.push_back(rank);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    edits.push_back({"without.ranks", index_text(ranks)});
  }
  if (!arguments.without_nics.empty()) {
    nlohmann::json nics = nlohmann::json::array();
    if (const auto earlier = value_at(text, "without.nics", plan.header().job_name))
      for (const YamlValue& nic : earlier->list()) nics.push_back(nic.text());
    for (const std::string& nic : arguments.without_nics)
      if (std::find(nics.begin(), nics.end(), nic) == nics.end()) nics.push_back(nic);
    edits.push_back({"without.nics", nics.dump()});
  }
  if (arguments.allow_missing) edits.push_back({"without.allow_missing", "true"});
  return edits;
}

// The chunk size follows from the loads of all ports: chosen anew it would move the borders of
// nearly all operations.
std::vector<JobEdit> kept_chunk(const Plan& plan, const std::string& text) {
  const std::uint64_t bytes = plan.header().chunk_bytes;
  const auto stated = value_at(text, "options.chunk_bytes", plan.header().job_name);
  if (bytes == 0 || (stated && stated->text() != "auto")) return {};
  return {{"options.chunk_bytes", std::to_string(bytes)}};
}

// Which of the job's destinations grows: an index into Job::sides.
std::size_t growing_side(const Job& job, const std::optional<std::int64_t>& pool) {
  if (job.sides.empty())
    throw InputError("--add: a tensor job has exact layouts; add the ranks to its destinations");
  const auto pools = static_cast<std::int64_t>(job.sides.size()) - 1;
  if (!pool && pools > 1)
    throw InputError(
        fmt::format("--add: the job has {} destination pools; --pool 0 to {} says "
                    "which one grows",
                    pools, pools - 1));
  const std::int64_t chosen = pool.value_or(0);
  if (chosen < 0 || chosen >= pools)
    throw InputError(fmt::format("--pool: expected 0 to {}, found {}", pools - 1, chosen));
  return static_cast<std::size_t>(chosen) + 1;
}

std::vector<JobEdit> growth_edits(const Arguments& arguments, const Job& job,
                                  const std::string& base_folder) {
  const std::size_t side = growing_side(job, arguments.pool);
  const std::int64_t engine = std::max<std::int64_t>(1, job.sides[side].engine_ranks);
  if (*arguments.add < 1 || *arguments.add % engine != 0)
    throw InputError(
        fmt::format("--add: one engine of {} is {} GPUs; expected a multiple of that, found {}",
                    job.sides[side].field, engine, *arguments.add));
  return more_gpus(job, side, *arguments.add, base_folder);
}

nlohmann::json missing_json(const std::vector<MissingTensor>& missing) {
  nlohmann::json list = nlohmann::json::array();
  for (const MissingTensor& tensor : missing)
    list.push_back({{"tensor", tensor.name},
                    {"box", tensor.box},
                    {"lost_ranks", tensor.lost},
                    {"wanted_by", tensor.wanted_by},
                    {"nearest_replica", tensor.nearest_replica}});
  return list;
}

nlohmann::json replan_json(const Job& job, const Plan& plan, const Members& who,
                           const PlanReuse& reuse, const PlanMaking& making) {
  nlohmann::json json = plan_json(job, plan, plan_totals(plan), making);
  nlohmann::json map = nlohmann::json::object();
  for (const std::int32_t rank : who.stay) map[std::to_string(rank)] = rank;
  for (const std::int32_t rank : who.leave) map[std::to_string(rank)] = nullptr;
  json["rank_map"] = std::move(map);
  json["added_ranks"] = who.join;
  json["lost_ranks"] = job.membership.ranks;
  json["lost_nics"] = job.membership.nics;
  json["missing"] = missing_json(job.missing);
  json["reused_fraction"] = reuse.fraction();
  json["connections"] = {{"kept", reuse.kept_connections},
                         {"new", reuse.new_connections},
                         {"dropped", reuse.dropped_connections}};
  json["job"] = job.text;
  return json;
}

std::string some_ranks(const std::vector<std::int32_t>& ranks) {
  return ranks.empty() ? "none" : fmt::format("{}: {}", ranks.size(), index_text(ranks));
}

std::string replan_text(const Job& job, const Plan& plan, const Members& who,
                        const PlanReuse& reuse, const PlanMaking& making) {
  Facts facts;
  facts.add("stay", fmt::format("{} ranks, each with its number", who.stay.size()));
  facts.add("leave", some_ranks(who.leave));
  facts.add("join", some_ranks(who.join));
  facts.add("reused",
            fmt::format("{:.1f} % of the bytes move just as before", 100 * reuse.fraction()));
  facts.add("connections", fmt::format("{} kept, {} new, {} dropped", reuse.kept_connections,
                                       reuse.new_connections, reuse.dropped_connections));
  return plan_text(job, plan, plan_totals(plan), making) + "members\n" + facts.text();
}

// What no living rank holds is a list for scripts, too.
int refuse_missing(Session& session, const MissingHolders& error) {
  if (!session.json) throw error;
  nlohmann::json names = nlohmann::json::array();
  for (const MissingTensor& tensor : error.missing()) names.push_back(tensor.name);
  print_json(session, {{"digest", nullptr},
                       {"unplaced", std::move(names)},
                       {"missing", missing_json(error.missing())}});
  session.err << "transload: error: " << error.what() << std::endl;
  return kBadInput;
}

// The job of the new members.
Job changed_job(const Arguments& arguments, const Plan& before, const std::string& old_text) {
  const std::string base = base_folder_of(arguments.plan, arguments.base);
  const std::string text = edited_job(old_text, membership_edits(arguments, before, old_text));
  Job job = job_named_as(before, text, base);
  if (!arguments.add) return job;
  return job_named_as(before, edited_job(text, growth_edits(arguments, job, base)), base);
}

// With the chunk size of before where a plan can be made with it; `job` then states it.
Plan new_plan(Job& job, const Plan& before, bool fresh) {
  const std::vector<JobEdit> kept = kept_chunk(before, job.text);
  if (fresh || kept.empty()) return make_plan(job);
  const Job as_it_is = job;
  job.text = edited_job(job.text, kept);
  job.options.chunk_bytes = static_cast<std::int64_t>(before.header().chunk_bytes);
  try {
    return make_plan(job);
  } catch (const InputError&) {
    // Other loads may not leave room for it in staging.
    job = as_it_is;
    return make_plan(job);
  }
}

int replan_command(Session& session, const Arguments& arguments) {
  if (arguments.output) require_writable(*arguments.output, "-o");
  if (arguments.job_output) require_writable(*arguments.job_output, "--job");
  if (!arguments.without && arguments.without_nics.empty() && !arguments.add)
    throw InputError("expected at least one of --without, --without-nic and --add");
  const auto begin = std::chrono::steady_clock::now();
  const Plan before = open_plan_only(arguments.plan);
  const std::string text = naming_file(arguments.plan, [&] { return job_text_of(before); });
  try {
    Job job = changed_job(arguments, before, text);
    const Plan after = new_plan(job, before, arguments.fresh);
    if (arguments.output) write_plan(after, *arguments.output);
    if (arguments.job_output) write_text_file(job.text, *arguments.job_output);
    const PlanMaking making{
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), false};
    const Members who = members(before, after);
    const PlanReuse reuse = plan_reuse(before, after);
    if (session.json)
      print_json(session, replan_json(job, after, who, reuse, making));
    else
      session.out << replan_text(job, after, who, reuse, making);
    return kDone;
  } catch (const MissingHolders& error) {
    return refuse_missing(session, error);
  }
}

}  // namespace

void add_replan(CLI::App& program, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, session, "replan",
                                  "Make the plan for other members: ranks or NICs that are gone, "
                                  "engines that come",
                                  "replan 8x8.plan --without 5 -o 8x8-less.plan");
  command->add_option("PLAN", arguments->plan, "Plan file")->required();
  command->add_option("--without", arguments->without,
                      "Ranks that are gone: 3 or 3,8-15. An engine that lost one is dropped whole");
  command->add_option("--without-nic", arguments->without_nics,
                      "A NIC that is down, as NODE:NIC by name or number; may be repeated");
  command->add_option("--add", arguments->add,
                      "So many more destination GPUs: whole engines, on the next free nodes");
  command->add_option("--pool", arguments->pool,
                      "Which destination pool grows, where it has several");
  command->add_flag("--allow-missing", arguments->allow_missing,
                    "Leave out what no living rank holds, instead of refusing");
  command->add_flag("--fresh", arguments->fresh,
                    "Choose the chunk size anew instead of keeping the plan's: reuses less");
  command->add_option("--base", arguments->base,
                      "Folder that the job's relative paths start from; default: the plan's");
  command->add_option("-o,--output", arguments->output, "Write the new plan to this file");
  command->add_option("--job", arguments->job_output, "Write the job of the new plan to this file");
  on_chosen(command, session,
            [arguments, &session] { return replan_command(session, *arguments); });
}

}  // namespace transload
