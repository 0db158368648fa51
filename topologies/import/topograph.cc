// topograph's cluster models: a tree of switches, and blocks of nodes that hang at a switch and
// may share an accelerator (NVLink) domain.
//
// Source of the form: NVIDIA/topograph, tests/models. A block states its NVLink domain as an
// annotation that ends in "/domain" or as the label "network.topology.nvidia.com/accelerator".
// Models of before 2025 (a list of switches with capacity_blocks) are refused by name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/yaml.h"
#include "topologies/import/hostlist.h"
#include "topologies/import/readers.h"
#include "topologies/import/switch_tree.h"

namespace transload {
namespace {

constexpr const char* kAcceleratorLabel = "network.topology.nvidia.com/accelerator";

class TopographReader {
 public:
  explicit TopographReader(const YamlValue& document) : file_(document.place().file) {
    YamlMap map = document.map();
    if (map.has("capacity_blocks"))
      map.fail(
          "an old topograph model (capacity_blocks); expected `switches` as a map and "
          "`blocks` as a list");
    if (const auto switches = map.optional("switches")) read_switches(*switches);
    if (const auto blocks = map.optional("blocks")) read_blocks(*blocks);
    map.finish();
    if (fabric_.hosts.empty()) map.fail("the model has no nodes; expected `blocks` with `nodes`");
  }

  ImportFindings findings() {
    fabric_.switches = build_switch_tree(listed_, file_);
    ImportFindings findings;
    findings.kind = "topograph";
    findings.asked = {kAskForNodes, kAskForLinkRates};
    ask_about_domains(findings);
    warn_about_switches(findings);
    if (labels_ > 0)
      findings.ignored.push_back(
          fmt::format("labels of {} switches and blocks: names of regions, zones and racks for "
                      "other tools",
                      labels_));
    findings.fabric = std::move(fabric_);
    return findings;
  }

 private:
  std::int32_t index_of(const std::string& name, int line) {
    const auto [found, is_new] = index_.emplace(name, static_cast<std::int32_t>(listed_.size()));
    if (is_new) listed_.push_back({name, {}, line});
    return found->second;
  }

  // Leaves stand only among the children of others, so every name that comes up is a switch.
  void read_switches(const YamlValue& value) {
    if (!value.is_map())
      value.fail("expected a map of switches by name (older topograph models have a list)");
    for (const auto& [name, entry] : value.map().entries()) {
      const auto self = static_cast<std::size_t>(index_of(name, entry.place().line));
      if (entry.is_null()) continue;
      YamlMap one = entry.map();
      if (const auto children = one.optional("switches")) {
        for (const YamlValue& child : children->list()) {
          listed_[self].children.push_back(child.text());
          index_of(child.text(), child.place().line);
        }
      }
      skip_labels(one);
      one.finish();
    }
    in_tree_ = listed_.size();
  }

  void skip_labels(YamlMap& map) {
    const bool labels = map.optional("labels").has_value();
    const bool annotations = map.optional("annotations").has_value();
    if (labels || annotations) ++labels_;
  }

  void read_blocks(const YamlValue& value) {
    for (const YamlValue& entry : value.list()) {
      YamlMap block = entry.map();
      const std::string domain = domain_of(block);
      std::vector<ImportedPort> ports;
      if (const auto at = block.optional("switch")) {
        ports.push_back({"", index_of(at->text(), at->place().line), 0});
        with_nodes_.insert(ports[0].leaf);
      } else {
        ++without_switch_;
      }
      for (const YamlValue& nodes : block.required("nodes").list())
        for (std::string& name : expand_hostlist(nodes.text(), nodes.place(), budget_))
          add_host(std::move(name), domain, ports, nodes);
      block.finish();
    }
  }

  void add_host(std::string name, const std::string& domain, const std::vector<ImportedPort>& ports,
                const YamlValue& where) {
    if (!hosts_.insert(name).second)
      where.fail(fmt::format("node {} stands twice; a node is in one block", name));
    if (domain.empty()) ++without_domain_;
    fabric_.hosts.push_back({std::move(name), domain, ports});
  }

  // Empty: not stated.
  std::string domain_of(YamlMap& block) {
    std::string domain;
    std::string key_of_domain;
    const auto take = [&](const std::string& key, const YamlValue& value) {
      if (!domain.empty() && domain != value.text())
        value.fail(fmt::format("names the NVLink domain {}, and {} names {}", value.text(),
                               key_of_domain, domain));
      domain = value.text();
      key_of_domain = key;
    };
    if (const auto annotations = block.optional("annotations")) {
      for (const auto& [key, value] : annotations->map().entries()) {
        if (key.ends_with("/domain")) take(key, value);
        if (key.ends_with("/sub-domain")) sub_domains_.insert(value.text());
      }
    }
    if (const auto labels = block.optional("labels")) {
      ++labels_;
      for (const auto& [key, value] : labels->map().entries())
        if (key == kAcceleratorLabel) take(key, value);
    }
    if (!domain.empty()) domains_.insert(domain);
    return domain;
  }

  void ask_about_domains(ImportFindings& findings) const {
    if (without_domain_ > 0)
      findings.asked.push_back(fmt::format(
          "nvlink_domain: which one {} nodes are in whose blocks state none", without_domain_));
    if (!sub_domains_.empty())
      findings.asked.push_back(fmt::format(
          "how far NVLink reaches: {} domains hold {} sub-domains; read here as one NVLink domain "
          "per domain, and it may be one per sub-domain",
          domains_.size(), sub_domains_.size()));
  }

  void warn_about_switches(ImportFindings& findings) const {
    std::vector<std::string> empty;
    std::vector<std::string> strange;
    for (std::size_t i = 0; i < listed_.size(); ++i) {
      const bool has_nodes = with_nodes_.contains(static_cast<std::int32_t>(i));
      if (i >= in_tree_) strange.push_back(listed_[i].name);
      if (!has_nodes && listed_[i].children.empty()) empty.push_back(listed_[i].name);
    }
    if (!empty.empty())
      findings.warnings.push_back(fmt::format(
          "switches of the tree at which no block has nodes: {}", fmt::join(empty, ", ")));
    if (!strange.empty())
      findings.warnings.push_back(fmt::format(
          "switches that blocks name and the tree does not: {}; their nodes have no path to the "
          "others",
          fmt::join(strange, ", ")));
    if (without_switch_ > 0)
      findings.asked.push_back(
          fmt::format("the switch of {} blocks that name none", without_switch_));
    const std::string separate = separate_trees(fabric_.switches);
    if (!separate.empty() && strange.empty()) findings.warnings.push_back(separate);
  }

  std::string file_;
  ImportedFabric fabric_;
  std::vector<NamedSwitch> listed_;
  std::map<std::string, std::int32_t> index_;
  std::set<std::int32_t> with_nodes_;
  std::set<std::string> hosts_;
  std::set<std::string> domains_;
  std::set<std::string> sub_domains_;
  std::size_t in_tree_ = 0;  // switches from here on stand only in blocks
  std::int64_t budget_ = kMaxHostlistNames;
  int labels_ = 0;
  int without_domain_ = 0;
  int without_switch_ = 0;
};

}  // namespace

ImportFindings read_topograph(const std::string& text, const std::string& file) {
  return TopographReader(YamlValue::from_text(text, file)).findings();
}

}  // namespace transload
