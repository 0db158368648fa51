#include "cli/validation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/markdown.h"
#include "cli/table.h"
#include "common/units.h"

namespace transload {
namespace {

std::string percent(double share) { return fmt::format("{:+.0f} %", 100 * share); }
std::string plain_percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string measured_text(const Measurement& row) {
  if (*row.low_s == *row.high_s) return format_seconds(*row.low_s);
  return fmt::format("{} - {}", format_seconds(*row.low_s), format_seconds(*row.high_s));
}

std::string class_name(const ClassSummary& summary) {
  return summary.framework.empty() ? summary.klass + ", all"
                                   : summary.klass + ", " + summary.framework;
}

std::string class_table(const ValidationReport& report) {
  Table table(
      {"class", "n", "fitted", "median error", "within 25 %", "leave one out", "naive", "by size"},
      {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
       Align::kRight, Align::kRight});
  for (const ClassSummary& summary : report.classes)
    table.add({class_name(summary), fmt::format("{}", summary.n), fmt::format("{}", summary.fitted),
               plain_percent(summary.median_abs_error), plain_percent(summary.within_25pct),
               plain_percent(summary.leave_one_out_median), plain_percent(summary.naive_median),
               summary.interpolated_median ? plain_percent(*summary.interpolated_median) : "-"});
  return table.text();
}

std::size_t right_pairs(const ValidationReport& report) {
  return static_cast<std::size_t>(std::count_if(report.pairs.begin(), report.pairs.end(),
                                                [](const auto& pair) { return pair.right; }));
}

std::size_t skipped_predictable(const ValidationReport& report) {
  return static_cast<std::size_t>(std::count_if(report.skipped.begin(), report.skipped.end(),
                                                [](const auto& row) { return row.predictable; }));
}

std::string marks(const ValidatedRow& row) {
  return fmt::format("{}{}", row.replay.simulated ? "simulated" : "estimated",
                     row.fitted ? ", fitted" : "");
}

// The cells of a row, in one order for both tables.
std::vector<std::string> row_cells(const ValidatedRow& row) {
  return {row.replay.id,
          row.replay.framework,
          row.replay.strategy,
          format_seconds(row.replay.transport_s),
          format_seconds(row.prediction.refit_s),
          measured_text(*row.measurement),
          percent(row.error),
          row.fitted ? percent(row.leave_one_out_error) : "",
          percent(row.naive_error),
          row.interpolated_error ? percent(*row.interpolated_error) : "-",
          marks(row)};
}

const std::vector<std::string> kRowHeading = {"id",    "framework", "strategy",    "transport",
                                              "refit", "measured",  "error",       "left out",
                                              "naive", "by size",   "transport is"};

bool far_off(const ValidatedRow& row) { return std::abs(row.error) > kFarOff; }

// Why a row is far off, as far as it is known.
std::string explanation_of(const ValidatedRow& row) {
  return row.explanation.empty() ? "not found out" : row.explanation;
}

std::string far_off_section(const ValidationReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const ValidatedRow& row : report.rows)
    if (far_off(row)) rows.push_back({row.replay.id, percent(row.error), explanation_of(row)});
  return fmt::format(
             "\n## More than a quarter off\n\n{} of {} rows, and which published fact is missing "
             "or what the prediction leaves out.\n\n",
             rows.size(), report.rows.size()) +
         markdown_table({"id", "error", "why"}, rows);
}

std::string framework_section(const ValidationReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const FrameworkCoverage& coverage : report.frameworks)
    rows.push_back(
        {coverage.framework, fmt::format("{}", coverage.constants),
         fmt::format("{}", coverage.measurements), fmt::format("{}", coverage.predicted),
         fmt::format("{}", coverage.fitted),
         coverage.predicted == 0 ? "no measurement says enough: its costs are not tested" : ""});
  return "\n## Frameworks\n\nEvery `framework:` of a job, and what stands behind its costs.\n\n" +
         markdown_table({"framework", "constants", "measurements", "predicted", "fitted on", ""},
                        rows);
}

std::string phases_text(const ValidatedRow& row) {
  std::string text = "transport " + format_seconds(row.prediction.transport_s);
  for (const HostPhase& phase : row.prediction.phases)
    if (phase.exposed_s > 0)
      text += fmt::format(" + {} {}", phase.name, format_seconds(phase.exposed_s));
  return text;
}

}  // namespace

