#include "topologies/link_costs.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "common/units.h"
#include "topologies/library.h"
#include "topologies/sourced_value.h"

namespace transload {
namespace {

// No operation of a cluster waits a minute for its link; longer times would only overflow sums.
constexpr std::int64_t kMaxLatencyPs = 60 * kPicosecondsPerSecond;

struct Kind {
  const char* name;
  LinkCosts LinkCostSet::*costs;
  EfficiencyEnds LinkCostSet::*ends;
};

// What has an efficiency of its own; the up-links of switches have that of the NICs below.
constexpr std::array<Kind, 3> kPorts = {{
    {"nic", &LinkCostSet::nic, &LinkCostSet::nic_ends},
    {"nvlink", &LinkCostSet::nvlink, &LinkCostSet::nvlink_ends},
    {"copy", &LinkCostSet::copy, &LinkCostSet::copy_ends},
}};
constexpr std::array<Kind, 4> kWithLatency = {{
    {"nic", &LinkCostSet::nic, nullptr},
    {"nvlink", &LinkCostSet::nvlink, nullptr},
    {"copy", &LinkCostSet::copy, nullptr},
    {"switch", &LinkCostSet::switches, nullptr},
}};

std::int64_t latency_of(const YamlValue& value) {
  const std::int64_t time = value.duration_ps();
  if (time > kMaxLatencyPs)
    value.fail(fmt::format("expected a time of at most 60 s, found {}", value.text()));
  return time;
}

// The keys of one stated efficiency.
struct WrittenEfficiency {
  explicit WrittenEfficiency(YamlMap map)
      : value(map.optional("value")),
        likely(map.optional("likely")),
        low(map.optional("low")),
        high(map.optional("high")),
        source(map.optional("source")) {
    map.finish();
    if (value && likely) likely->fail("expected either value or likely, found both");
    if (!value && !likely) map.fail("the key value is missing");
    if (low.has_value() != high.has_value())
      map.fail("expected low and high, found only one of them");
  }

  std::optional<YamlValue> value;
  std::optional<YamlValue> likely;
  std::optional<YamlValue> low;
  std::optional<YamlValue> high;
  std::optional<YamlValue> source;
};

void apply_efficiency(const YamlValue& value, LinkCosts& costs, EfficiencyEnds& ends) {
  ends = {};
  if (!value.is_map()) {
    costs.efficiency_ppm = read_efficiency_ppm(value);
    costs.efficiency_source = kStatedByUser;
    return;
  }
  const WrittenEfficiency written(value.map());
  costs.efficiency_ppm = read_efficiency_ppm(written.value ? *written.value : *written.likely);
  costs.efficiency_source = written.source ? written.source->text() : kStatedByUser;
  if (!written.low) return;
  ends = {read_efficiency_ppm(*written.low), read_efficiency_ppm(*written.high)};
  if (ends.low_ppm > costs.efficiency_ppm)
    written.low->fail("expected at most the likely efficiency");
  if (ends.high_ppm < costs.efficiency_ppm)
    written.high->fail("expected at least the likely efficiency");
}

void apply_latency(const YamlValue& value, LinkCosts& costs) {
  YamlMap map = value.map();
  const auto latency = map.optional("latency");
  const auto occupancy = map.optional("occupancy");
  const auto source = map.optional("source");
  map.finish();
  if (!latency && !occupancy) value.fail("expected latency, occupancy or both");
  if (latency) costs.latency_ps = latency_of(*latency);
  if (occupancy) costs.occupancy_ps = latency_of(*occupancy);
  costs.latency_source = source ? source->text() : kStatedByUser;
}

// The kinds that a map states; refuses other keys before any of them is read.
template <typename Kinds, typename Apply>
void for_each_kind(const Kinds& kinds, const YamlValue& value, Apply apply) {
  YamlMap map = value.map();
  for (const Kind& kind : kinds) map.optional(kind.name);
  map.finish();
  for (const Kind& kind : kinds)
    if (const auto part = map.optional(kind.name)) apply(*part, kind);
}

}  // namespace

std::int64_t read_efficiency_ppm(const YamlValue& value) {
  const double number = value.number();
  const auto ppm = number > 0 && number <= 1 ? std::llround(number * kPpm) : 0;
  if (ppm < 1)
    value.fail(fmt::format("expected a number above 0 and at most 1, found {}", value.text()));
  return ppm;
}

LinkCostSet default_link_costs() {
  YamlMap map = YamlValue::from_file(topology_library_folder() + "/defaults.yaml").map();
  const YamlValue efficiency = map.required("efficiency");
  const YamlValue latency = map.required("latency");
  map.finish();
  LinkCostSet costs;
  apply_efficiency(efficiency, costs);
  apply_latency(latency, costs);
  return costs;
}

void apply_efficiency(const YamlValue& value, LinkCostSet& costs) {
  const auto has = [&](const char* key) { return value.is_map() && value.map().has(key); };
  const bool one_for_all = value.is_scalar() || has("value") || has("likely");
  if (one_for_all) {
    for (const Kind& kind : kPorts) apply_efficiency(value, costs.*kind.costs, costs.*kind.ends);
    return;
  }
  for_each_kind(kPorts, value, [&](const YamlValue& part, const Kind& kind) {
    apply_efficiency(part, costs.*kind.costs, costs.*kind.ends);
  });
}

void apply_latency(const YamlValue& value, LinkCostSet& costs) {
  if (value.is_scalar()) {
    const std::int64_t time = latency_of(value);
    for (const Kind& kind : kWithLatency) {
      LinkCosts& kind_costs = costs.*kind.costs;
      kind_costs.latency_ps = time;
      kind_costs.occupancy_ps = time;
      kind_costs.latency_source = kStatedByUser;
    }
    return;
  }
  for_each_kind(kWithLatency, value, [&](const YamlValue& part, const Kind& kind) {
    apply_latency(part, costs.*kind.costs);
  });
}

void add_constants(const LinkCostSet& costs, const std::string& prefix,
                   std::vector<SourcedConstant>& constants) {
  for (const Kind& kind : kPorts) {
    const LinkCosts& link = costs.*kind.costs;
    constants.push_back({fmt::format("{}efficiency.{}", prefix, kind.name),
                         fmt::format("{}", static_cast<double>(link.efficiency_ppm) / kPpm),
                         link.efficiency_source});
    const EfficiencyEnds& ends = costs.*kind.ends;
    for (const auto& [end, ppm] :
         {std::pair("low", ends.low_ppm), std::pair("high", ends.high_ppm)})
      if (ppm > 0)
        constants.push_back({fmt::format("{}efficiency.{}.{}", prefix, kind.name, end),
                             fmt::format("{}", static_cast<double>(ppm) / kPpm),
                             link.efficiency_source});
    constants.push_back({fmt::format("{}latency.{}.latency", prefix, kind.name),
                         format_seconds(to_seconds(link.latency_ps)), link.latency_source});
    constants.push_back({fmt::format("{}latency.{}.occupancy", prefix, kind.name),
                         format_seconds(to_seconds(link.occupancy_ps)), link.latency_source});
  }
  constants.push_back({prefix + "latency.switch.latency",
                       format_seconds(to_seconds(costs.switches.latency_ps)),
                       costs.switches.latency_source});
}

}  // namespace transload
