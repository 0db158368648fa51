// The schedule graph as Boost.Graph sees it: vertices are operations, edges run from an operation
// to those that wait for it, `after` edges first. The adaptor reads the plan's flat arrays in
// place; only the two successor lists (CSR) are made. It models VertexListGraph, EdgeListGraph and
// IncidenceGraph, with vertex_index as its one property, which is what topological_sort,
// write_graphviz and filtered_graph ask for.
#pragma once

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/counting_iterator.hpp>
#include <boost/iterator/iterator_facade.hpp>
#include <boost/property_map/property_map.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "planner/schedule/access.h"

namespace transload {

struct OpEdge {
  OpId source = 0;
  OpId target = 0;
  bool stream = false;
  friend bool operator==(const OpEdge&, const OpEdge&) = default;
};

// Keeps the plan that it was made from alive (plans are cheap to copy).
class OpGraph {
 public:
  explicit OpGraph(const Plan& plan)
      : plan_(plan), after_(after_successors(plan)), stream_(stream_successors(plan)) {}

  const Plan& plan() const { return plan_; }
  std::size_t vertices() const { return plan_.operations(); }
  std::size_t edges() const { return after_.ops.size() + stream_.ops.size(); }
  std::size_t out_degree(OpId op) const { return after_.of(op).size() + stream_.of(op).size(); }
  // The i-th edge out of an operation.
  OpEdge out_edge(OpId op, std::size_t i) const {
    const std::span<const OpId> after = after_.of(op);
    if (i < after.size()) return {op, after[i], false};
    return {op, stream_.of(op)[i - after.size()], true};
  }

  // Boost.Graph's names for all this.
  struct traversal_category : boost::incidence_graph_tag,
                              boost::vertex_list_graph_tag,
                              boost::edge_list_graph_tag {};

  class EdgeIterator
      : public boost::iterator_facade<EdgeIterator, OpEdge, boost::forward_traversal_tag, OpEdge> {
   public:
    EdgeIterator() = default;
    // Walks on through the operations that follow until `end`, so it serves one operation or all.
    EdgeIterator(const OpGraph* graph, OpId op, OpId end) : graph_(graph), op_(op), end_(end) {
      skip_empty();
    }

   private:
    friend class boost::iterator_core_access;
    OpEdge dereference() const { return graph_->out_edge(op_, edge_); }
    bool equal(const EdgeIterator& other) const { return op_ == other.op_ && edge_ == other.edge_; }
    void increment() {
      if (++edge_ < graph_->out_degree(op_)) return;
      edge_ = 0;
      ++op_;
      skip_empty();
    }
    void skip_empty() {
      while (op_ < end_ && graph_->out_degree(op_) == 0) ++op_;
    }

    const OpGraph* graph_ = nullptr;
    OpId op_ = 0;
    OpId end_ = 0;
    std::size_t edge_ = 0;
  };

 private:
  Plan plan_;
  Successors after_;
  Successors stream_;
};

// Operations in an order in which every edge points forward. InputError naming two operations of a
// cycle if there is none.
std::vector<OpId> topological_order(const Plan& plan);

struct CriticalPath {
  double length_s = 0;           // when the last operation finishes
  std::vector<OpId> operations;  // in order; each holds back the next
};

// The longest way through the graph alone, without ports and windows: a lower bound of any run with
// these durations. `duration_s[op]` is how long an operation takes by itself, in seconds. An
// operation starts when its `after` predecessors have finished and its `stream` upstreams have
// started, and finishes no earlier than those upstreams (design.md section 6, "Collectives"). Of
// equals, the one with the least id is named. InputError if the graph has a cycle.
CriticalPath critical_path(const Plan& plan, std::span<const double> duration_s);

// Boost.Graph finds these by argument-dependent look-up.
inline std::pair<boost::counting_iterator<OpId>, boost::counting_iterator<OpId>> vertices(
    const OpGraph& graph) {
  return {boost::counting_iterator<OpId>(0),
          boost::counting_iterator<OpId>(static_cast<OpId>(graph.vertices()))};
}
inline std::size_t num_vertices(const OpGraph& graph) { return graph.vertices(); }
inline std::size_t num_edges(const OpGraph& graph) { return graph.edges(); }
inline std::size_t out_degree(OpId op, const OpGraph& graph) { return graph.out_degree(op); }
inline OpId source(const OpEdge& edge, const OpGraph&) { return edge.source; }
inline OpId target(const OpEdge& edge, const OpGraph&) { return edge.target; }
inline std::pair<OpGraph::EdgeIterator, OpGraph::EdgeIterator> out_edges(OpId op,
                                                                         const OpGraph& graph) {
  return {OpGraph::EdgeIterator(&graph, op, op + 1), OpGraph::EdgeIterator(&graph, op + 1, op + 1)};
}
inline std::pair<OpGraph::EdgeIterator, OpGraph::EdgeIterator> edges(const OpGraph& graph) {
  const auto end = static_cast<OpId>(graph.vertices());
  return {OpGraph::EdgeIterator(&graph, 0, end), OpGraph::EdgeIterator(&graph, end, end)};
}
inline boost::typed_identity_property_map<OpId> get(boost::vertex_index_t, const OpGraph&) {
  return {};
}
inline OpId get(boost::vertex_index_t, const OpGraph&, OpId op) { return op; }

}  // namespace transload

namespace boost {

template <>
struct graph_traits<transload::OpGraph> {
  using vertex_descriptor = transload::OpId;
  using edge_descriptor = transload::OpEdge;
  using directed_category = directed_tag;
  using edge_parallel_category = allow_parallel_edge_tag;
  using traversal_category = transload::OpGraph::traversal_category;
  using vertices_size_type = std::size_t;
  using edges_size_type = std::size_t;
  using degree_size_type = std::size_t;
  using vertex_iterator = counting_iterator<transload::OpId>;
  using edge_iterator = transload::OpGraph::EdgeIterator;
  using out_edge_iterator = transload::OpGraph::EdgeIterator;
  using in_edge_iterator = void;
  using adjacency_iterator = void;
  static vertex_descriptor null_vertex() { return static_cast<vertex_descriptor>(-1); }
};

template <>
struct property_map<transload::OpGraph, vertex_index_t> {
  using type = typed_identity_property_map<transload::OpId>;
  using const_type = type;
};

}  // namespace boost
