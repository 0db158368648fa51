// transload validate: predictions against public measurements.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/published_ranges.h"
#include "cli/validation_text.h"
#include "common/error.h"
#include "simulator/validation/report.h"

namespace transload {
namespace {

struct Arguments {
  std::optional<std::string> data;
  std::vector<std::string> only;
  std::optional<double> threshold;
  bool markdown = false;
  bool refit = false;
};

// Classes with fewer rows say little about a class.
constexpr std::size_t kLeastRows = 4;

void keep_only(std::vector<Measurement>& rows, const std::vector<std::string>& ids) {
  if (ids.empty()) return;
  const std::set<std::string> wanted(ids.begin(), ids.end());
  for (const std::string& id : wanted)
    if (std::none_of(rows.begin(), rows.end(), [&](const auto& row) { return row.id == id; }))
      throw InputError("--only: no row has the id " + id);
  std::erase_if(rows, [&](const Measurement& row) { return !wanted.contains(row.id); });
}

bool over(const ValidationReport& report, double threshold) {
  return std::any_of(report.classes.begin(), report.classes.end(),
                     [&](const ClassSummary& summary) {
                       return !summary.framework.empty() && summary.n >= kLeastRows &&
                              summary.leave_one_out_median > threshold;
                     });
}

int validate_command(Session& session, const Arguments& arguments) {
  std::vector<Measurement> rows =
      load_measurements(arguments.data ? *arguments.data : own_measurements());
  keep_only(rows, arguments.only);
  Progress progress(session);
  ValidationOptions options;
  options.refit = arguments.refit;
  options.progress = [&](std::size_t done, std::size_t all, const std::string& id) {
    progress.show(fmt::format("{} of {}: {}", done, all, id));
  };
  const ValidationReport report = validate(std::move(rows), options);
  std::string page;
  if (arguments.markdown) page = validation_page(report, range_section(predict_ranges(progress)));
  progress.clear();
  if (session.json)
    print_json(session, validation_json(report));
  else
    session.out << (arguments.markdown ? page : validation_text(report));
  return arguments.threshold && over(report, *arguments.threshold) ? kCheckFailed : kDone;
}

}  // namespace

void add_validate(CLI::App& program, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      add_command(program, session, "validate",
                  "Predict public measurements of refits and show how far off we are",
                  "validate --only m2n-deep-hier --only m2n-deep-direct");
  command->add_option("--data", arguments->data,
                      "Measurements (JSON or YAML, docs/accuracy.md); default: the project's own");
  command->add_option("--only", arguments->only, "Only the row of this id; may be repeated");
  command->add_option("--threshold", arguments->threshold,
                      "Exit 1 if the leave-one-out median of a class and framework with at least 4 "
                      "rows is above this share, such as 0.25");
  command->add_flag("--refit", arguments->refit,
                    "Fit the frameworks' constants anew instead of taking those of their files");
  command->add_flag("--markdown", arguments->markdown, "Print the page docs/accuracy.md");
  on_chosen(command, session,
            [arguments, &session] { return validate_command(session, *arguments); });
}

}  // namespace transload
