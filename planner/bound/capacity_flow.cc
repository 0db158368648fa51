#include "planner/bound/capacity_flow.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <limits>

namespace transload {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using VertexProperties = boost::property<
    boost::vertex_color_t, boost::default_color_type,
    boost::property<boost::vertex_distance_t, long,
                    boost::property<boost::vertex_predecessor_t, Traits::edge_descriptor>>>;
using Graph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, VertexProperties,
    boost::property<
        boost::edge_capacity_t, std::int64_t,
        boost::property<boost::edge_residual_capacity_t, std::int64_t,
                        boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

constexpr std::size_t kSource = 0;
constexpr std::size_t kSink = 1;

}  // namespace

struct CapacityFlow::Network {
  explicit Network(std::size_t demand_count, std::size_t port_count)
      : demands(demand_count), graph(2 + demand_count + port_count) {}

  std::size_t demand(std::size_t i) const { return 2 + i; }
  std::size_t port(std::size_t p) const { return 2 + demands + p; }

  Traits::edge_descriptor add(std::size_t from, std::size_t to, std::int64_t bytes) {
    const auto forward = boost::add_edge(from, to, graph).first;
    const auto backward = boost::add_edge(to, from, graph).first;
    auto capacity = boost::get(boost::edge_capacity, graph);
    auto reverse = boost::get(boost::edge_reverse, graph);
    capacity[forward] = bytes;
    capacity[backward] = 0;
    reverse[forward] = backward;
    reverse[backward] = forward;
    return forward;
  }

  // What flows along an edge: the capacity that its reverse has gained.
  std::int64_t flow(const Traits::edge_descriptor& edge) const {
    return boost::get(boost::edge_capacity, graph)[boost::get(boost::edge_reverse, graph)[edge]];
  }

  std::size_t demands;
  Graph graph;
  std::vector<Traits::edge_descriptor> supply_edges;  // by demand
  std::vector<Traits::edge_descriptor> edges;
  std::int64_t total = 0;
};

CapacityFlow::CapacityFlow(std::size_t demands, const std::vector<std::int64_t>& port_capacity)
    : network_(std::make_unique<Network>(demands, port_capacity.size())) {
  for (std::size_t i = 0; i < demands; ++i)
    network_->supply_edges.push_back(network_->add(kSource, network_->demand(i), 0));
  for (std::size_t p = 0; p < port_capacity.size(); ++p)
    network_->add(network_->port(p), kSink, port_capacity[p]);
}

CapacityFlow::~CapacityFlow() = default;

void CapacityFlow::add_supply(std::size_t demand, std::int64_t bytes) {
  boost::get(boost::edge_capacity, network_->graph)[network_->supply_edges[demand]] += bytes;
}

std::size_t CapacityFlow::add_edge(std::size_t demand, std::size_t port) {
  // More than any demand, far from overflow where several meet.
  constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 1024;
  network_->edges.push_back(
      network_->add(network_->demand(demand), network_->port(port), kUnlimited));
  return network_->edges.size() - 1;
}

std::int64_t CapacityFlow::run() {
  Graph& graph = network_->graph;
  network_->total += boost::boykov_kolmogorov_max_flow(graph, kSource, kSink);
  // The next stage starts from what is left.
  auto capacity = boost::get(boost::edge_capacity, graph);
  const auto residual = boost::get(boost::edge_residual_capacity, graph);
  const auto [begin, end] = boost::edges(graph);
  for (auto edge = begin; edge != end; ++edge) capacity[*edge] = residual[*edge];
  return network_->total;
}

std::int64_t CapacityFlow::sent(std::size_t demand) const {
  return network_->flow(network_->supply_edges[demand]);
}

std::int64_t CapacityFlow::through(std::size_t edge) const {
  return network_->flow(network_->edges[edge]);
}

}  // namespace transload
