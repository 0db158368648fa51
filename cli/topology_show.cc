#include "cli/topology_show.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/files.h"
#include "cli/table.h"
#include "cli/topology_json.h"
#include "common/units.h"
#include "common/yaml.h"
#include "planner/schedule/render/dot_program.h"
#include "topologies/describe.h"
#include "topologies/library.h"
#include "topologies/loader.h"
#include "topologies/paths.h"
#include "topologies/picture.h"

namespace transload {
namespace {

using Arguments = TopologyShowArguments;

// Library entries are generators; for a look at one, what it must be told (how many nodes) is 1.
std::vector<std::string> missing_parameters(const std::string& name, const YAML::Node& given) {
  const auto path = find_library_file(name);
  if (!path) return {};
  std::vector<std::string> missing;
  const YamlValue file = YamlValue::from_file(*path);
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

std::string picture(const Topology& topology, const std::string& format) {
  const std::string dot = topology_dot(topology);
  if (format == "dot") return dot;
  return render::run_dot(dot, {"-T" + format});
}

// As asked, else by the ending of the file.
std::string picture_format(const Arguments& arguments) {
  const std::string format = arguments.format
                                 ? *arguments.format
                                 : std::filesystem::path(arguments.output.value_or(".svg"))
                                       .extension()
                                       .string()
                                       .erase(0, 1);
  for (const char* known : {"dot", "svg", "png"})
    if (format == known) return format;
  throw InputError("--format: expected dot, svg or png, found " + format);
}

int draw_topology(Session& session, const Topology& topology, const Arguments& arguments) {
  const std::string format = picture_format(arguments);
  if (!arguments.output && format == "png")
    throw InputError("-o: expected the file to write; only text goes to the terminal");
  if (arguments.output) require_writable(*arguments.output, "-o");
  const std::string text = picture(topology, format);
  nlohmann::json json = {{"format", format}};
  if (arguments.output) {
    write_text_file(text, *arguments.output);
    json["file"] = *arguments.output;
    if (!session.json) session.out << "picture written to " << *arguments.output << '\n';
  } else {
    json[format] = text;
    if (!session.json) session.out << text;
  }
  if (session.json) print_json(session, json);
  return kDone;
}

// "gpu3:node0" is GPU 3 of that node, "gpu11" or "11" a device.
std::int32_t device_called(const Topology& topology, const std::string& word) {
  const std::size_t colon = word.find(':');
  const std::string number =
      word.substr(word.starts_with("gpu") ? 3 : 0, colon == std::string::npos ? colon
                                                   : word.starts_with("gpu")  ? colon - 3
                                                                              : colon);
  std::int32_t gpu = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), gpu);
  if (error != std::errc() || end != number.data() + number.size() || gpu < 0)
    throw InputError("--path: expected gpu3:node0 or the number of a GPU, found " + word);
  if (colon == std::string::npos) return gpu;
  const std::string name = word.substr(colon + 1);
  for (const Node& node : topology.nodes) {
    if (node.name != name) continue;
    if (gpu >= node.gpu_count)
      throw InputError(
          fmt::format("--path: {} has GPUs 0 to {}, found {}", name, node.gpu_count - 1, word));
    return node.first_gpu + gpu;
  }
  throw InputError(fmt::format("--path: no node is called {}; they are called {} to {}", name,
                               topology.nodes.front().name, topology.nodes.back().name));
}

int show_path(Session& session, const Topology& topology, const std::vector<std::string>& ends) {
  if (ends.size() != 2)
    throw InputError("--path: expected two GPUs, such as gpu3:node0 gpu5:node7");
  const std::int32_t from = device_called(topology, ends[0]);
  const std::int32_t to = device_called(topology, ends[1]);
  const std::vector<GpuPath> paths = gpu_paths(topology, from, to);
  nlohmann::json rows = nlohmann::json::array();
  for (const GpuPath& path : paths)
    rows.push_back({{"path", path_text(topology, from, to, path)},
                    {"rate", path.rate},
                    {"latency_s", to_seconds(path.latency_ps)},
                    {"switches", path.kind == GpuPath::Kind::kNetwork
                                     ? path.network.up.size() + path.network.down.size() + 1
                                     : 0}});
  if (session.json) {
    print_json(session, {{"from", from}, {"to", to}, {"paths", std::move(rows)}});
    return kDone;
  }
  for (std::size_t i = 0; i < paths.size(); ++i)
    session.out << fmt::format(
        "{}{}\n  {}, latency {}\n", i == 0 ? "" : "or: ", path_text(topology, from, to, paths[i]),
        paths[i].rate > 0 ? format_rate(static_cast<double>(paths[i].rate)) : "costs no time",
        format_seconds(to_seconds(paths[i].latency_ps)));
  if (paths.empty())
    session.out << fmt::format(
        "no way: no switch joins a NIC of gpu{} or of its NVLink neighbours to one of gpu{} or of "
        "its neighbours\n",
        from, to);
  return kDone;
}

// Plain text for a person, JSON for a program.
int print_topology(Session& session, const Topology& topology) {
  if (session.json) {
    print_json(session, topology_json(topology));
    return kDone;
  }
  session.out << describe_topology(topology);
  Table table({"constant", "value", "source"}, {Align::kLeft, Align::kLeft, Align::kLeft});
  std::size_t unverified = 0;
  for (const SourcedConstant& constant : topology.constants) {
    table.add({constant.name, constant.value, constant.source});
    if (constant.source.starts_with("unverified")) ++unverified;
  }
  if (!table.empty()) session.out << '\n' << table.text();
  if (unverified > 0)
    session.out << fmt::format("\n{} of {} figures are unverified: no primary source is known\n",
                               unverified, topology.constants.size());
  return kDone;
}

// GPUs of one number reach each other: over NVLink, or from one of their networks to the other.
std::vector<std::int32_t> reachable_groups(const Topology& topology) {
  std::vector<std::int32_t> group_of_root(topology.switches.size());
  for (std::size_t i = 0; i < group_of_root.size(); ++i)
    group_of_root[i] = static_cast<std::int32_t>(i);
  const auto find = [&](std::int32_t at) {
    while (group_of_root[static_cast<std::size_t>(at)] != at)
      at = group_of_root[static_cast<std::size_t>(at)];
    return at;
  };
  const auto join = [&](std::int32_t a, std::int32_t b) {
    a = find(a);
    b = find(b);
    group_of_root[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
  };
  for (const WanLink& link : topology.wan_links)
    for (std::size_t a = 0; a < topology.switches.size(); ++a)
      for (std::size_t b = 0; b < topology.switches.size(); ++b)
        if (topology.switches[a].gateway && topology.switches[b].gateway &&
            topology.switches[a].site == link.site_a && topology.switches[b].site == link.site_b)
          join(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b));
  // A domain's GPUs reach every network that one of them is on.
  std::vector<std::int32_t> of_domain(static_cast<std::size_t>(topology.domain_count), -1);
  for (const Gpu& gpu : topology.gpus)
    for (std::int32_t nic : gpu.nics) {
      const std::int32_t root =
          find(switches_above(topology, topology.nics[static_cast<std::size_t>(nic)].leaf).back());
      std::int32_t& known = of_domain[static_cast<std::size_t>(gpu.domain)];
      if (known < 0)
        known = root;
      else
        join(known, root);
    }
  std::vector<std::int32_t> groups;
  for (const Gpu& gpu : topology.gpus)
    groups.push_back(find(of_domain[static_cast<std::size_t>(gpu.domain)]));
  return groups;
}

std::vector<std::string> topology_remarks(const Topology& topology) {
  std::vector<std::string> remarks;
  std::vector<bool> used(topology.nics.size(), false);
  for (const Gpu& gpu : topology.gpus)
    for (std::int32_t nic : gpu.nics) used[static_cast<std::size_t>(nic)] = true;
  const auto idle = std::count(used.begin(), used.end(), false);
  if (idle > 0) remarks.push_back(fmt::format("{} NICs are used by no GPU", idle));
  std::int64_t crossing = 0;
  for (std::size_t gpu = 0; gpu < topology.gpus.size(); ++gpu)
    for (std::int32_t nic : topology.gpus[gpu].nics)
      crossing += crosses_pcie(topology, static_cast<std::int32_t>(gpu), nic) ? 1 : 0;
  if (crossing > 0)
    remarks.push_back(
        fmt::format("{} times a GPU uses a NIC that hangs at another PCIe switch", crossing));
  for (const GpuModel& model : topology.gpu_models)
    if (model.hbm_rate == 0)
      remarks.push_back("a group of nodes states no gpu: its copies cost no time");
  return remarks;
}

}  // namespace

