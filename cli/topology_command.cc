// transload topology: the library of clusters and what each consists of.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "cli/commands.h"
#include "cli/table.h"
#include "common/yaml.h"
#include "topologies/describe.h"
#include "topologies/library.h"
#include "topologies/loader.h"

namespace transload {
namespace {

struct Arguments {
  std::string name;
  std::vector<std::string> parameters;
};

// Library entries are generators; for a look at one, what it must be told (how many nodes) is 1.
std::vector<std::string> missing_parameters(const std::string& name, const YAML::Node& given) {
  const std::vector<std::string> library = topology_library();
  if (std::find(library.begin(), library.end(), name) == library.end()) return {};
  std::vector<std::string> missing;
  const YamlValue file = YamlValue::from_file(topology_library_folder() + "/" + name + ".yaml");
  for (const auto& [key, parameter] : file.map().required("parameters").map().entries())
    if (!parameter.map().has("default") && !given[key]) missing.push_back(key);
  return missing;
}

Topology topology_called(Session& session, const Arguments& arguments) {
  YAML::Node request;
  request["name"] = arguments.name;
  for (const std::string& parameter : arguments.parameters) {
    const std::size_t equals = parameter.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == parameter.size())
      throw InputError("expected parameters as key=value, such as nodes=4, found " + parameter);
    const std::string key = parameter.substr(0, equals);
    if (request[key]) throw InputError("topology." + key + ": given twice");
    const std::string text = parameter.substr(equals + 1);
    const bool nested = text.starts_with("{") || text.starts_with("[");
    request[key] = nested ? YamlValue::from_text(text, parameter).node() : YAML::Node(text);
  }
  for (const std::string& key : missing_parameters(arguments.name, request)) {
    request[key] = "1";
    warn(session, "shown with " + key + "=1; " + arguments.name + " takes any other");
  }
  return load_topology(YamlValue(request, std::make_shared<const std::string>(), "topology"), "");
}

nlohmann::json topology_json(const Topology& topology) {
  nlohmann::json domains = nlohmann::json::array();
  for (std::int32_t d = 0; d < topology.domain_count; ++d)
    domains.push_back({{"gpus", nlohmann::json::array()}});
  nlohmann::json nic_of_gpu = nlohmann::json::object();
  for (std::size_t gpu = 0; gpu < topology.gpus.size(); ++gpu) {
    domains[static_cast<std::size_t>(topology.gpus[gpu].domain)]["gpus"].push_back(gpu);
    nic_of_gpu[std::to_string(gpu)] = topology.gpus[gpu].nics;
  }
  nlohmann::json nics = nlohmann::json::array();
  std::set<std::int32_t> rails;
  for (const Nic& nic : topology.nics) {
    nics.push_back({{"name", nic.name},
                    {"numa", nullptr},
                    {"rate", nic.rate},
                    {"node", nic.node},
                    {"rail", nic.rail}});
    rails.insert(nic.rail);
  }
  nlohmann::json constants = nlohmann::json::array();
  for (const SourcedConstant& constant : topology.constants)
    constants.push_back(
        {{"name", constant.name}, {"value", constant.value}, {"source", constant.source}});
  return {{"name", topology.name},
          {"nodes", topology.nodes.size()},
          {"gpus", topology.gpus.size()},
          {"nvlink_domains", std::move(domains)},
          {"nics", std::move(nics)},
          {"nic_of_gpu", std::move(nic_of_gpu)},
          {"rails", rails.size()},
          {"switches", nullptr},  // fabrics are non-blocking: none is modelled
          {"fabric", topology.fabric_kind},
          {"constants", std::move(constants)},
          {"ignored", nlohmann::json::array()},
          {"asked", nlohmann::json::array()}};
}

int show_topology(Session& session, const Arguments& arguments) {
  const Topology topology = topology_called(session, arguments);
  if (session.json) {
    print_json(session, topology_json(topology));
    return kDone;
  }
  session.out << describe_topology(topology);
  Table table({"constant", "value", "source"}, {Align::kLeft, Align::kLeft, Align::kLeft});
  for (const SourcedConstant& constant : topology.constants)
    table.add({constant.name, constant.value, constant.source});
  if (!table.empty()) session.out << '\n' << table.text();
  return kDone;
}

int list_topologies(Session& session) {
  const std::vector<std::string> names = topology_library();
  if (session.json) {
    print_json(session, {{"topologies", names}});
    return kDone;
  }
  for (const std::string& name : names) session.out << name << '\n';
  return kDone;
}

}  // namespace

void add_topology(CLI::App& program, Session& session) {
  CLI::App* topology = program.add_subcommand("topology", "The library of clusters");
  topology->require_subcommand(1);
  topology->footer("Example:\n  transload topology list");
  CLI::App* list = add_command(*topology, session, "list", "Names", "topology list");
  on_chosen(list, session, [&session] { return list_topologies(session); });

  auto arguments = std::make_shared<Arguments>();
  CLI::App* show = add_command(*topology, session, "show",
                               "GPUs, NVLink domains, NICs and every constant with its source",
                               "topology show dgx-h100 nodes=2");
  show->add_option("NAME", arguments->name, "Name in the library, or a topology file")->required();
  show->add_option("PARAMETERS", arguments->parameters, "key=value, such as nodes=4");
  on_chosen(show, session, [arguments, &session] { return show_topology(session, *arguments); });
}

}  // namespace transload
