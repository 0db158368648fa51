#include "planner/bound/min_max_flow.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <boost/multiprecision/cpp_int.hpp>
#include <numeric>
#include <set>

#include "common/check.h"

namespace transload {
namespace {

// Flows are bytes x rate of the current guess, so that capacities rate x bytes are whole numbers:
// rounding would hide a violated set that is only slightly worse. (__int128 has no numeric_limits
// in strict C++.)
using Flow = boost::multiprecision::int128_t;

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Graph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<
        boost::edge_capacity_t, Flow,
        boost::property<boost::edge_residual_capacity_t, Flow,
                        boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

// source -> demand i -> port p -> sink.
class FlowNetwork {
 public:
  FlowNetwork(const std::vector<FlowDemand>& demands, std::size_t ports)
      : demands_(demands.size()), graph_(demands.size() + ports + 2) {
    for (std::size_t i = 0; i < demands.size(); ++i) {
      demand_edges_.push_back({add_edge(source(), demand(i)), demands[i].bytes});
      for (std::uint32_t p : demands[i].ports)
        demand_edges_.push_back({add_edge(demand(i), port(p)), demands[i].bytes});
    }
    for (std::size_t p = 0; p < ports; ++p) port_edges_.push_back(add_edge(port(p), sink()));
  }

  // Does everything flow in the time guess.bytes / guess.rate?
  bool fits(const MinMaxCut& guess, const std::vector<std::int64_t>& rates, std::int64_t total) {
    auto capacity = boost::get(boost::edge_capacity, graph_);
    for (const DemandEdge& demand_edge : demand_edges_)
      capacity[demand_edge.edge] = Flow(demand_edge.bytes) * guess.rate;
    for (std::size_t p = 0; p < port_edges_.size(); ++p)
      capacity[port_edges_[p]] = Flow(rates[p]) * guess.bytes;
    return boost::push_relabel_max_flow(graph_, source(), sink()) == Flow(total) * guess.rate;
  }

  // Demands that the residual graph reaches from the source.
  std::vector<std::size_t> reachable_demands() const {
    std::vector<bool> seen(boost::num_vertices(graph_), false);
    std::vector<std::size_t> queue = {source()};
    seen[source()] = true;
    const auto residual = boost::get(boost::edge_residual_capacity, graph_);
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const auto [begin, end] = boost::out_edges(queue[next], graph_);
      for (auto edge = begin; edge != end; ++edge) {
        const std::size_t to = boost::target(*edge, graph_);
        if (seen[to] || residual[*edge] <= 0) continue;
        seen[to] = true;
        queue.push_back(to);
      }
    }
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < demands_; ++i)
      if (seen[demand(i)]) found.push_back(i);
    return found;
  }

 private:
  static constexpr std::size_t source() { return 0; }
  static constexpr std::size_t sink() { return 1; }
  static std::size_t demand(std::size_t i) { return 2 + i; }
  std::size_t port(std::size_t p) const { return 2 + demands_ + p; }

  struct DemandEdge {
    Traits::edge_descriptor edge;
    std::int64_t bytes;
  };

  Traits::edge_descriptor add_edge(std::size_t from, std::size_t to) {
    const auto forward = boost::add_edge(from, to, graph_).first;
    const auto backward = boost::add_edge(to, from, graph_).first;
    auto capacity = boost::get(boost::edge_capacity, graph_);
    auto reverse = boost::get(boost::edge_reverse, graph_);
    capacity[forward] = 0;
    capacity[backward] = 0;
    reverse[forward] = backward;
    reverse[backward] = forward;
    return forward;
  }

  std::size_t demands_;
  Graph graph_;
  std::vector<DemandEdge> demand_edges_;
  std::vector<Traits::edge_descriptor> port_edges_;
};

MinMaxCut cut_of(const std::vector<FlowDemand>& demands, const std::vector<std::int64_t>& rates,
                 const std::vector<std::size_t>& chosen) {
  MinMaxCut cut{0, 0, {}};
  std::set<std::uint32_t> ports;
  for (std::size_t i : chosen) {
    cut.bytes += demands[i].bytes;
    ports.insert(demands[i].ports.begin(), demands[i].ports.end());
  }
  for (std::uint32_t p : ports) cut.rate += rates[p];
  cut.ports.assign(ports.begin(), ports.end());
  return cut;
}

// a.bytes / a.rate < b.bytes / b.rate, exactly.
bool shorter(const MinMaxCut& a, const MinMaxCut& b) {
  return static_cast<__int128>(a.bytes) * b.rate < static_cast<__int128>(b.bytes) * a.rate;
}

}  // namespace

MinMaxCut min_max_cut(const std::vector<FlowDemand>& demands,
                      const std::vector<std::int64_t>& rates) {
  std::vector<std::size_t> loaded;
  for (std::size_t i = 0; i < demands.size(); ++i) {
    TRANSLOAD_CHECK(demands[i].bytes == 0 || !demands[i].ports.empty(), "demand has a port");
    if (demands[i].bytes > 0) loaded.push_back(i);
  }
  if (loaded.empty()) return {0, 1, {}};

  MinMaxCut best = cut_of(demands, rates, loaded);
  for (std::size_t i : loaded)
    if (const MinMaxCut single = cut_of(demands, rates, {i}); shorter(best, single)) best = single;
  const std::int64_t total = std::accumulate(
      demands.begin(), demands.end(), std::int64_t{0},
      [](std::int64_t sum, const FlowDemand& demand) { return sum + demand.bytes; });

  FlowNetwork network(demands, rates.size());
  while (!network.fits(best, rates, total)) {
    const MinMaxCut next = cut_of(demands, rates, network.reachable_demands());
    TRANSLOAD_CHECK(shorter(best, next), "Dinkelbach's guesses rise");
    best = next;
  }
  return best;
}

}  // namespace transload
