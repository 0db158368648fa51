// transload explain: why a refit takes as long as it does, and what would help by how much.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "cli/commands.h"
#include "cli/describe_plan.h"
#include "cli/explanation.h"
#include "cli/plan_job.h"
#include "cli/progress.h"
#include "cli/subject.h"
#include "cli/what_if_predictions.h"

namespace transload {
namespace {

struct Arguments {
  std::string path;
  bool simulate = false;
  bool no_what_if = false;
  // The published systems that came closest on the jobs of examples/; planning all takes longer.
  std::string rivals = "p2p,m2n,megatron";
  std::optional<std::string> base;
  PlanningFlags planning;
};

// The job of a plan file; nothing, with a warning, where its files are not there any more: the plan
// alone still tells most.
std::optional<Job> job_of_plan(Session& session, const Arguments& arguments, const Plan& plan) {
  try {
    return job_named_as(plan, job_text_of(plan), base_folder_of(arguments.path, arguments.base));
  } catch (const InputError& error) {
    warn(session, fmt::format("no what-ifs: the plan's job cannot be read ({}); --base says where "
                              "its files are",
                              error.what()));
    return std::nullopt;
  }
}

// A list item, its words on lines of at most 100 columns.
std::string list_item(const std::string& sentence) {
  constexpr std::size_t kColumns = 100;
  std::string text;
  std::string line = "  -";
  std::istringstream words(sentence);
  for (std::string word; words >> word; line += " " + word)
    if (line.size() + 1 + word.size() > kColumns) {
      text += line + "\n";
      line = "   ";
    }
  return text + line + "\n";
}

int explain_command(Session& session, const Arguments& arguments) {
  Progress progress(session);
  progress.show("planning");
  Subject subject = load_subject(arguments.path);
  const Plan plan = planned(subject, arguments.planning).plan;
  const std::optional<Job> job =
      subject.job ? std::move(subject.job) : job_of_plan(session, arguments, plan);
  std::optional<BoundReport> bounds;
  if (job) bounds = naming_file(arguments.path, [&] { return prepare(*job).bounds; });
  std::optional<SimulationResult> simulation;
  if (arguments.simulate) {
    progress.show("simulating");
    simulation = simulate(plan);
  }
  const Explanation explanation = explain(plan, bounds, simulation);
  std::vector<PredictedWhatIf> what_ifs;
  if (job && !arguments.no_what_if)
    what_ifs =
        predicted_what_ifs(*job, plan.header().discipline,
                           {arguments.simulate, base_folder_of(arguments.path, arguments.base),
                            parse_strategies(arguments.rivals),
                            [&](const std::string& text) { progress.show(text); }});
  progress.clear();
  if (session.json) {
    nlohmann::json json = explanation_json(plan, explanation);
    json["what_if"] = what_if_json(what_ifs, explanation.refit_s, arguments.simulate);
    json["not_possible"] = not_possible_json(what_ifs);
    print_json(session, json);
    return kDone;
  }
  session.out << heading_of(plan) << "\n";
  for (const std::string& sentence : explanation.sentences) session.out << list_item(sentence);
  if (!what_ifs.empty())
    session.out << '\n' << what_if_text(what_ifs, explanation.refit_s, arguments.simulate);
  return kDone;
}

}  // namespace

void add_explain(CLI::App& program, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, session, "explain",
                                  "Say why a refit takes that long and what would help",
                                  "explain examples/8x8.yaml");
  command->add_option("JOB", arguments->path, "Job file (YAML), or a plan file")->required();
  command->add_flag("--simulate", arguments->simulate,
                    "Predict with SimGrid instead of the closed-form estimate: slower, and tells "
                    "what waiting costs");
  command->add_flag("--no-what-if", arguments->no_what_if, "Only explain the plan as it is");
  command->add_option("--rivals", arguments->rivals,
                      "Strategies of which the best is shown as a what-if, separated by commas; "
                      "default: " +
                          arguments->rivals);
  command->add_option("--base", arguments->base,
                      "Folder that the job's relative paths start from; default: the file's");
  add_planning_flags(command, arguments->planning);
  on_chosen(command, session,
            [arguments, &session] { return explain_command(session, *arguments); });
}

}  // namespace transload
