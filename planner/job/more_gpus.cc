#include "planner/job/more_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "common/error.h"
#include "topologies/loader.h"

namespace transload {
namespace {

using NodeList = std::vector<std::int32_t>;

// Nodes of a side in the order in which it takes them.
NodeList nodes_of(const SidePlacement& side, const Topology& topology) {
  NodeList nodes;
  for (Rank rank : side.ranks) {
    const std::int32_t node = topology.gpus[static_cast<std::size_t>(rank)].node;
    if (nodes.empty() || nodes.back() != node) nodes.push_back(node);
  }
  return nodes;
}

std::vector<Rank> gpus_of(const NodeList& nodes, const Topology& topology) {
  std::vector<Rank> gpus;
  for (std::int32_t index : nodes) {
    const Node& node = topology.nodes[static_cast<std::size_t>(index)];
    for (std::int32_t gpu = 0; gpu < node.gpu_count; ++gpu) gpus.push_back(node.first_gpu + gpu);
  }
  return gpus;
}

bool lost(const Job& job, Rank rank) {
  return std::binary_search(job.membership.ranks.begin(), job.membership.ranks.end(), rank);
}

// Nodes that no side takes and whose GPUs all live.
NodeList free_nodes(const Job& job, const Topology& topology, const std::vector<NodeList>& taken) {
  NodeList free;
  for (std::size_t n = 0; n < topology.nodes.size(); ++n) {
    const auto node = static_cast<std::int32_t>(n);
    const bool used = std::any_of(taken.begin(), taken.end(), [&](const NodeList& nodes) {
      return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
    });
    const std::vector<Rank> gpus = gpus_of({node}, topology);
    if (!used && std::none_of(gpus.begin(), gpus.end(), [&](Rank r) { return lost(job, r); }))
      free.push_back(node);
  }
  return free;
}

// Where the job says how many nodes or racks its topology has, and how many: a library entry, or
// the last of a list of them, behind which nodes can be added without renumbering any.
struct SizeKey {
  std::string key;
  std::int64_t count = 0;
};

std::optional<SizeKey> size_key(const YamlValue& topology, const std::string& path) {
  if (topology.is_list()) {
    const std::vector<YamlValue> parts = topology.list();
    for (std::size_t i = parts.size(); i-- > 0;)
      if (!parts[i].is_map() || parts[i].map().has("name") || parts[i].map().has("nodes"))
        return size_key(parts[i], fmt::format("{}[{}]", path, i));
    return std::nullopt;
  }
  if (!topology.is_map() || !topology.map().has("name")) return std::nullopt;
  YamlMap map = topology.map();
  for (const char* key : {"nodes", "racks"})
    if (const auto count = map.optional(key); count && count->is_scalar())
      return SizeKey{fmt::format("{}.{}", path, key), count->integer_in(1, INT32_MAX)};
  return std::nullopt;
}

Topology topology_of(const std::string& text, const Job& job, const std::string& base_folder) {
  return load_topology(*value_at(text, "topology", job.name), base_folder);
}

}  // namespace

std::vector<JobEdit> more_gpus(const Job& job, std::size_t side, std::int64_t gpus,
                               const std::string& base_folder) {
  const SidePlacement& grown = job.sides[side];
  std::vector<NodeList> nodes;
  for (const SidePlacement& each : job.sides) nodes.push_back(nodes_of(each, job.topology));
  const std::size_t wanted = grown.ranks.size() + static_cast<std::size_t>(gpus);
  std::vector<JobEdit> edits;
  Topology larger = job.topology;
  const NodeList own = nodes[side];
  const auto take = [&] {
    nodes[side] = own;
    std::size_t have = gpus_of(own, larger).size();
    for (std::int32_t node : free_nodes(job, larger, nodes)) {
      if (have >= wanted) break;
      nodes[side].push_back(node);
      have += static_cast<std::size_t>(larger.nodes[static_cast<std::size_t>(node)].gpu_count);
    }
    return have;
  };
  std::size_t have = take();
  const std::size_t free = have - grown.ranks.size();
  std::optional<SizeKey> size;
  if (have < wanted) size = size_key(*value_at(job.text, "topology", job.name), "topology");
  while (have < wanted && size) {
    const std::size_t before = larger.gpus.size();
    const JobEdit one_more{size->key, std::to_string(size->count + 1)};
    const std::size_t unit =
        topology_of(edited_job(job.text, std::span(&one_more, 1)), job, base_folder).gpus.size() -
        before;
    size->count += static_cast<std::int64_t>((wanted - have + unit - 1) / unit);
    edits = {{size->key, std::to_string(size->count)}};
    larger = topology_of(edited_job(job.text, edits), job, base_folder);
    have = take();
  }
  if (have < wanted)
    throw InputError({job.name, 0, grown.field},
                     fmt::format("{} more GPUs are wanted, {} are free, and the topology has no "
                                 "number of nodes or racks to raise",
                                 gpus, free));
  const std::vector<Rank> all = gpus_of(nodes[side], larger);
  for (std::size_t i = grown.ranks.size(); i < wanted; ++i)
    if (lost(job, all[i]))
      throw InputError({job.name, 0, grown.field},
                       fmt::format("the next GPU on its nodes, rank {}, is lost: state other "
                                   "`nodes` for this side",
                                   all[i]));
  edits.push_back({grown.field + ".gpus", std::to_string(wanted)});
  for (std::size_t i = 0; i < nodes.size(); ++i)
    edits.push_back({job.sides[i].field + ".nodes", index_text(nodes[i])});
  return edits;
}

}  // namespace transload
