#include "topologies/fabric_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "common/units.h"
#include "topologies/switch_list.h"

namespace transload {
namespace {

constexpr std::int64_t kMaxUnit = std::int64_t{1} << 20;
constexpr std::int64_t kMaxPlanes = 16;
constexpr double kMaxOversubscription = 1e4;

struct FabricForm {
  std::string kind = "non-blocking";
  std::int64_t unit = 0;         // nodes; 0: all nodes of a site
  std::int64_t pod = 0;          // units; 0: one spine layer joins all
  std::int64_t leaf_ppm = kPpm;  // oversubscription of the leaves
  std::int64_t core_ppm = kPpm;  // of the spine layers, where there is a core
  bool rails() const { return kind == "rail-optimised" || kind == "rail-only"; }
};

std::int64_t read_oversubscription(const YamlValue& value) {
  const double factor = value.number();
  if (factor < 1 || factor > kMaxOversubscription)
    value.fail(fmt::format("expected a factor from 1 to {}, found {}", kMaxOversubscription,
                           value.text()));
  return std::llround(factor * kPpm);
}

class FormReader {
 public:
  FormReader(const YamlValue& value, const FabricContext& context, Topology& topology)
      : map_(value.map()), context_(context), topology_(topology) {}

  FabricForm read() {
    for (const char* key : {"kind", "unit", "pod", "oversubscription", "core_oversubscription",
                            "planes", "switches", "published"})
      map_.optional(key);
    map_.finish();
    FabricForm form;
    if (const auto kind = get("kind", "fabric.kind"))
      form.kind =
          kind->word_of({"non-blocking", "leaf-spine", "rail-optimised", "rail-only", "switches"});
    if (const auto unit = get("unit", "fabric.unit")) form.unit = unit->integer_in(1, kMaxUnit);
    if (const auto pod = get("pod", "fabric.pod")) form.pod = pod->integer_in(1, kMaxUnit);
    if (const auto factor = get("oversubscription", "fabric.oversubscription"))
      form.leaf_ppm = read_oversubscription(*factor);
    if (const auto factor = get("core_oversubscription", "fabric.core_oversubscription"))
      form.core_ppm = read_oversubscription(*factor);
    get("planes", "fabric.planes");
    refuse_contradictions(form);
    if (const auto published = map_.optional("published")) read_published(*published, form);
    return form;
  }

  std::optional<YamlValue> switches() { return map_.optional("switches"); }

 private:
  std::optional<YamlValue> get(const char* key, const char* name) {
    const auto value = resolve_optional(map_.optional(key), context_.parameters);
    if (!value) return std::nullopt;
    topology_.constants.push_back({name, value->value.text(), value->source});
    return value->value;
  }

  bool stated(const char* key) {
    return resolve_optional(map_.optional(key), context_.parameters).has_value();
  }

  // Only for keys that are stated.
  [[noreturn]] void fail(const char* key, const std::string& problem) {
    resolve(*map_.optional(key), context_.parameters).value.fail(problem);
  }

  void refuse_contradictions(const FabricForm& form) {
    const bool listed = map_.has("switches");
    if (form.kind == "switches" && !listed) map_.fail("kind switches needs the list `switches:`");
    if (listed && !stated("kind")) map_.fail("a list of switches needs `kind: switches` beside it");
    if (form.kind != "switches" && listed)
      fail("kind", "a list of switches is there as well; expected kind: switches");
    if (listed)
      for (const char* key : {"unit", "pod", "oversubscription", "core_oversubscription"})
        if (stated(key)) fail(key, "the list of switches says this; leave the key out");
    if (form.kind == "non-blocking")
      for (const char* key : {"unit", "pod"})
        if (stated(key))
          fail(key,
               "a non-blocking fabric is one switch; expected kind leaf-spine, "
               "rail-optimised or rail-only");
    if (form.kind == "non-blocking" && (form.leaf_ppm != kPpm || form.core_ppm != kPpm))
      fail(form.leaf_ppm != kPpm ? "oversubscription" : "core_oversubscription",
           "a non-blocking fabric has no oversubscription; expected kind leaf-spine or "
           "rail-optimised, and `unit:`, the nodes below one leaf");
    if (form.kind == "leaf-spine" && form.unit == 0)
      map_.fail("kind leaf-spine needs `unit:`, the nodes below one leaf");
    if (form.kind == "rail-only" && form.pod != 0)
      fail("pod", "rails of a rail-only fabric meet nowhere; leave the key out");
    if (form.core_ppm != kPpm && form.pod == 0)
      fail("core_oversubscription", "there is a core only above pods; expected `pod:` as well");
    if (form.leaf_ppm != kPpm && form.rails() && form.unit == 0)
      fail("oversubscription",
           "one leaf per rail has no up-link; expected `unit:`, the nodes "
           "below one set of leaves");
  }

  // The counts are those of one design: other NICs or an oversubscription need other switches.
  bool as_published(const FabricForm& form, std::int64_t nics_per_node) const {
    const std::size_t nics = topology_.nodes.size() * static_cast<std::size_t>(nics_per_node);
    return form.leaf_ppm == kPpm && form.core_ppm == kPpm && topology_.nics.size() == nics;
  }

