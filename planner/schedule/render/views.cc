#include "planner/schedule/render/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/graphviz.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <cmath>
#include <sstream>

#include "common/error.h"
#include "common/units.h"

namespace transload::render {
namespace {

constexpr std::size_t kCrowded = 150;  // arrows from which on single ones cannot be followed
constexpr std::size_t kFaint = 600;    // from which on only their density can be seen
constexpr double kThinnest = 1.0;
constexpr double kThickest = 6.0;

}  // namespace

std::string write_drawing(const DrawnGraph& graph, const std::string& preamble) {
  std::ostringstream out;
  boost::write_graphviz(
      out, graph,
      [&](std::ostream& o, DrawnGraph::vertex_descriptor v) {
        o << '[' << graph[v].attributes << ']';
      },
      [&](std::ostream& o, DrawnGraph::edge_descriptor e) {
        o << '[' << graph[e].attributes << ']';
      },
      [&](std::ostream& o) { o << preamble; },
      boost::make_function_property_map<DrawnGraph::vertex_descriptor>(
          [&](DrawnGraph::vertex_descriptor v) { return graph[v].id; }));
  return out.str();
}

std::string common_attributes(const Plan& plan, const RenderOptions& options,
                              const std::vector<Key>& legend, bool with_heading) {
  std::string text = fmt::format(
      "rankdir=LR; bgcolor=white; pad=0.3; outputorder=edgesfirst; fontname=\"{0}\"; "
      "fontcolor=\"{1}\";\n"
      "node [shape=box, style=\"filled,rounded\", fontname=\"{0}\", fontsize=13, "
      "fontcolor=\"{1}\", "
      "margin=\"0.12,0.07\", penwidth=1.5];\n"
      "edge [fontname=\"{0}\", fontsize=11, fontcolor=\"{1}\", arrowsize=0.7];\n",
      kFont, kTextColour);
  if (with_heading) text += heading_attributes(plan, options, legend);
  return text;
}

FlowStyle::FlowStyle(const std::vector<Flow>& drawn, std::size_t most_labels)
    : labelled_(drawn.size() <= most_labels),
      crowded_(drawn.size() > kCrowded),
      faint_(drawn.size() > kFaint) {
  for (const Flow& flow : drawn) largest_ = std::max(largest_, flow.bytes);
}

std::string FlowStyle::attributes(const Flow& flow, const std::string& from, const std::string& to,
                                  bool constrains) const {
  const double share = static_cast<double>(flow.bytes) / static_cast<double>(largest_);
  const double thickest = crowded_ ? 2.0 : labelled_ ? kThickest : 4.0;
  const std::string bytes = format_bytes(static_cast<double>(flow.bytes));
  std::string text = fmt::format(
      "color=\"{}{}\", penwidth={:.2f}, tooltip={}", ink_of(flow.link).line,
      faint_      ? "28"
      : crowded_  ? "50"
      : labelled_ ? ""
                  : "90",
      kThinnest + (thickest - kThinnest) * share,
      dot_quoted(fmt::format("{} to {} over {}: {} in {}", from, to, transload::name_of(flow.link),
                             bytes, counted(flow.transfers, "transfer"))));
  if (flow.link == OpLink::kNvlink) text += ", style=dashed";
  if (crowded_) text += ", arrowsize=0.4";
  // Padding keeps the words off a thick line: above one that runs across, beside one that runs
  // down.
  if (labelled_)
    text += fmt::format(
        R"(, label=<<table border="0" cellborder="0" cellspacing="0" cellpadding="3"><tr><td>{}</td>{}</tr></table>>)",
        bytes, constrains ? "" : R"(<td width="36"></td>)");
  if (!constrains) text += ", constraint=false";
  // Straight lines look best from the right side of a box to the left side of another; curves that
  // make room for labels do not.
  if (constrains && !labelled_) text += ", tailport=e, headport=w";
  return text;
}

std::string column(const std::vector<std::string>& ids, const std::string& rank) {
  if (ids.empty()) return {};
  std::string text = fmt::format("{{rank={}; ", rank);
  for (std::size_t i = 0; i < ids.size(); ++i) text += (i > 0 ? " -> " : "") + ids[i];
  return text + (ids.size() > 1 ? " [style=invis]" : "") + ";}\n";
}

int column_of(Part part) {
  switch (part) {
    case Part::kSource:
      return 0;
    case Part::kDestination:
      return 2;
    case Part::kHelper:
    case Part::kBoth:
      return 1;
  }
  return 1;
}

void refuse_too_many(std::size_t number, std::size_t most, const std::string& things,
                     const std::string& hint) {
  if (number > most)
    throw InputError(fmt::format("the picture would have {} {}, more than {} can be read: {}",
                                 number, things, most, hint));
}

std::vector<Key> legend_of(View view) {
  switch (view) {
    case View::kDomains:
    case View::kRanks: {
      std::vector<Key> legend = {{kSourceInk, false, false, "source"},
                                 {kDestinationInk, false, false, "destination"},
                                 {kBothInk, false, false, "both"},
                                 {kHelperInk, false, false, "helper"},
                                 {kNetworkInk, true, false, "network"}};
      if (view == View::kRanks) legend.push_back({kNvlinkInk, true, true, "NVLink"});
      return legend;
    }
    case View::kOperations:
      return {{kNetworkInk, false, false, "network transfer"},
              {kNvlinkInk, false, false, "NVLink transfer"},
              {kLocalInk, false, false, "copy on one rank"},
              {kHostInk, false, false, "host work, fence"},
              {kHostInk, true, false, "waits for its end"},
              {kHostInk, true, true, "streams behind it"}};
  }
  return {};
}

std::string draw(const Plan& plan, const RenderOptions& options, bool with_heading) {
  const std::vector<OpId> ops = select_operations(plan, options);
  const Picture picture{plan, options, ops, with_heading};
  switch (options.view) {
    case View::kDomains:
      return draw_domains(picture);
    case View::kRanks:
      return draw_ranks(picture);
    case View::kOperations:
      return draw_operations(picture);
  }
  return {};
}

}  // namespace transload::render