std::string validation_text(const ValidationReport& report) {
  std::vector<Align> aligns(kRowHeading.size(), Align::kRight);
  aligns[0] = aligns[1] = aligns[2] = aligns.back() = Align::kLeft;
  Table table(kRowHeading, aligns);
  for (const ValidatedRow& row : report.rows) table.add(row_cells(row));
  std::string text = table.text();
  for (const ValidatedRow& row : report.rows) {
    text += fmt::format("\n{}: {}\n", row.replay.id, phases_text(row));
    for (const std::string& sentence : row.replay.assumed) text += "  assumed: " + sentence + "\n";
    if (far_off(row)) text += "  far off: " + explanation_of(row) + "\n";
  }
  text += "\n" + class_table(report);
  text += fmt::format("\nstrategies in the right order: {} of {} pairs\n", right_pairs(report),
                      report.pairs.size());
  for (const StrategyPair& pair : report.pairs)
    if (!pair.right)
      text += fmt::format("  wrong: {} is faster than {}\n", pair.faster, pair.slower);
  text += fmt::format("\nskipped: {}, of them {} of the {} marked predictable\n",
                      report.skipped.size(), skipped_predictable(report), report.predictable);
  for (const SkippedRow& row : report.skipped)
    text += fmt::format("  {}{}: {}\n", row.id, row.predictable ? " (predictable)" : "", row.why);
  return text;
}

std::string validation_page(const ValidationReport& report, const std::string& more) {
  std::string text =
      "# Accuracy\n\n"
      "Made by `transload validate --markdown`; do not edit. Every row of\n"
      "`simulator/validation/measurements.json` that says enough is planned, its transport "
      "simulated (or, for large\nplans, estimated), and the framework's published host costs are "
      "added as named phases. Error is relative to the\nmeasured time, 0 inside a measured range, "
      "negative where we are too fast. *Left out* is the error with constants\nfitted without that "
      "row: for rows that something was fitted on, it is the figure that counts. *Naive* is the\n"
      "bytes that a destination GPU must receive over its NIC's line rate; *by size* interpolates "
      "NeMo RL's published\nanchors by payload.\n\n## Classes\n\n";
  std::vector<std::vector<std::string>> rows;
  for (const ClassSummary& s : report.classes)
    rows.push_back({class_name(s), fmt::format("{}", s.n), fmt::format("{}", s.fitted),
                    plain_percent(s.median_abs_error), plain_percent(s.within_25pct),
                    plain_percent(s.leave_one_out_median), plain_percent(s.naive_median),
                    s.interpolated_median ? plain_percent(*s.interpolated_median) : "-"});
  text += markdown_table({"class", "n", "fitted on", "median error", "within 25 %",
                          "leave-one-out median", "naive", "by size"},
                         rows);
  text += fmt::format(
      "\nOf {} pairs of measurements that differ in strategy only, {} are "
      "predicted in the right order.\n",
      report.pairs.size(), right_pairs(report));
  for (const StrategyPair& pair : report.pairs)
    if (!pair.right)
      text += fmt::format("* wrong: `{}` is measured faster than `{}`\n", pair.faster, pair.slower);
  text += "\n## Rows\n\n";
  rows.clear();
  for (const ValidatedRow& row : report.rows) rows.push_back(row_cells(row));
  text += markdown_table(kRowHeading, rows);
  text += far_off_section(report);
  text += "\n## What each prediction is made of, and what was assumed\n\n";
  for (const ValidatedRow& row : report.rows) {
    text += fmt::format("* `{}`: {}", row.replay.id, phases_text(row));
    for (const std::string& sentence : row.replay.assumed) text += "; " + sentence;
    text += "\n";
  }
  text += framework_section(report) + more;
  text += "\n## Constants\n\n";
  rows.clear();
  for (const Calibration& calibration : report.calibrations)
    for (const HostCost& cost : calibration.costs)
      rows.push_back({calibration.framework, cost.name, cost.text(),
                      std::string(name_of(cost.kind)),
                      fmt::format("{}", fmt::join(cost.fitted_on, ", ")), cost.meaning});
  text += markdown_table({"framework", "phase", "value", "kind", "fitted on", "meaning"}, rows);
  text += fmt::format("\n## Skipped\n\n{} rows, of them {} of the {} marked predictable.\n\n",
                      report.skipped.size(), skipped_predictable(report), report.predictable);
  rows.clear();
  for (const SkippedRow& row : report.skipped)
    rows.push_back({row.id, row.predictable ? "yes" : "", row.why});
  text += markdown_table({"id", "predictable", "what is missing"}, rows);
  return text;
}

}  // namespace transload
