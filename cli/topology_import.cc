#include "cli/topology_import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>

#include "cli/files.h"
#include "common/units.h"
#include "topologies/import/write.h"

namespace transload {
namespace {

struct Arguments {
  std::vector<std::string> files;
  std::vector<std::string> answers;
  std::optional<std::string> output;
};

nlohmann::json known_or_null(std::int64_t value, std::int64_t unknown) {
  return value == unknown ? nlohmann::json(nullptr) : nlohmann::json(value);
}

// Lists of GPUs, or of hosts where the files do not say what is in them.
nlohmann::json domains_of(const ImportedCluster& cluster) {
  std::map<std::string, nlohmann::json> hosts;
  if (cluster.fabric)
    for (const ImportedHost& host : cluster.fabric->hosts)
      if (!host.nvlink_domain.empty()) hosts[host.nvlink_domain].push_back(host.name);
  nlohmann::json domains = nlohmann::json::array();
  for (const auto& [name, members] : hosts) domains.push_back({{"name", name}, {"hosts", members}});
  if (!domains.empty() || !cluster.node) return domains;
  std::map<std::int32_t, nlohmann::json> islands;
  for (std::size_t gpu = 0; gpu < cluster.node->gpus.size(); ++gpu)
    if (cluster.node->gpus[gpu].nvlink_island != kUnknown)
      islands[cluster.node->gpus[gpu].nvlink_island].push_back(gpu);
  for (const auto& [number, gpus] : islands) domains.push_back({{"gpus", gpus}});
  return domains;
}

nlohmann::json nics_of(const ImportedCluster& cluster) {
  nlohmann::json nics = nlohmann::json::array();
  if (cluster.node) {
    for (const ImportedNic& nic : cluster.node->nics)
      nics.push_back({{"name", nic.name},
                      {"numa", known_or_null(nic.numa, kUnknown)},
                      {"rate", known_or_null(nic.rate, 0)}});
    return nics;
  }
  if (cluster.fabric)
    for (const ImportedHost& host : cluster.fabric->hosts)
      for (const ImportedPort& port : host.ports)
        if (!port.nic.empty())
          nics.push_back({{"name", host.name + "." + port.nic},
                          {"numa", nullptr},
                          {"rate", known_or_null(port.rate, 0)}});
  return nics;
}

// NICs of one rail hang at one leaf in a fabric that says so; in a node every used NIC is one.
nlohmann::json rails_of(const ImportedCluster& cluster) {
  if (cluster.fabric) {
    std::set<std::string> rails;
    for (const ImportedHost& host : cluster.fabric->hosts)
      for (const ImportedPort& port : host.ports)
        if (!port.nic.empty()) rails.insert(port.nic);
    if (!rails.empty()) return rails.size();
  }
  if (!cluster.node) return nullptr;
  std::set<std::int32_t> used;
  for (const auto& nics : cluster.nics_of_gpu) used.insert(nics.begin(), nics.end());
  return used.empty() ? nlohmann::json(nullptr) : nlohmann::json(used.size());
}

nlohmann::json report(const ImportedCluster& cluster, const ImportAnswers& answers) {
  nlohmann::json nic_of_gpu = nlohmann::json::object();
  for (std::size_t gpu = 0; gpu < cluster.nics_of_gpu.size(); ++gpu) {
    nlohmann::json names = nlohmann::json::array();
    for (std::int32_t nic : cluster.nics_of_gpu[gpu])
      names.push_back(cluster.node->nics[static_cast<std::size_t>(nic)].name);
    nic_of_gpu[std::to_string(gpu)] = std::move(names);
  }
  nlohmann::json tiers = nlohmann::json::object();
  if (cluster.fabric)
    for (const ImportedSwitch& at : cluster.fabric->switches) {
      nlohmann::json& count = tiers[std::to_string(at.tier)];
      count = count.is_null() ? 1 : count.get<int>() + 1;
    }
  nlohmann::json measured = nlohmann::json::array();
  for (const ImportedMeasurement& each : cluster.measurements)
    measured.push_back(
        {{"link", each.link},
         {"rate", known_or_null(each.rate, 0)},
         {"latency_s", each.latency_ps == 0 ? nlohmann::json(nullptr)
                                            : nlohmann::json(to_seconds(each.latency_ps))},
         {"what", each.what}});
  const std::int64_t hosts = cluster.fabric
                                 ? static_cast<std::int64_t>(cluster.fabric->hosts.size())
                                 : std::max<std::int64_t>(answers.nodes, cluster.node ? 1 : 0);
  const std::int64_t gpus =
      cluster.node ? static_cast<std::int64_t>(cluster.node->gpus.size()) : answers.gpus;
  return {{"kinds", cluster.kinds},
          {"nodes", hosts},
          {"gpus", known_or_null(gpus * hosts, 0)},
          {"nvlink_domains", domains_of(cluster)},
          {"nics", nics_of(cluster)},
          {"nic_of_gpu", std::move(nic_of_gpu)},
          {"rails", rails_of(cluster)},
          {"switches", cluster.fabric ? cluster.fabric->switches.size() : 0},
          {"switch_tiers", std::move(tiers)},
          {"pcie_switches", cluster.node ? cluster.node->pcie_switches : 0},
          {"measured", std::move(measured)},
          {"ignored", cluster.ignored},
          {"warnings", cluster.warnings},
          {"asked", cluster.asked},
          {"missing", missing_answers(cluster, answers)}};
}

std::string stated_count(const nlohmann::json& value, const char* noun) {
  if (value.is_null()) return fmt::format("{}s: not stated", noun);
  return fmt::format("{} {}{}", value.get<std::int64_t>(), noun,
                     value.get<std::int64_t>() == 1 ? "" : "s");
}

void print_report(Session& session, const nlohmann::json& json) {
  session.out << fmt::format("{}: {}, {}, {} NVLink domains, {} NICs, {}, {} switches\n",
                             fmt::join(json["kinds"].get<std::vector<std::string>>(), " + "),
                             stated_count(json["nodes"], "node"), stated_count(json["gpus"], "GPU"),
                             json["nvlink_domains"].size(), json["nics"].size(),
                             stated_count(json["rails"], "rail"), json["switches"].get<int>());
  for (const auto& [gpu, nics] : json["nic_of_gpu"].items())
    session.out << fmt::format(
        "  GPU {} uses {}\n", gpu,
        nics.empty() ? "no NIC that is known"
                     : fmt::format("{}", fmt::join(nics.get<std::vector<std::string>>(), ", ")));
  for (const auto& each : json["measured"])
    session.out << "  measured: " << each["what"].get<std::string>() << '\n';
  for (const char* kind : {"warnings", "ignored", "asked", "missing"})
    for (const auto& sentence : json[kind])
      session.out << fmt::format("  {}: {}\n", kind, sentence.get<std::string>());
}

int import_topology(Session& session, const Arguments& arguments) {
  const ImportAnswers answers = read_answers(arguments.answers);
  if (arguments.output) require_writable(*arguments.output, "-o");
  const ImportedCluster cluster = assemble(arguments.files, answers);
  nlohmann::json json = report(cluster, answers);
  if (arguments.output) {
    const WrittenTopology written = write_topology(cluster, answers);
    for (const std::string& sentence : written.left_out) json["ignored"].push_back(sentence);
    write_text_file(written.yaml, *arguments.output);
    json["file"] = *arguments.output;
  }
  if (session.json) {
    print_json(session, json);
    return kDone;
  }
  print_report(session, json);
  if (arguments.output)
    session.out << "topology written to " << *arguments.output << '\n';
  else if (json["missing"].empty())
    session.out << "  complete: -o FILE writes it\n";
  return kDone;
}

}  // namespace

void add_topology_import(CLI::App& topology, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(
      topology, session, "import",
      "NCCL or hwloc XML, nvidia-smi topo -m, Slurm topology.conf, ibnetdiscover, topograph, and "
      "logs of nccl-tests, nvbandwidth, ib_write_lat; a node, a fabric and logs together",
      "topology import examples/import/topo-m.txt --set gpu=h100 --set nic=400Gb/s");
  command->add_option("FILES", arguments->files, "Files about one cluster")->required();
  command->add_option("--set", arguments->answers,
                      "key=value for what the files do not say (docs/topologies.md)");
  command->add_option("-o", arguments->output, "Topology file to write");
  on_chosen(command, session,
            [arguments, &session] { return import_topology(session, *arguments); });
}

}  // namespace transload
