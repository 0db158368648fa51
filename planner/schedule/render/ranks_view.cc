// One node per rank, boxed by NVLink domain, one arrow per pair of ranks and kind of link.
#include <fmt/format.h>

#include <map>

#include "common/units.h"
#include "planner/schedule/render/views.h"

namespace transload::render {
namespace {

constexpr std::size_t kMostLabels = 24;

std::string id_of(std::int32_t rank) { return fmt::format("rank{}", rank); }

std::string label_of(std::int32_t rank, std::uint64_t local) {
  if (local == 0) return fmt::format("<<b>rank {}</b>>", rank);
  return fmt::format(R"(<<b>rank {}</b><br/><font point-size="10" color="{}">copies {}</font>>)",
                     rank, kQuietColour, format_bytes(static_cast<double>(local)));
}

std::string cluster(const Domain& domain) {
  // Inside a cluster of a left-to-right picture, dot stacks what it is given from the bottom up.
  std::vector<std::string> ids;
  for (const std::int32_t rank : domain.ranks) ids.insert(ids.begin(), id_of(rank));
  return fmt::format(
      "subgraph cluster_domain{0} {{label=<<b>NVLink domain {0}</b> ({1} {2})>; labelloc=t; "
      "labeljust=c; fontsize=13; style=rounded; color=\"{3}\"; bgcolor=\"#FAFAFA\"; "
      "margin=14;\n{4}}}\n",
      domain.number, domain.nodes.size() == 1 ? "node" : "nodes", number_ranges(domain.nodes),
      ink_of(domain.part).line, column(ids, "same"));
}

}  // namespace

std::string draw_ranks(const Picture& picture) {
  const Plan& plan = picture.plan;
  const std::vector<Domain> domains = drawn_domains(plan, picture.options, picture.ops);
  std::size_t ranks = 0;
  for (const Domain& domain : domains) ranks += domain.ranks.size();
  refuse_too_many(ranks, picture.options.max_nodes, "ranks",
                  "take --view domains, or restrict it with --rank or --tensor");
  const std::vector<Flow> flows = rank_flows(plan, picture.ops);
  const std::vector<std::uint64_t> local = local_bytes(plan, picture.ops);
  const FlowStyle style(flows, kMostLabels);
  DrawnGraph graph;
  std::map<std::int32_t, DrawnGraph::vertex_descriptor> vertex;
  std::map<std::int32_t, int> column_of_rank;
  std::string preamble = common_attributes(plan, picture.options, legend_of(picture.options.view),
                                           picture.with_heading);
  // No rounds of crossing minimisation: they would put domains and ranks out of order.
  preamble += "mclimit=0.001; ";
  preamble += style.labelled()  ? "nodesep=0.25; ranksep=2.6;\n"
              : style.crowded() ? "layout=dot; splines=line; nodesep=0.15; ranksep=5;\n"
                                : "layout=dot; splines=line; nodesep=0.4; ranksep=3;\n";
  for (const Domain& domain : domains) {
    preamble += cluster(domain);
    for (const std::int32_t rank : domain.ranks) {
      column_of_rank[rank] = column_of(domain.part);
      const Ink ink = ink_of(part_of(plan, rank));
      vertex[rank] = boost::add_vertex(
          DrawnPlace{id_of(rank), fmt::format("label={}, color=\"{}\", fillcolor=\"{}\"",
                                              label_of(rank, local[static_cast<std::size_t>(rank)]),
                                              ink.line, ink.fill)},
          graph);
    }
  }
  for (const Flow& flow : flows)
    boost::add_edge(vertex.at(flow.from), vertex.at(flow.to),
                    DrawnFlow{style.attributes(
                        flow, fmt::format("rank {}", flow.from), fmt::format("rank {}", flow.to),
                        column_of_rank[flow.from] < column_of_rank[flow.to])},
                    graph);
  return write_drawing(graph, preamble);
}

}  // namespace transload::render