int show_topology(Session& session, const Arguments& arguments) {
  const Topology topology = topology_called(session, arguments);
  if (!arguments.path.empty()) return show_path(session, topology, arguments.path);
  if (arguments.format || arguments.output) return draw_topology(session, topology, arguments);
  return print_topology(session, topology);
}

int check_topology(Session& session, const Arguments& arguments) {
  const Topology topology = topology_called(session, arguments);
  const std::vector<std::int32_t> groups = reachable_groups(topology);
  std::vector<std::string> problems;
  for (std::size_t gpu = 1; gpu < groups.size(); ++gpu)
    if (groups[gpu] != groups[0]) {
      problems.push_back(fmt::format(
          "gpu0 and gpu{} cannot reach each other: no switch or link between sites joins a NIC of "
          "the one, or of its NVLink domain, to one of the other",
          gpu));
      break;
    }
  const std::vector<std::string> remarks = topology_remarks(topology);
  if (session.json) {
    print_json(session, {{"ok", problems.empty()}, {"violations", problems}, {"remarks", remarks}});
  } else {
    session.out << describe_topology(topology);
    for (const std::string& remark : remarks) session.out << "remark: " << remark << '\n';
    for (const std::string& problem : problems) session.out << "problem: " << problem << '\n';
    if (problems.empty()) session.out << "ok: every GPU reaches every other\n";
  }
  return problems.empty() ? kDone : kCheckFailed;
}

}  // namespace transload
