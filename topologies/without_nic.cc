#include "topologies/without_nic.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <vector>

#include "common/error.h"
#include "common/yaml.h"

namespace transload {
namespace {

std::optional<std::size_t> number(const std::string& text) {
  std::size_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

// The position of `text` in `names`, by name first, then as a number.
std::size_t position(const std::vector<std::string>& names, const std::string& text,
                     const std::string& what) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  if (const auto index = number(text); index && *index < names.size()) return *index;
  const auto near = nearest_word(text, {names.begin(), names.end()});
  throw InputError(fmt::format("there is no {} {}{}; expected {} or 0 to {}", what, text,
                               near ? fmt::format(" (did you mean {}?)", *near) : "",
                               names.empty() ? "none" : names.front() + ", ...",
                               static_cast<std::int64_t>(names.size()) - 1));
}

void share_a_neighbours_nics(Topology& topology, std::size_t orphan,
                             const std::vector<std::int32_t>& owners) {
  Gpu& gpu = topology.gpus[orphan];
  if (gpu.nvlink_rate == 0) return;
  std::vector<std::int64_t> users(topology.nics.size(), 0);
  for (const Gpu& other : topology.gpus)
    for (std::int32_t nic : other.nics) ++users[static_cast<std::size_t>(nic)];
  using Preference = std::tuple<bool, std::int64_t, std::int64_t, std::int32_t>;
  std::optional<Preference> best;
  for (const std::int32_t owner : owners) {
    const Gpu& other = topology.gpus[static_cast<std::size_t>(owner)];
    if (other.domain != gpu.domain) continue;
    const std::int64_t most = users[static_cast<std::size_t>(other.nics.front())];
    const Preference preference{other.node != gpu.node, most,
                                std::abs(owner - static_cast<std::int64_t>(orphan)), owner};
    if (!best || preference < *best) best = preference;
  }
  if (best) gpu.nics = topology.gpus[static_cast<std::size_t>(std::get<3>(*best))].nics;
}

}  // namespace

std::int32_t find_nic(const Topology& topology, const std::string& node_and_nic) {
  const std::size_t colon = node_and_nic.rfind(':');
  if (colon == std::string::npos)
    throw InputError(
        fmt::format("expected NODE:NIC, as node3:nic5 or 3:5, found {}", node_and_nic));
  std::vector<std::string> nodes;
  for (const Node& node : topology.nodes) nodes.push_back(node.name);
  const std::size_t node = position(nodes, node_and_nic.substr(0, colon), "node");
  std::vector<std::string> names;
  std::vector<std::int32_t> numbers;
  for (std::size_t i = 0; i < topology.nics.size(); ++i) {
    if (topology.nics[i].node != static_cast<std::int32_t>(node)) continue;
    const std::string& name = topology.nics[i].name;
    const std::string prefix = nodes[node] + ".";
    names.push_back(name.starts_with(prefix) ? name.substr(prefix.size()) : name);
    numbers.push_back(static_cast<std::int32_t>(i));
  }
  return numbers[position(names, node_and_nic.substr(colon + 1),
                          fmt::format("NIC of node {}", nodes[node]))];
}

void remove_nics(Topology& topology, std::span<const std::int32_t> nics) {
  std::vector<bool> down(topology.nics.size(), false);
  for (std::int32_t nic : nics) down[static_cast<std::size_t>(nic)] = true;
  std::vector<std::size_t> orphans;
  for (std::size_t g = 0; g < topology.gpus.size(); ++g) {
    std::vector<std::int32_t>& own = topology.gpus[g].nics;
    const bool had = !own.empty();
    std::erase_if(own, [&](std::int32_t nic) { return down[static_cast<std::size_t>(nic)]; });
    if (had && own.empty()) orphans.push_back(g);
  }
  std::vector<std::int32_t> owners;
  for (std::size_t g = 0; g < topology.gpus.size(); ++g)
    if (!topology.gpus[g].nics.empty()) owners.push_back(static_cast<std::int32_t>(g));
  for (const std::size_t orphan : orphans) share_a_neighbours_nics(topology, orphan, owners);
}

}  // namespace transload
