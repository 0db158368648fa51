#include "topologies/explicit_form.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <vector>

#include "common/units.h"
#include "topologies/gpu_catalogue.h"
#include "topologies/link_costs.h"
#include "topologies/node_group.h"

namespace transload {
namespace {

constexpr std::int64_t kMaxNicsPerGpu = 64;
constexpr double kMaxRateScale = 1e6;
// 1 PB/s: a hundred times any port there is, and still far from overflow when rates are added up.
constexpr double kMaxRate = 1e15;

// Everything that the lines of one file share.
struct Reading {
  const Parameters& parameters;
  LinkCostSet costs;
  double rate_scale = 1;
  std::optional<YamlValue> rate_scale_at;  // where it is stated
  DomainNames domains;
  Topology topology;
};

// Marks keys as known before the first of them is read: a misspelt key is then reported as such,
// and not as the absence of the key that was meant.
void know(YamlMap& map, std::initializer_list<const char*> keys) {
  for (const char* key : keys) map.optional(key);
}

void record(Reading& reading, const std::string& name, const std::string& value,
            const std::string& source) {
  reading.topology.constants.push_back({name, value, source});
}

// `line` after rate_scale, if links of that kind can work with it; `name` and `stated_at` are for
// blame.
std::int64_t usable_rate(std::int64_t line, const LinkCosts& costs, const std::string& name,
                         const YamlValue& stated_at, const Reading& reading) {
  const YamlValue& place = reading.rate_scale_at ? *reading.rate_scale_at : stated_at;
  const std::string scaled_line =
      fmt::format("{} of {} at rate_scale {}", name, format_rate(static_cast<double>(line)),
                  reading.rate_scale);
  const double scaled = std::round(static_cast<double>(line) * reading.rate_scale);
  if (scaled > kMaxRate) place.fail(scaled_line + " is more than 1 PB/s");
  const auto rate = static_cast<std::int64_t>(scaled);
  // A rate of 0 means "costs no time" everywhere else; rounding must not make one.
  if (achieved_rate(rate, costs) < 1)
    place.fail(fmt::format("{} and efficiency {} is less than 1 B/s", scaled_line,
                           static_cast<double>(costs.efficiency_ppm) / kPpm));
  return rate;
}

std::int64_t read_rate(const SourcedValue& rate, const LinkCosts& costs, const std::string& name,
                       Reading& reading) {
  const std::int64_t line = rate.value.rate();
  if (line == 0)
    rate.value.fail(fmt::format("expected a rate above 0, found {}", rate.value.text()));
  record(reading, name, format_rate(static_cast<double>(line)), rate.source);
  return usable_rate(line, costs, name, rate.value, reading);
}

std::int64_t read_count(const std::optional<YamlValue>& written, std::int64_t max,
                        const std::string& name, Reading& reading) {
  if (!written) return 1;
  const SourcedValue count = resolve(*written, reading.parameters);
  const std::int64_t value = count.value.integer_in(1, max);
  if (count.source != kStatedByUser) record(reading, name, std::to_string(value), count.source);
  return value;
}

std::int32_t read_model(const std::optional<YamlValue>& written, Reading& reading) {
  std::vector<GpuModel>& models = reading.topology.gpu_models;
  std::optional<SourcedValue> name;
  if (written) name.emplace(resolve(*written, reading.parameters));
  const std::string wanted = name ? name->value.text() : "unspecified";
  for (std::size_t i = 0; i < models.size(); ++i)
    if (models[i].name == wanted) return static_cast<std::int32_t>(i);
  GpuModel model;
  if (name) {
    model = find_gpu_model(name->value, reading.topology.constants);
    model.hbm_rate =
        usable_rate(model.hbm_rate, reading.costs.copy, wanted + " hbm", name->value, reading);
  } else {
    model.name = wanted;
    model.source = "no gpu stated: copies cost no time";
  }
  models.push_back(std::move(model));
  return static_cast<std::int32_t>(models.size() - 1);
}

void check_size(const NodeGroup& group, const YamlValue& place, const Topology& topology) {
  const std::int64_t nodes = group.blocks * group.count;
  const std::int64_t gpus = nodes > kMaxGpus ? nodes : nodes * group.gpus;
  const std::int64_t all_gpus = static_cast<std::int64_t>(topology.gpus.size()) + gpus;
  if (all_gpus > kMaxGpus)
    place.fail(fmt::format("at least {} GPUs in all; expected at most {}", all_gpus, kMaxGpus));
  const std::int64_t all_nics =
      static_cast<std::int64_t>(topology.nics.size()) + gpus * group.nics_per_gpu;
  if (all_nics > kMaxNics)
    place.fail(fmt::format("{} NICs in all; expected at most {}", all_nics, kMaxNics));
}

void read_group(const YamlValue& value, const std::string& prefix, Reading& reading) {
  YamlMap map = value.map();
  know(map, {"blocks", "count", "gpus", "gpu", "nvlink", "nics_per_gpu", "nic", "nvlink_domain"});
  map.finish();
  const YamlValue gpus = map.required("gpus");
  const SourcedValue nic = resolve(map.required("nic"), reading.parameters);
  const auto count = map.optional("count");
  const auto nvlink = map.optional("nvlink");
  const auto domain = map.optional("nvlink_domain");

  NodeGroup group;
  group.blocks = read_count(map.optional("blocks"), kMaxGpus, prefix + ".blocks", reading);
  group.count = read_count(count, kMaxGpus, prefix + ".count", reading);
  group.gpus = read_count(gpus, kMaxGpus, prefix + ".gpus", reading);
  group.nics_per_gpu =
      read_count(map.optional("nics_per_gpu"), kMaxNicsPerGpu, prefix + ".nics_per_gpu", reading);
  check_size(group, resolve(count ? *count : gpus, reading.parameters).value, reading.topology);
  if (nvlink) {
    const SourcedValue rate = resolve(*nvlink, reading.parameters);
    if (rate.value.rate() > 0)
      group.nvlink_rate = read_rate(rate, reading.costs.nvlink, prefix + ".nvlink", reading);
  }
  group.nic_rate = read_rate(nic, reading.costs.nic, prefix + ".nic", reading);
  group.nic_source = nic.source;
  if (domain) {
    const YamlValue name = resolve(*domain, reading.parameters).value;
    group.domain = name.text();
    if (group.domain.empty()) name.fail("expected the name of an NVLink domain, found nothing");
    if (group.nvlink_rate == 0) name.fail("the nodes have no nvlink that could join them");
  }
  group.model = read_model(map.optional("gpu"), reading);
  append_nodes(group, reading.domains, reading.topology);
}

void read_fabric(const YamlValue& value, Reading& reading) {
  YamlMap map = value.map();
  const auto kind = map.optional("kind");
  const auto oversubscription = map.optional("oversubscription");
  map.finish();
  if (kind) {
    const SourcedValue word = resolve(*kind, reading.parameters);
    reading.topology.fabric_kind = word.value.word_of({"non-blocking", "rail-optimised"});
    record(reading, "fabric.kind", reading.topology.fabric_kind, word.source);
  }
  if (!oversubscription) return;
  const SourcedValue factor = resolve(*oversubscription, reading.parameters);
  if (factor.value.number() != 1)
    factor.value.fail(
        fmt::format("oversubscribed fabrics are not modelled by this version; expected 1, found {}",
                    factor.value.text()));
  record(reading, "fabric.oversubscription", "1", factor.source);
}

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
  know(map, {"nodes", "fabric", "links", "efficiency", "latency", "rate_scale"});
  map.finish();
  if (const auto links = map.optional("links"))
    links->fail("links between sites are not modelled by this version; leave the key out");

  Reading reading{parameters, default_link_costs(), 1, {}, {}, {}};
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

  const YamlValue nodes = map.required("nodes");
  const auto groups = nodes.list();
  if (groups.empty()) nodes.fail("expected at least one group of nodes");
  for (std::size_t i = 0; i < groups.size(); ++i)
    read_group(groups[i], fmt::format("nodes[{}]", i), reading);
  if (const auto fabric = map.optional("fabric")) read_fabric(*fabric, reading);

  Topology& topology = reading.topology;
  topology.nic = reading.costs.nic;
  topology.nvlink = reading.costs.nvlink;
  topology.copy = reading.costs.copy;
  add_constants(reading.costs, topology.constants);
  if (reading.rate_scale != 1)
    record(reading, "rate_scale", fmt::format("{}", reading.rate_scale), kStatedByUser);
  return topology;
}

}  // namespace transload
