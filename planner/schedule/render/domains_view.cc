// One node per NVLink domain, one arrow per pair of domains with network traffic: source domains
// left, destination domains right. What stays inside a domain is a note in its node.
#include <fmt/format.h>

#include <map>

#include "common/units.h"
#include "planner/schedule/render/views.h"

namespace transload::render {
namespace {

constexpr std::size_t kMostLabels = 40;

std::string id_of(const Domain& domain) { return fmt::format("domain{}", domain.number); }

std::string parts_text(const Domain& domain) {
  std::string text;
  const auto add = [&](std::uint64_t number, std::string_view what) {
    if (number > 0) text += (text.empty() ? "" : ", ") + counted(number, what);
  };
  add(domain.sources, "source rank");
  add(domain.destinations, "destination rank");
  if (text.empty()) add(domain.ranks.size(), "helper rank");
  return text;
}

struct Inside {
  std::uint64_t nvlink = 0;
  std::uint64_t network = 0;
};

std::string note(std::string_view what, std::uint64_t bytes) {
  if (bytes == 0) return {};
  return fmt::format(R"(<tr><td><font point-size="11" color="{}">{} {}</font></td></tr>)",
                     kQuietColour, what, format_bytes(static_cast<double>(bytes)));
}

std::string label_of(const Domain& domain, const Inside& inside, bool compact) {
  const std::string nodes = fmt::format("{} {}", domain.nodes.size() == 1 ? "node" : "nodes",
                                        number_ranges(domain.nodes));
  if (compact)
    return fmt::format("<<b>domain {}</b>, {}<br/>{}>", domain.number, nodes, parts_text(domain));
  std::string text = fmt::format(
      R"(<<table border="0" cellborder="0" cellspacing="0" cellpadding="2">)"
      R"(<tr><td><b>NVLink domain {}</b> ({})</td></tr><tr><td>ranks {}</td></tr><tr><td>{}</td></tr>)",
      domain.number, nodes, number_ranges(domain.ranks), parts_text(domain));
  text += note("inside, over NVLink:", inside.nvlink);
  text += note("inside, over the network:", inside.network);
  text += note("staging per rank:", domain.staging_bytes);
  return text + "</table>>";
}

// Columns of the picture. Without a source-only or a destination-only side (colocated jobs) the
// order of the domains is all that is fixed.
std::string columns(const std::vector<Domain>& domains) {
  std::vector<std::string> ids[3];
  for (const Domain& domain : domains) ids[column_of(domain.part)].push_back(id_of(domain));
  return column(ids[0], "source") + column(ids[1], "same") + column(ids[2], "sink");
}

}  // namespace

std::string draw_domains(const Picture& picture) {
  const Plan& plan = picture.plan;
  const std::vector<Domain> domains = drawn_domains(plan, picture.options, picture.ops);
  refuse_too_many(domains.size(), picture.options.max_nodes, "NVLink domains",
                  "restrict it with --rank or --tensor");
  std::map<std::int32_t, Inside> inside;
  std::vector<Flow> between;
  for (const Flow& flow : domain_flows(plan, rank_flows(plan, picture.ops))) {
    if (flow.from != flow.to)
      between.push_back(flow);
    else if (flow.link == OpLink::kNvlink)
      inside[flow.from].nvlink += flow.bytes;
    else
      inside[flow.from].network += flow.bytes;
  }
  const FlowStyle style(between, kMostLabels);
  DrawnGraph graph;
  std::map<std::int32_t, DrawnGraph::vertex_descriptor> vertex;
  std::map<std::int32_t, int> place;
  for (const Domain& domain : domains) {
    const Ink ink = ink_of(domain.part);
    place[domain.number] = column_of(domain.part);
    vertex[domain.number] = boost::add_vertex(
        DrawnPlace{id_of(domain),
                   fmt::format("label={}, color=\"{}\", fillcolor=\"{}\"",
                               label_of(domain, inside[domain.number], style.crowded()), ink.line,
                               ink.fill)},
        graph);
  }
  for (const Flow& flow : between)
    boost::add_edge(vertex.at(flow.from), vertex.at(flow.to),
                    DrawnFlow{style.attributes(flow, fmt::format("domain {}", flow.from),
                                               fmt::format("domain {}", flow.to),
                                               place.at(flow.from) < place.at(flow.to))},
                    graph);
  std::string preamble = common_attributes(plan, picture.options, legend_of(picture.options.view),
                                           picture.with_heading);
  // Straight lines are what `dot` can still do in seconds, and what an eye can still follow.
  preamble += style.crowded()    ? "layout=dot; splines=line; nodesep=0.12; ranksep=6;\n"
              : style.labelled() ? "nodesep=0.35; ranksep=2.4;\n"
                                 : "layout=dot; splines=line; nodesep=0.3; ranksep=4;\n";
  return write_drawing(graph, preamble + columns(domains));
}

}  // namespace transload::render