  // The row for as many units as there are, or nothing.
  void read_published(const YamlValue& value, const FabricForm& form) {
    YamlMap published = value.map();
    const std::string source = published.required("source").text();
    const bool fits =
        as_published(form, published.required("nics_per_node").integer_in(1, kMaxUnit));
    const std::int64_t unit = std::max<std::int64_t>(form.unit, 1);
    const auto nodes = static_cast<std::int64_t>(topology_.nodes.size());
    const std::int64_t units = (nodes + unit - 1) / unit;
    for (const YamlValue& row : published.required("units").list()) {
      YamlMap columns = row.map();
      const std::int64_t count = columns.required("units").integer_in(1, kMaxUnit);
      std::vector<std::int64_t> tiers;
      for (const YamlValue& tier : columns.required("tiers").list())
        tiers.push_back(tier.integer_in(1, kMaxUnit));
      columns.finish();
      if (fits && count == units) topology_.published_switches = {tiers, source};
    }
    published.finish();
  }

  YamlMap map_;
  const FabricContext& context_;
  Topology& topology_;
};

// Makes the switches of a form that is not a list.
class FabricBuilder {
 public:
  FabricBuilder(const FabricForm& form, const FabricContext& context, Topology& topology)
      : form_(form), context_(context), topology_(topology) {}

  void build() {
    std::vector<std::int64_t> next_in_site(topology_.sites.size(), 0);
    position_.reserve(topology_.nodes.size());
    for (const Node& node : topology_.nodes)
      position_.push_back(next_in_site[static_cast<std::size_t>(node.site)]++);
    for (Nic& nic : topology_.nics) nic.leaf = leaf_of(nic);
    widen_uplinks();
  }

 private:
  using Place = std::tuple<std::int32_t, std::int64_t, std::int64_t, std::int64_t>;

  std::int64_t unit_of(const Nic& nic) const {
    const std::int64_t position = position_[static_cast<std::size_t>(nic.node)];
    return form_.unit > 0 ? position / form_.unit : 0;
  }
  std::int32_t site_of(const Nic& nic) const {
    return topology_.nodes[static_cast<std::size_t>(nic.node)].site;
  }
  std::string prefix(const Nic& nic) const {
    const std::string& site = topology_.sites[static_cast<std::size_t>(site_of(nic))].name;
    std::string text = site.empty() ? "" : site + ".";
    if (planes_ > 1) text += fmt::format("plane{}.", nic.plane);
    return text;
  }

  std::int32_t add(const std::string& name, std::int32_t tier, const Nic& nic,
                   std::int32_t parent) {
    Switch made;
    made.name = name;
    made.tier = tier;
    made.parent = parent;
    made.site = site_of(nic);
    made.latency_ps = context_.switch_costs.latency_ps;
    made.uplink_efficiency_ppm = nic_costs(topology_, nic).efficiency_ppm;
    topology_.switches.push_back(std::move(made));
    return static_cast<std::int32_t>(topology_.switches.size()) - 1;
  }

  // The switch of that place and tier, made by the first NIC below it.
  template <class Make>
  std::int32_t once(std::int32_t tier, const Place& place, Make&& make) {
    auto& known = known_[static_cast<std::size_t>(tier)];
    const auto found = known.find(place);
    if (found != known.end()) return found->second;
    const std::int32_t made = make();
    known.emplace(place, made);
    return made;
  }

  std::int32_t root_of(const Nic& nic) {
    const bool has_leaves = form_.kind != "non-blocking";
    const std::int32_t tier = has_leaves ? (form_.pod > 0 ? 3 : 2) : 1;
    return once(3, {site_of(nic), nic.plane, 0, 0}, [&] {
      const char* word = tier == 1 ? "switch" : tier == 2 ? "spine" : "core";
      const std::int32_t made = add(prefix(nic) + word, tier, nic, -1);
      topology_.switches[static_cast<std::size_t>(made)].gateway = true;
      return made;
    });
  }

  // The one layer of switches above all leaves of the NIC's rail.
  std::int32_t rail_root_of(const Nic& nic) {
    return once(2, {site_of(nic), nic.plane, nic.rail, 0},
                [&] { return add(fmt::format("{}rail{}", prefix(nic), nic.rail), 2, nic, -1); });
  }

  std::int32_t above_leaf(const Nic& nic) {
    if (form_.kind == "rail-only") return form_.unit > 0 ? rail_root_of(nic) : -1;
    if (form_.pod == 0) return root_of(nic);
    const std::int64_t pod = unit_of(nic) / form_.pod;
    return once(2, {site_of(nic), nic.plane, pod, 0}, [&] {
      const std::int32_t core = root_of(nic);
      return add(fmt::format("{}spine{}", prefix(nic), pod), 2, nic, core);
    });
  }

