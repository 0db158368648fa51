#include "cli/topology_json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace transload {
namespace {

nlohmann::json known_or_null(std::int32_t value) {
  return value < 0 ? nlohmann::json(nullptr) : nlohmann::json(value);
}

nlohmann::json domains_json(const Topology& topology) {
  nlohmann::json domains = nlohmann::json::array();
  for (std::int32_t d = 0; d < topology.domain_count; ++d)
    domains.push_back({{"gpus", nlohmann::json::array()}});
  for (std::size_t gpu = 0; gpu < topology.gpus.size(); ++gpu)
    domains[static_cast<std::size_t>(topology.gpus[gpu].domain)]["gpus"].push_back(gpu);
  return domains;
}

nlohmann::json nics_json(const Topology& topology) {
  nlohmann::json nics = nlohmann::json::array();
  for (const Nic& nic : topology.nics)
    nics.push_back({{"name", nic.name},
                    {"numa", known_or_null(nic.numa)},
                    {"rate", nic.rate},
                    {"node", nic.node},
                    {"rail", nic.rail},
                    {"plane", nic.plane},
                    {"switch", topology.switches[static_cast<std::size_t>(nic.leaf)].name}});
  return nics;
}

nlohmann::json switches_json(const Topology& topology) {
  nlohmann::json switches = nlohmann::json::array();
  for (const Switch& at : topology.switches)
    switches.push_back(
        {{"name", at.name},
         {"tier", at.tier},
         {"parent",
          at.parent < 0
              ? nlohmann::json(nullptr)
              : nlohmann::json(topology.switches[static_cast<std::size_t>(at.parent)].name)},
         {"uplink_rate",
          at.uplink_rate > 0 ? nlohmann::json(at.uplink_rate) : nlohmann::json(nullptr)}});
  return switches;
}

}  // namespace

nlohmann::json topology_json(const Topology& topology) {
  nlohmann::json nic_of_gpu = nlohmann::json::object();
  for (std::size_t gpu = 0; gpu < topology.gpus.size(); ++gpu)
    nic_of_gpu[std::to_string(gpu)] = topology.gpus[gpu].nics;
  std::set<std::int32_t> rails;
  for (const Nic& nic : topology.nics) rails.insert(nic.rail);
  nlohmann::json constants = nlohmann::json::array();
  for (const SourcedConstant& constant : topology.constants)
    constants.push_back({{"name", constant.name},
                         {"value", constant.value},
                         {"source", constant.source},
                         {"verified", !constant.source.starts_with("unverified")}});
  return {{"name", topology.name},
          {"nodes", topology.nodes.size()},
          {"gpus", topology.gpus.size()},
          {"nvlink_domains", domains_json(topology)},
          {"nics", nics_json(topology)},
          {"nic_of_gpu", std::move(nic_of_gpu)},
          {"rails", rails.size()},
          {"switches", switches_json(topology)},
          {"published_switches", topology.published_switches.tiers},
          {"fabric", topology.fabric_kind},
          {"constants", std::move(constants)},
          {"ignored", nlohmann::json::array()},
          {"asked", nlohmann::json::array()}};
}

}  // namespace transload
