#include "topologies/switch_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "topologies/import/hostlist.h"

namespace transload {
namespace {

constexpr std::int64_t kMaxLatencyPs = 60'000'000'000'000;

class SwitchListReader {
 public:
  SwitchListReader(const FabricContext& context, Topology& topology)
      : context_(context), topology_(topology), hangs_(topology.nics.size(), false) {
    for (std::size_t node = 0; node < topology.nodes.size(); ++node)
      node_of_name_.emplace(node_name(node), node);
    first_nic_.assign(topology.nodes.size() + 1, 0);
    for (const Nic& nic : topology.nics) ++first_nic_[static_cast<std::size_t>(nic.node) + 1];
    for (std::size_t i = 1; i < first_nic_.size(); ++i) first_nic_[i] += first_nic_[i - 1];
  }

  void read(const YamlValue& list) {
    const auto entries = list.list();
    if (entries.empty()) list.fail("expected at least one switch");
    for (const YamlValue& entry : entries) add_switch(entry);
    for (std::size_t i = 0; i < entries.size(); ++i) join(entries[i], i);
    for (std::size_t i = 0; i < entries.size(); ++i) settle(entries[i], i);
    for (std::size_t nic = 0; nic < hangs_.size(); ++nic)
      if (!hangs_[nic])
        list.fail(fmt::format("NIC {} of node {} hangs at no switch", topology_.nics[nic].name,
                              node_name(static_cast<std::size_t>(topology_.nics[nic].node))));
  }

 private:
  std::string node_name(std::size_t node) const {
    const std::string& name = topology_.nodes[node].name;
    return name.empty() ? fmt::format("node{}", node) : name;
  }

  void add_switch(const YamlValue& entry) {
    YamlMap map = entry.map();
    const YamlValue name = map.required("name");
    for (const char* key : {"parent", "uplink", "latency", "nodes", "nics"}) map.optional(key);
    map.finish();
    Switch made;
    made.name = name.text();
    made.latency_ps = context_.switch_costs.latency_ps;
    if (const auto latency = map.optional("latency")) {
      made.latency_ps = resolve(*latency, context_.parameters).value.duration_ps();
      if (made.latency_ps > kMaxLatencyPs) latency->fail("expected a time of at most 60 s");
    }
    if (!index_of_.emplace(made.name, topology_.switches.size()).second)
      name.fail(fmt::format("a switch {} is there already", made.name));
    topology_.switches.push_back(std::move(made));
  }

  void join(const YamlValue& entry, std::size_t index) {
    YamlMap map = entry.map();
    Switch& made = topology_.switches[index];
    if (const auto parent = map.optional("parent")) {
      const auto found = index_of_.find(parent->text());
      if (found == index_of_.end())
        parent->fail(fmt::format("no switch {} in the list", parent->text()));
      made.parent = static_cast<std::int32_t>(found->second);
    }
    if (const auto uplink = map.optional("uplink")) {
      if (made.parent < 0) uplink->fail("a switch without `parent:` has no up-link");
      const std::int64_t line = resolve(*uplink, context_.parameters).value.rate();
      made.uplink_rate = std::llround(static_cast<double>(line) * context_.rate_scale);
      if (made.uplink_rate < 1) uplink->fail("expected a rate above 0");
    }
    if (const auto nodes = map.optional("nodes")) hang_nodes(*nodes, index);
    if (const auto nics = map.optional("nics"))
      for (const YamlValue& nic : nics->list()) hang_nic(nic, index);
  }

  std::vector<YamlValue> words(const YamlValue& value) const {
    return value.is_list() ? value.list() : std::vector<YamlValue>{value};
  }

  std::size_t node_called(const std::string& name, const YamlValue& place) const {
    const auto found = node_of_name_.find(name);
    if (found == node_of_name_.end()) place.fail(fmt::format("no node is called {}", name));
    return found->second;
  }

  void hang_nodes(const YamlValue& value, std::size_t index) {
    for (const YamlValue& word : words(value))
      for (const std::string& name : expand_hostlist(word.text(), word.place(), names_left_)) {
        const std::size_t node = node_called(name, word);
        for (std::size_t nic = first_nic_[node]; nic < first_nic_[node + 1]; ++nic)
          hang(nic, index, word);
      }
  }

  void hang_nic(const YamlValue& value, std::size_t index) {
    const std::string text = value.text();
    const std::size_t dot = text.rfind('.');
    if (dot == std::string::npos) value.fail("expected NODE.NIC, found " + text);
    const std::size_t node = node_called(text.substr(0, dot), value);
    for (std::size_t nic = first_nic_[node]; nic < first_nic_[node + 1]; ++nic)
      if (topology_.nics[nic].name == text.substr(dot + 1)) return hang(nic, index, value);
    value.fail(fmt::format("node {} has no NIC {}", text.substr(0, dot), text.substr(dot + 1)));
  }

  void hang(std::size_t nic, std::size_t index, const YamlValue& place) {
    Nic& at = topology_.nics[nic];
    if (hangs_[nic])
      place.fail(fmt::format("NIC {} hangs at {} already", at.name,
                             topology_.switches[static_cast<std::size_t>(at.leaf)].name));
    hangs_[nic] = true;
    at.leaf = static_cast<std::int32_t>(index);
    Switch& leaf = topology_.switches[index];
    leaf.uplink_efficiency_ppm = nic_costs(topology_, at).efficiency_ppm;
    leaf.site = topology_.nodes[static_cast<std::size_t>(at.node)].site;
  }

  // Tiers count from the NICs; sites come from below; a switch above others takes their efficiency.
  void settle(const YamlValue& entry, std::size_t index) {
    std::int32_t tier = topology_.switches[index].tier;
    std::size_t steps = 0;
    for (std::int32_t at = topology_.switches[index].parent; at >= 0;) {
      Switch& above = topology_.switches[static_cast<std::size_t>(at)];
      if (++steps > topology_.switches.size())
        entry.fail("the parents of this switch go round in a circle");
      above.tier = std::max(above.tier, ++tier);
      tier = above.tier;
      above.site = topology_.switches[index].site;
      above.uplink_efficiency_ppm = topology_.switches[index].uplink_efficiency_ppm;
      if (above.parent < 0) above.gateway = true;
      at = above.parent;
    }
    if (topology_.switches[index].parent < 0) topology_.switches[index].gateway = true;
  }

  const FabricContext& context_;
  Topology& topology_;
  std::vector<bool> hangs_;
  std::int64_t names_left_ = kMaxHostlistNames;
  std::vector<std::size_t> first_nic_;  // by node: NICs stand node by node
  std::map<std::string, std::size_t> node_of_name_;
  std::map<std::string, std::size_t> index_of_;
};

}  // namespace

void attach_switch_list(const YamlValue& list, const FabricContext& context, Topology& topology) {
  SwitchListReader(context, topology).read(list);
}

}  // namespace transload
