#include "planner/schedule/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/topological_sort.hpp>
#include <iterator>

#include "common/check.h"
#include "common/error.h"

namespace transload {
namespace {

using ReverseOrder = std::back_insert_iterator<std::vector<OpId>>;

// Boost's topological sort, with a better answer to a cycle than "not a DAG".
struct CycleNamingVisitor : boost::topo_sort_visitor<ReverseOrder> {
  using boost::topo_sort_visitor<ReverseOrder>::topo_sort_visitor;
  template <class Edge, class Graph>
  void back_edge(const Edge& edge, const Graph& graph) {
    throw InputError(
        fmt::format("the schedule graph has a cycle: operation {} waits for operation {}, "
                    "which waits for it in turn",
                    target(edge, graph), source(edge, graph)));
  }
};

std::vector<OpId> topological_order(const OpGraph& graph) {
  std::vector<OpId> order;
  order.reserve(graph.vertices());
  std::vector<boost::default_color_type> colour(graph.vertices());
  boost::depth_first_search(
      graph, CycleNamingVisitor(std::back_inserter(order)),
      boost::make_iterator_property_map(colour.begin(), get(boost::vertex_index, graph)));
  std::reverse(order.begin(), order.end());
  return order;
}

// What decides the start (or the finish) of an operation: the start or finish of another, or
// nothing.
struct Cause {
  OpId op = 0;
  bool finish = false;
  bool exists = false;
};

struct Moment {
  double at = 0;
  Cause cause;
  // Takes a later cause; of equals the one with the least id, whatever order they come in.
  void delay(double until, const Cause& by) {
    if (until < at || (until == at && cause.exists && cause.op <= by.op)) return;
    at = until;
    cause = by;
  }
};

}  // namespace

std::vector<OpId> topological_order(const Plan& plan) { return topological_order(OpGraph(plan)); }

CriticalPath critical_path(const Plan& plan, std::span<const double> duration_s) {
  TRANSLOAD_CHECK(duration_s.size() == plan.operations(), "every operation has a duration");
  const OpGraph graph(plan);
  const std::size_t n = graph.vertices();
  std::vector<Moment> start(n);
  std::vector<Moment> finish(n);
  CriticalPath path;
  if (n == 0) return path;
  for (const OpId op : topological_order(graph)) {
    // Its own duration counts first; an upstream decides only where it ends strictly later.
    const double own = start[op].at + duration_s[op];
    if (!finish[op].cause.exists || own >= finish[op].at) finish[op] = {own, {op, false, true}};
    for (auto [edge, end] = out_edges(op, graph); edge != end; ++edge) {
      const OpEdge e = *edge;
      if (e.stream) {
        start[e.target].delay(start[op].at, {op, false, true});
        finish[e.target].delay(finish[op].at, {op, true, true});
      } else {
        start[e.target].delay(finish[op].at, {op, true, true});
      }
    }
  }
  OpId last = 0;
  for (OpId op = 1; op < n; ++op)
    if (finish[op].at > finish[last].at) last = op;
  path.length_s = finish[last].at;
  for (Cause cause{last, true, true}; cause.exists;
       cause = cause.finish ? finish[cause.op].cause : start[cause.op].cause)
    if (path.operations.empty() || path.operations.back() != cause.op)
      path.operations.push_back(cause.op);
  std::reverse(path.operations.begin(), path.operations.end());
  return path;
}

}  // namespace transload
