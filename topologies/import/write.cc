#include "topologies/import/write.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/error.h"
#include "common/units.h"
#include "common/yaml.h"
#include "topologies/gpu_catalogue.h"
#include "topologies/import/switch_layers.h"
#include "topologies/import/write_parts.h"

namespace transload {
namespace {

GpuModel catalogue_model(const std::string& name) {
  std::vector<SourcedConstant> unused;
  return find_gpu_model(YamlValue(YAML::Node(name), std::make_shared<const std::string>(), "gpu"),
                        unused);
}

class TopologyWriter {
 public:
  TopologyWriter(const ImportedCluster& cluster, const ImportAnswers& answers)
      : cluster_(cluster), answers_(answers) {
    if (cluster.node) collect_used_nics();
    find_model();
    find_nvlink();
    if (cluster.fabric) layers_ = merge_layers(cluster.fabric->switches);
  }

  std::vector<std::string> missing() const {
    std::vector<std::string> keys;
    if (!cluster_.node && !cluster_.fabric) {
      keys.push_back("a file about a node or a fabric (logs say only what links reach)");
      return keys;
    }
    if (model_.empty()) keys.push_back("gpu: the model of the GPUs");
    if (!nvlink_known_)
      keys.push_back("nvlink: the rate of a GPU into its NVLink domain, 0 for none");
    if (cluster_.node) {
      missing_of_node(keys);
    } else {
      if (answers_.gpus == 0) keys.push_back("gpus: how many a node has");
      if (answers_.nics_per_gpu == 0) keys.push_back("nics_per_gpu");
      if (answers_.nic_rate == 0 && !ports_have_rates()) keys.push_back("nic: the rate of a NIC");
    }
    if (cluster_.fabric && answers_.oversubscription == 0 && !uplinks_known())
      keys.push_back(
          "oversubscription: what hangs at a switch over its up-link; 1 for a wide fabric");
    return keys;
  }

  WrittenTopology write() {
    const std::vector<std::string> keys = missing();
    if (!keys.empty())
      throw InputError(
          fmt::format("the files do not say everything; still to be stated with "
                      "--set: {}",
                      fmt::join(keys, "; ")));
    YAML::Emitter out;
    out << YAML::Comment(fmt::format("Imported from {} with transload topology import.",
                                     fmt::join(cluster_.files, ", ")))
        << YAML::Newline;
    out << YAML::BeginMap << YAML::Key << "nodes" << YAML::Value << YAML::BeginSeq;
    if (cluster_.fabric)
      write_hosts(out);
    else
      write_node(out, {}, "", {});
    out << YAML::EndSeq;
    if (cluster_.fabric) write_fabric(out);
    const std::int64_t gpus =
        cluster_.node ? static_cast<std::int64_t>(cluster_.node->gpus.size()) : answers_.gpus;
    write_measurements(out, cluster_.measurements, {nvlink_rate_, node_rate() / gpus}, left_out_);
    out << YAML::EndMap;
    return {std::string(out.c_str()) + "\n", std::move(left_out_)};
  }

 private:
  void collect_used_nics() {
    for (const auto& nics : cluster_.nics_of_gpu) used_.insert(nics.begin(), nics.end());
  }

  void find_model() {
    model_ = answers_.gpu;
    if (!cluster_.node) return;
    for (const ImportedGpu& gpu : cluster_.node->gpus) {
      if (gpu.model.empty()) return model_.clear();
      if (!model_.empty() && model_ != gpu.model)
        throw InputError(fmt::format(
            "GPUs of two models in one node ({} and {}); a topology has one in a group of nodes",
            model_, gpu.model));
      model_ = gpu.model;
    }
  }

  void find_nvlink() {
    if (answers_.nvlink_rate) {
      nvlink_known_ = true;
      nvlink_rate_ = *answers_.nvlink_rate;
      return;
    }
    if (!cluster_.node) return;
    const std::vector<ImportedGpu>& gpus = cluster_.node->gpus;
    std::set<std::int32_t> islands;
    std::int32_t links = 0;
    for (const ImportedGpu& gpu : gpus) {
      if (gpu.nvlink_island == kUnknown) return;
      islands.insert(gpu.nvlink_island);
      links = std::max(links, gpu.nvlink_links);
    }
    if (islands.size() == gpus.size()) {
      nvlink_known_ = true;  // every GPU by itself: there is none
      return;
    }
    if (model_.empty() || links == 0) return;
    nvlink_rate_ = links * catalogue_model(model_).nvlink_link_rate;
    nvlink_known_ = nvlink_rate_ > 0;
  }

  void missing_of_node(std::vector<std::string>& keys) const {
    std::vector<std::string> without;
    for (std::size_t gpu = 0; gpu < cluster_.node->gpus.size(); ++gpu)
      if (cluster_.nics_of_gpu[gpu].empty()) without.push_back(cluster_.node->gpus[gpu].name);
    if (cluster_.node->nics.empty())
      keys.push_back(
          "the network cards, which the file does not list: write the node by hand "
          "(docs/topologies.md), or import another file about it");
    else if (!without.empty())
      keys.push_back(
          fmt::format("pin.GPU=NIC for {}: which NIC they use", fmt::join(without, ", ")));
    if (std::any_of(used_.begin(), used_.end(), [&](std::int32_t nic) {
          return cluster_.node->nics[static_cast<std::size_t>(nic)].rate == 0;
        }))
      keys.push_back("nic: the rate of a NIC");
  }