  std::int32_t leaf_of(const Nic& nic) {
    planes_ = std::max<std::int64_t>(planes_, nic.plane + 1);
    if (form_.kind == "non-blocking") return root_of(nic);
    const std::int64_t unit = unit_of(nic);
    const std::int64_t rail = form_.rails() ? nic.rail : 0;
    return once(1, {site_of(nic), nic.plane, unit, rail}, [&] {
      const std::int32_t parent = above_leaf(nic);
      const std::string name = form_.rails() ? fmt::format("{}leaf{}.{}", prefix(nic), unit, rail)
                                             : fmt::format("{}leaf{}", prefix(nic), unit);
      return add(name, 1, nic, parent);
    });
  }

  // An up-link carries what hangs below it over the oversubscription on the way; where that is 1 it
  // can never be the bottleneck, and is left out.
  void widen_uplinks() {
    std::vector<__int128> below(topology_.switches.size(), 0);
    for (const Nic& nic : topology_.nics)
      for (std::int32_t at = nic.leaf; at >= 0;
           at = topology_.switches[static_cast<std::size_t>(at)].parent)
        below[static_cast<std::size_t>(at)] += nic.rate;
    for (std::size_t i = 0; i < topology_.switches.size(); ++i) {
      Switch& at = topology_.switches[i];
      if (at.parent < 0) continue;
      __int128 factor = form_.leaf_ppm;
      if (at.tier == 2) factor = factor * form_.core_ppm / kPpm;
      if (factor == kPpm) continue;
      at.uplink_rate =
          std::max<std::int64_t>(1, static_cast<std::int64_t>(below[i] * kPpm / factor));
    }
  }

  const FabricForm& form_;
  const FabricContext& context_;
  Topology& topology_;
  std::vector<std::int64_t> position_;  // of a node within its site
  std::int64_t planes_ = 1;
  std::map<Place, std::int32_t> known_[4];  // by tier; 3: roots
};

// Units are what is handed out together, where no NVLink domain spans nodes.
void number_blocks(const FabricForm& form, Topology& topology) {
  std::vector<std::int32_t> node_of_domain(static_cast<std::size_t>(topology.domain_count), -1);
  for (const Gpu& gpu : topology.gpus) {
    std::int32_t& node = node_of_domain[static_cast<std::size_t>(gpu.domain)];
    if (node >= 0 && node != gpu.node) return;
    node = gpu.node;
  }
  if (form.unit == 0) return;
  for (std::size_t i = 0; i < topology.nodes.size(); ++i)
    topology.nodes[i].block = static_cast<std::int32_t>(static_cast<std::int64_t>(i) / form.unit);
}

}  // namespace

std::int64_t read_planes(const std::optional<YamlValue>& fabric, const Parameters& parameters) {
  if (!fabric || !fabric->is_map()) return 1;
  const auto planes = resolve_optional(fabric->map().optional("planes"), parameters);
  return planes ? planes->value.integer_in(1, kMaxPlanes) : 1;
}

void attach_fabric(const std::optional<YamlValue>& fabric, const FabricContext& context,
                   Topology& topology) {
  FabricForm form;
  if (fabric) {
    FormReader reader(*fabric, context, topology);
    form = reader.read();
    if (const auto switches = reader.switches()) {
      attach_switch_list(*switches, context, topology);
      topology.fabric_kind = form.kind;
      return;
    }
  }
  topology.fabric_kind = form.kind;
  FabricBuilder(form, context, topology).build();
  number_blocks(form, topology);
}

void read_wan_links(const YamlValue& links, double rate_scale, Topology& topology) {
  const auto site_named = [&](const YamlValue& name) {
    for (std::size_t i = 0; i < topology.sites.size(); ++i)
      if (topology.sites[i].name == name.text()) return static_cast<std::int32_t>(i);
    name.fail(fmt::format("no node is at a site {}; expected the `site:` of two groups of nodes",
                          name.text()));
  };
  for (const YamlValue& value : links.list()) {
    YamlMap map = value.map();
    const YamlValue between = map.required("between");
    const YamlValue rate = map.required("rate");
    const auto latency = map.optional("latency");
    map.finish();
    const auto ends = between.list();
    if (ends.size() != 2) between.fail("expected two sites");
    WanLink link;
    link.site_a = site_named(ends[0]);
    link.site_b = site_named(ends[1]);
    if (link.site_a == link.site_b) between.fail("expected two different sites");
    const SourcedValue line = resolve(rate);
    link.rate = std::llround(static_cast<double>(line.value.rate()) * rate_scale);
    if (link.rate < 1) rate.fail(fmt::format("expected a rate above 0, found {}", rate.text()));
    if (latency) link.latency_ps = resolve(*latency).value.duration_ps();
    for (const WanLink& other : topology.wan_links)
      if (std::minmax(other.site_a, other.site_b) == std::minmax(link.site_a, link.site_b))
        between.fail("the two sites are joined twice; expected one link with the sum of the rates");
    topology.constants.push_back({fmt::format("links.{}-{}", ends[0].text(), ends[1].text()),
                                  format_rate(static_cast<double>(link.rate)), line.source});
    topology.wan_links.push_back(link);
  }
}

}  // namespace transload
