#include "cli/sweep_table.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "cli/table.h"
#include "common/units.h"

namespace transload {
namespace {

using Json = nlohmann::json;

constexpr std::array kColumns = {"strategy",
                                 "mode",
                                 "rank",
                                 "best",
                                 "seconds",
                                 "figure",
                                 "estimate_s",
                                 "refit_s",
                                 "bound_s",
                                 "bound_line_rate_s",
                                 "binding",
                                 "ratio_to_bound",
                                 "discipline",
                                 "pause_s",
                                 "bottleneck",
                                 "network_bytes",
                                 "cluster_nodes",
                                 "cluster_gpus",
                                 "cluster_nics",
                                 "gpu_hours_per_refit",
                                 "capital_cost",
                                 "refit_cost",
                                 "refit_cost_per_day",
                                 "refused"};

std::string plain(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  return value.dump();
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i)
    line += (i == 0 ? "" : ",") + csv_field(fields[i]);
  return line + "\r\n";
}

// What stands in the way, in one field.
std::string reason_of(const Json& row) {
  if (!row.at("refused").is_null()) return row.at("refused");
  std::string reason;
  for (const Json& entry : row.at("unsupported"))
    reason += (reason.empty() ? "" : "; ") + entry.at("limit").get<std::string>();
  return reason;
}

std::string seconds_text(const Json& value) {
  return value.is_null() ? "-" : format_seconds(value.get<double>());
}

std::string title_of(const Json& row) {
  const std::string mode = plain(row.at("mode"));
  return plain(row.at("strategy")) + (mode.empty() ? "" : ":" + mode);
}

std::string cost_text(const Json& value) {
  return value.is_null() ? "-" : fmt::format("{:.6g}", value.get<double>());
}

}  // namespace

std::vector<std::string> sweep_columns() { return {kColumns.begin(), kColumns.end()}; }

std::string sweep_csv(const Sweep& sweep, const nlohmann::json& rows) {
  std::vector<std::string> heading = {"point"};
  for (const SweepAxis& axis : sweep.axes) heading.push_back(axis.name);
  for (const char* column : kColumns) heading.emplace_back(column);
  std::string text = csv_line(heading);
  for (const Json& row : rows) {
    std::vector<std::string> fields = {plain(row.at("point"))};
    for (const SweepAxis& axis : sweep.axes)
      fields.push_back(plain(row.at("values").at(axis.name)));
    for (const char* column : kColumns)
      fields.push_back(std::string(column) == "refused" ? reason_of(row) : plain(row.at(column)));
    text += csv_line(fields);
  }
  return text;
}

std::string sweep_text(const Sweep& sweep, const nlohmann::json& rows) {
  const bool capital = sweep.prices.capital();
  std::vector<std::string> heading;
  std::vector<Align> aligns;
  for (const SweepAxis& axis : sweep.axes) {
    heading.push_back(axis.name);
    aligns.push_back(Align::kRight);
  }
  for (const char* column : {"best", "refit", "figure", "bound", "over bound"}) {
    heading.emplace_back(column);
    aligns.push_back(std::string(column) == "best" ? Align::kLeft : Align::kRight);
  }
  if (capital) {
    heading.push_back("capital" + (sweep.currency.empty() ? "" : " " + sweep.currency));
    aligns.push_back(Align::kRight);
  }
  Table table(heading, aligns);
  std::size_t refused = 0;
  std::string reason;
  for (const Json& row : rows) {
    if (row.at("rank").is_null() && row.at("strategy").is_null()) {
      ++refused;
      if (reason.empty()) reason = plain(row.at("refused"));
    }
    if (!row.at("best").get<bool>()) continue;
    std::vector<std::string> cells;
    for (const SweepAxis& axis : sweep.axes) cells.push_back(plain(row.at("values").at(axis.name)));
    cells.push_back(title_of(row));
    cells.push_back(seconds_text(row.at("seconds")));
    cells.push_back(plain(row.at("figure")));
    cells.push_back(seconds_text(row.at("bound_s")));
    cells.push_back(row.at("ratio_to_bound").is_null()
                        ? "-"
                        : fmt::format("{:.3f}", row.at("ratio_to_bound").get<double>()));
    if (capital) cells.push_back(cost_text(row.at("capital_cost")));
    table.add(cells);
  }
  std::string text = table.text();
  if (refused > 0)
    text += fmt::format("{} points cannot be planned; the first: {}\n", refused, reason);
  return text;
}

}  // namespace transload