  bool ports_have_rates() const {
    for (const ImportedHost& host : cluster_.fabric->hosts)
      for (const ImportedPort& port : host.ports)
        if (port.rate == 0 || port.nic.empty()) return false;
    return true;
  }

  bool uplinks_known() const {
    if (cluster_.fabric->switches.empty()) return false;
    return std::all_of(layers_.layers.begin(), layers_.layers.end(), [](const SwitchLayer& layer) {
      return layer.parent < 0 || layer.uplink_stated;
    });
  }

  // Ports in the file's order, or empty where the file names no cards.
  static std::vector<ImportedPort> named_ports(const ImportedHost& host) {
    std::vector<ImportedPort> ports;
    for (const ImportedPort& port : host.ports)
      if (!port.nic.empty()) ports.push_back(port);
    return ports;
  }

  // Whether the host has what the node of these files has.
  bool is_like_the_others(const ImportedHost& host) {
    const std::vector<ImportedPort> ports = named_ports(host);
    if (ports.empty()) return host.ports.size() <= 1;
    if (!cluster_.node)
      return static_cast<std::int64_t>(ports.size()) == answers_.gpus * answers_.nics_per_gpu;
    return std::all_of(used_.begin(), used_.end(), [&](std::int32_t nic) {
      return std::any_of(ports.begin(), ports.end(), [&](const ImportedPort& port) {
        return port.nic == cluster_.node->nics[static_cast<std::size_t>(nic)].name;
      });
    });
  }

  void write_hosts(YAML::Emitter& out) {
    // By NVLink domain and cards, in the order of their first hosts.
    using Kind = std::pair<std::string, std::vector<std::string>>;
    std::vector<Kind> order;
    std::map<Kind, std::vector<const ImportedHost*>> hosts_of;
    std::vector<std::string> unlike;
    for (const ImportedHost& host : cluster_.fabric->hosts) {
      if (!is_like_the_others(host)) {
        unlike.push_back(host.name);
        continue;
      }
      kept_.push_back(&host);
      Kind kind{domain_of(host), {}};
      if (!cluster_.node)
        for (const ImportedPort& port : named_ports(host))
          kind.second.push_back(fmt::format("{} {}", port.nic, port.rate));
      auto& hosts = hosts_of[kind];
      if (hosts.empty()) order.push_back(kind);
      hosts.push_back(&host);
    }
    if (kept_.empty()) throw InputError("no host of the fabric has the cards of the node");
    if (!unlike.empty())
      left_out_.push_back(
          fmt::format("{} hosts with other cards: {}", unlike.size(), fmt::join(unlike, ", ")));
    for (const Kind& kind : order) {
      std::vector<std::string> names;
      for (const ImportedHost* host : hosts_of[kind]) names.push_back(host->name);
      write_node(out, names, kind.first, named_ports(*hosts_of[kind].front()));
    }
  }

  std::string domain_of(const ImportedHost& host) const {
    if (nvlink_rate_ == 0 || answers_.nvlink_domain == "host") return "";
    if (answers_.nvlink_domain == "all") return "all";
    return host.nvlink_domain;
  }

  void write_node(YAML::Emitter& out, const std::vector<std::string>& names,
                  const std::string& domain, const std::vector<ImportedPort>& ports) {
    out << YAML::BeginMap;
    if (!names.empty())
      out << YAML::Key << "name" << YAML::Value << YAML::Flow << names;
    else
      out << YAML::Key << "count" << YAML::Value << std::max<std::int64_t>(1, answers_.nodes);
    const std::int64_t gpus =
        cluster_.node ? static_cast<std::int64_t>(cluster_.node->gpus.size()) : answers_.gpus;
    out << YAML::Key << "gpus" << YAML::Value << gpus;
    out << YAML::Key << "gpu" << YAML::Value << model_;
    if (nvlink_rate_ > 0) out << YAML::Key << "nvlink" << YAML::Value << rate_text(nvlink_rate_);
    const std::string shared =
        names.empty() && nvlink_rate_ > 0 && answers_.nvlink_domain == "all" ? "all" : domain;
    if (!shared.empty()) out << YAML::Key << "nvlink_domain" << YAML::Value << shared;
    if (cluster_.node && !cluster_.node->nics.empty())
      write_hardware(out, *cluster_.node, cluster_.nics_of_gpu, nvlink_rate_ > 0 && shared.empty());
    else if (cluster_.node)
      write_plain_node(out, *cluster_.node, nvlink_rate_ > 0 && shared.empty());
    if (!cluster_.node || cluster_.node->nics.empty())
      write_cards(out, ports, answers_.nics_per_gpu, answers_.nic_rate);
    out << YAML::EndMap;
  }

