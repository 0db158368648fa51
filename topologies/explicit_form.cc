#include "topologies/explicit_form.h"

#include <fmt/format.h>

#include <vector>

#include "topologies/fabric_form.h"
#include "topologies/link_costs.h"
#include "topologies/node_form.h"

namespace transload {
namespace {

constexpr double kMaxRateScale = 1e6;

double read_rate_scale(const YamlValue& value) {
  const double scale = value.number();
  if (scale <= 0 || scale > kMaxRateScale)
    value.fail(fmt::format("expected a number above 0 and at most {}, found {}", kMaxRateScale,
                           value.text()));
  return scale;
}

}  // namespace

Topology read_explicit_form(YamlMap map, const std::string& name, const Parameters& parameters,
                            const Overrides& overrides) {
  for (const char* key : {"nodes", "fabric", "links", "efficiency", "latency", "rate_scale"})
    map.optional(key);
  map.finish();

  NodeReading reading{parameters, default_link_costs(), 1, {}, 1, {}, {}, {}};
  reading.topology.name = name;
  for (const auto& layer : {map.optional("efficiency"), overrides.efficiency})
    if (layer) apply_efficiency(*layer, reading.costs);
  for (const auto& layer : {map.optional("latency"), overrides.latency})
    if (layer) apply_latency(*layer, reading.costs);
  for (const auto& layer : {map.optional("rate_scale"), overrides.rate_scale})
    if (layer) {
      reading.rate_scale = read_rate_scale(*layer);
      // Not assigned: assigning a YAML node changes the tree that it points into.
      reading.rate_scale_at.reset();
      reading.rate_scale_at.emplace(*layer);
    }

  if (overrides.site) reading.site = overrides.site->text();
  const auto fabric = map.optional("fabric");
  reading.planes = read_planes(fabric, parameters);
  const YamlValue nodes = map.required("nodes");
  const auto groups = nodes.list();
  if (groups.empty()) nodes.fail("expected at least one group of nodes");
  for (std::size_t i = 0; i < groups.size(); ++i)
    read_node_group(groups[i], fmt::format("nodes[{}]", i), reading);

  Topology& topology = reading.topology;
  attach_fabric(fabric, {parameters, reading.costs.switches, reading.rate_scale}, topology);
  if (const auto links = map.optional("links"))
    read_wan_links(*links, reading.rate_scale, topology);
  add_constants(reading.costs, "", topology.constants);
  if (reading.rate_scale != 1)
    topology.constants.push_back(
        {"rate_scale", fmt::format("{}", reading.rate_scale), kStatedByUser});
  return std::move(reading.topology);
}

}  // namespace transload
