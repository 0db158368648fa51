// transload topology: the library of clusters, importers, and what each consists of.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/topology_import.h"
#include "cli/topology_show.h"
#include "topologies/loader.h"

namespace transload {
namespace {

int list_topologies(Session& session) {
  const std::vector<std::string> names = topology_library();
  if (session.json) {
    print_json(session, {{"topologies", names}});
    return kDone;
  }
  for (const std::string& name : names) session.out << name << '\n';
  return kDone;
}

void add_topology_show(CLI::App& topology, Session& session) {
  auto arguments = std::make_shared<TopologyShowArguments>();
  CLI::App* show = add_command(topology, session, "show",
                               "GPUs, NVLink domains, NICs and every constant with its source",
                               "topology show dgx-h100 nodes=2 --path gpu0:node0 gpu5:node1");
  show->add_option("NAME", arguments->name, "Name in the library, or a topology file")->required();
  show->add_option("PARAMETERS", arguments->parameters, "key=value, such as nodes=4");
  show->add_option("--path", arguments->path, "The ways between two GPUs: gpu3:node0 gpu5:node7")
      ->expected(2);
  show->add_option("--format", arguments->format, "A picture: dot, svg or png");
  show->add_option("-o", arguments->output, "File for the picture");
  on_chosen(show, session, [arguments, &session] { return show_topology(session, *arguments); });
}

void add_topology_check(CLI::App& topology, Session& session) {
  auto arguments = std::make_shared<TopologyShowArguments>();
  CLI::App* check =
      add_command(topology, session, "check",
                  "Reads a topology file and says what is wrong or odd about the cluster",
                  "topology check examples/my-cluster.yaml");
  check->add_option("FILE", arguments->name, "Topology file, or a name in the library")->required();
  check->add_option("PARAMETERS", arguments->parameters, "key=value, such as nodes=4");
  on_chosen(check, session, [arguments, &session] { return check_topology(session, *arguments); });
}

}  // namespace

void add_topology(CLI::App& program, Session& session) {
  CLI::App* topology =
      program.add_subcommand("topology", "The library of clusters, and importers of yours");
  topology->require_subcommand(1);
  topology->footer("Example:\n  transload topology list");
  CLI::App* list = add_command(*topology, session, "list", "Names", "topology list");
  on_chosen(list, session, [&session] { return list_topologies(session); });
  add_topology_show(*topology, session);
  add_topology_check(*topology, session);
  add_topology_import(*topology, session);
}

}  // namespace transload
