#include "topologies/import/islands.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>

namespace transload {

std::vector<std::int32_t> connected_islands(
    std::size_t members, const std::vector<std::pair<std::size_t, std::size_t>>& links) {
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;
  const Graph graph(links.begin(), links.end(), members);
  std::vector<std::int32_t> island(members);
  if (members > 0) boost::connected_components(graph, island.data());
  return island;
}

}  // namespace transload