  void write_fabric(YAML::Emitter& out) {
    out << YAML::Key << "fabric" << YAML::Value << YAML::BeginMap;
    if (cluster_.fabric->switches.empty()) {
      if (answers_.oversubscription != 1)
        throw InputError(
            "the file lists no switches, so there is no up-link that could be narrow; "
            "expected --set oversubscription=1");
      out << YAML::Key << "kind" << YAML::Value << "non-blocking" << YAML::EndMap;
      return;
    }
    out << YAML::Key << "kind" << YAML::Value << "switches";
    out << YAML::Key << "switches" << YAML::Value << YAML::BeginSeq;
    const std::vector<std::int64_t> below = rates_below();
    for (std::size_t i = 0; i < layers_.layers.size(); ++i)
      if (below[i] > 0) write_layer(out, i, below[i]);
    out << YAML::EndSeq << YAML::EndMap;
  }

  std::int64_t port_rate(const ImportedPort& port) const {
    if (port.nic.empty()) return port.rate > 0 ? port.rate : node_rate();
    if (port.rate > 0 || !cluster_.node) return port.rate > 0 ? port.rate : answers_.nic_rate;
    for (const ImportedNic& nic : cluster_.node->nics)
      if (nic.name == port.nic) return nic.rate;
    return answers_.nic_rate;
  }

  // All NICs of a node together.
  std::int64_t node_rate() const {
    if (!cluster_.node || cluster_.node->nics.empty()) {
      const std::int64_t gpus =
          cluster_.node ? static_cast<std::int64_t>(cluster_.node->gpus.size()) : answers_.gpus;
      return gpus * answers_.nics_per_gpu * answers_.nic_rate;
    }
    std::int64_t rate = 0;
    for (std::int32_t nic : used_) rate += cluster_.node->nics[static_cast<std::size_t>(nic)].rate;
    return rate;
  }

  bool is_used(const ImportedPort& port) const {
    if (port.nic.empty() || !cluster_.node) return true;
    return std::any_of(used_.begin(), used_.end(), [&](std::int32_t nic) {
      return cluster_.node->nics[static_cast<std::size_t>(nic)].name == port.nic;
    });
  }

  std::vector<std::int64_t> rates_below() const {
    std::vector<std::int64_t> below(layers_.layers.size(), 0);
    for (const ImportedHost* host : kept_)
      for (const ImportedPort& port : host->ports) {
        if (!is_used(port)) continue;
        for (std::int32_t at = layers_.layer_of[static_cast<std::size_t>(port.leaf)]; at >= 0;
             at = layers_.layers[static_cast<std::size_t>(at)].parent)
          below[static_cast<std::size_t>(at)] += port_rate(port);
      }
    return below;
  }

  void write_layer(YAML::Emitter& out, std::size_t index, std::int64_t below) {
    const SwitchLayer& layer = layers_.layers[index];
    out << YAML::BeginMap << YAML::Key << "name" << YAML::Value << layer.name;
    if (layer.parent >= 0) {
      out << YAML::Key << "parent" << YAML::Value
          << layers_.layers[static_cast<std::size_t>(layer.parent)].name;
      std::int64_t uplink = layer.uplink_stated ? layer.uplink : 0;
      if (!layer.uplink_stated && answers_.oversubscription > 1)
        uplink = static_cast<std::int64_t>(static_cast<double>(below) / answers_.oversubscription);
      if (uplink > 0 && uplink < below)
        out << YAML::Key << "uplink" << YAML::Value << rate_text(uplink);
    }
    std::vector<std::string> nodes;
    std::vector<std::string> nics;
    for (const ImportedHost* host : kept_)
      for (const ImportedPort& port : host->ports) {
        if (!is_used(port) ||
            layers_.layer_of[static_cast<std::size_t>(port.leaf)] != static_cast<int>(index))
          continue;
        if (port.nic.empty())
          nodes.push_back(host->name);
        else
          nics.push_back(host->name + "." + port.nic);
      }
    if (!nodes.empty()) out << YAML::Key << "nodes" << YAML::Value << YAML::Flow << nodes;
    if (!nics.empty()) out << YAML::Key << "nics" << YAML::Value << YAML::Flow << nics;
    out << YAML::EndMap;
  }

  const ImportedCluster& cluster_;
  const ImportAnswers& answers_;
  std::set<std::int32_t> used_;  // NICs of the node
  std::string model_;
  bool nvlink_known_ = false;
  std::int64_t nvlink_rate_ = 0;
  SwitchLayers layers_;
  std::vector<const ImportedHost*> kept_;
  std::vector<std::string> left_out_;
};

}  // namespace

std::vector<std::string> missing_answers(const ImportedCluster& cluster,
                                         const ImportAnswers& answers) {
  return TopologyWriter(cluster, answers).missing();
}

WrittenTopology write_topology(const ImportedCluster& cluster, const ImportAnswers& answers) {
  return TopologyWriter(cluster, answers).write();
}

}  // namespace transload
