#include "planner/schedule/render/heading.h"

#include <fmt/format.h>

#include "common/units.h"
#include "planner/schedule/access.h"

namespace transload::render {
namespace {

std::string bytes_text(std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

std::uint64_t ranks_taking_part(const Plan& plan) {
  std::uint64_t ranks = 0;
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank)
    if (takes_part(plan, static_cast<std::int32_t>(rank))) ++ranks;
  return ranks;
}

// Lines of a legend are drawn with box-drawing characters: a table cell has no arrows.
std::string legend_cell(const Key& key) {
  if (key.line)
    return fmt::format(
        R"(<td><font color="{}"><b>{}</b></font></td><td align="left">{}</td><td width="14"></td>)",
        key.ink.line, key.dashed ? "&#9473; &#9473; &#9654;" : "&#9473;&#9473;&#9654;",
        key.meaning);
  return fmt::format(
      R"(<td width="18" height="12" bgcolor="{}" color="{}" border="1"></td><td align="left">{}</td><td width="14"></td>)",
      key.ink.fill, key.ink.line, key.meaning);
}

}  // namespace

std::string title_of(const Plan& plan) {
  const std::string& name = plan.header().job_name;
  return name.empty() ? "plan " + to_string(plan.digest()).substr(0, 8) : name;
}

std::string caption_of(const RenderOptions& options) {
  std::string caption;
  switch (options.view) {
    case View::kDomains:
      caption = "bytes between NVLink domains";
      break;
    case View::kRanks:
      caption = "bytes between ranks";
      break;
    case View::kOperations:
      caption = "operations, and what each waits for";
      break;
  }
  if (options.rank) caption += fmt::format(", rank {} only", *options.rank);
  if (options.tensor) caption += fmt::format(", tensor {} only", *options.tensor);
  return caption;
}

std::string summary_of(const Plan& plan) {
  const PlanTotals totals = plan_totals(plan);
  std::string summary =
      fmt::format("{}, {}: {} over the network, {} over NVLink, {} copied locally",
                  counted(ranks_taking_part(plan), "rank"), counted(plan.tensors(), "tensor"),
                  bytes_text(totals.network_bytes), bytes_text(totals.nvlink_bytes),
                  bytes_text(totals.local_bytes));
  if (plan.header().bound_s > 0)
    summary += fmt::format("; no schedule beats {}", format_seconds(plan.header().bound_s));
  return summary;
}

std::vector<std::pair<std::string, std::string>> figures_of(const Plan& plan) {
  const PlanHeader& header = plan.header();
  const PlanTotals totals = plan_totals(plan);
  std::vector<std::pair<std::string, std::string>> figures = {
      {"Strategy", header.strategy},
      {"Discipline", std::string(transload::name_of(header.discipline))},
      {"Topology", header.topology_name},
      {"Ranks", fmt::format("{}", ranks_taking_part(plan))},
      {"Tensors", fmt::format("{}", plan.tensors())},
      {"Operations", fmt::format("{}", plan.operations())},
      {"Payload", bytes_text(totals.payload_bytes)},
      {"Network", bytes_text(totals.network_bytes)},
      {"NVLink", bytes_text(totals.nvlink_bytes)},
      {"Local copies", bytes_text(totals.local_bytes)},
      {"Busiest NIC, out", bytes_text(totals.max_nic_out_bytes)},
      {"Busiest NIC, in", bytes_text(totals.max_nic_in_bytes)},
      {"Staging per rank", bytes_text(totals.staging_bytes)}};
  if (header.bound_s > 0)
    figures.emplace_back("Lower bound",
                         fmt::format("{} ({})", format_seconds(header.bound_s), header.bound_name));
  figures.emplace_back("Plan digest", to_string(plan.digest()));
  std::erase_if(figures, [](const auto& figure) { return figure.second.empty(); });
  return figures;
}

std::string heading_attributes(const Plan& plan, const RenderOptions& options,
                               const std::vector<Key>& legend) {
  const std::string strategy =
      plan.header().strategy.empty() ? "" : fmt::format(", {}", plan.header().strategy);
  std::string text = fmt::format(
      R"(label=<<table border="0" cellborder="0" cellspacing="0" cellpadding="3">)"
      R"(<tr><td align="left"><font point-size="20"><b>{}</b>{}</font></td></tr>)"
      R"(<tr><td align="left"><font point-size="13">{}</font></td></tr>)"
      R"(<tr><td align="left"><font point-size="13" color="{}">{}</font></td></tr>)"
      R"(<tr><td align="left"><table border="0" cellborder="0" cellspacing="4" cellpadding="1"><tr>)",
      xml_escaped(title_of(plan)), xml_escaped(strategy), xml_escaped(summary_of(plan)),
      kQuietColour, xml_escaped(caption_of(options)));
  for (const Key& key : legend) text += legend_cell(key);
  return text + "</tr></table></td></tr></table>>; labelloc=t; labeljust=l;\n";
}

}  // namespace transload::render
