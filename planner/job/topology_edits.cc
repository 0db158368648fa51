#include "planner/job/topology_edits.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <optional>

#include "common/error.h"
#include "topologies/library.h"
#include "topologies/loader.h"

namespace transload {
namespace {

namespace fs = std::filesystem;

std::string rate_words(std::int64_t rate) {
  constexpr std::int64_t kGiga = 1'000'000'000;
  return rate % kGiga == 0 ? fmt::format("{}GB/s", rate / kGiga) : fmt::format("{}B/s", rate);
}

YamlValue value_of(const YAML::Node& node) {
  return {node, std::make_shared<const std::string>("topology"), "topology"};
}

// `50GB/s`, or the same inside {value, source}.
std::int64_t stated_rate(const YAML::Node& node) {
  return value_of(node.IsMap() ? node["value"] : node).rate();
}

std::int64_t stated_count(const YAML::Node& node) {
  return value_of(node.IsMap() ? node["value"] : node).integer_in(1, 1 << 20);
}

// The file that a topology names, if it names one and that is no library entry.
std::optional<YAML::Node> explicit_file(const std::string& name, const std::string& base_folder) {
  std::error_code ignored;
  for (const fs::path& path : {fs::path(base_folder) / name, fs::path(name)}) {
    if (!fs::is_regular_file(path, ignored)) continue;
    const YamlValue file = YamlValue::from_file(path.string());
    if (is_library_entry(file)) return std::nullopt;
    return file.node();
  }
  return std::nullopt;
}

// The entry behind a name, library or file.
YAML::Node entry_file(const std::string& name, const std::string& base_folder) {
  std::error_code ignored;
  for (const fs::path& path :
       {fs::path(base_folder) / name, fs::path(name),
        fs::path(fmt::format("{}/{}.yaml", topology_library_folder(), name))})
    if (fs::is_regular_file(path, ignored) && path.extension() == ".yaml")
      return YAML::LoadFile(path.string());
  throw InputError("there is no topology " + name);
}

// Puts parameters in their places. A parameter without a value makes its key go away.
YAML::Node filled_in(const YAML::Node& node, const YAML::Node& values) {
  if (node.IsScalar() && node.Scalar().starts_with("$")) {
    const YAML::Node value = values[node.Scalar().substr(1)];
    return value && !value.IsNull() ? YAML::Clone(value) : YAML::Node();
  }
  if (node.IsMap()) {
    YAML::Node map(YAML::NodeType::Map);
    for (const auto& item : node) {
      const YAML::Node value = filled_in(item.second, values);
      if (value.IsDefined() && !value.IsNull()) map[item.first.Scalar()] = value;
    }
    return map;
  }
  if (node.IsSequence()) {
    YAML::Node list(YAML::NodeType::Sequence);
    for (const auto& item : node) list.push_back(filled_in(item, values));
    return list;
  }
  return YAML::Clone(node);
}

// A library entry as the node groups that it stands for.
YAML::Node written_out(const YAML::Node& request, const std::string& base_folder) {
  YAML::Node entry = entry_file(request["name"].Scalar(), base_folder);
  YAML::Node values(YAML::NodeType::Map);
  for (const auto& parameter : entry["parameters"])
    if (parameter.second["default"]) values[parameter.first.Scalar()] = parameter.second["default"];
  for (const auto& given : request) values[given.first.Scalar()] = given.second;
  entry.remove("parameters");
  YAML::Node result = filled_in(entry, values);
  // What every entry takes beside its parameters goes over its own.
  for (const char* key : {"efficiency", "latency", "rate_scale"}) {
    if (!request[key]) continue;
    if (result[key] && result[key].IsMap() && request[key].IsMap())
      for (const auto& item : request[key]) result[key][item.first.Scalar()] = item.second;
    else
      result[key] = request[key];
  }
  if (request["site"])
    for (YAML::Node group : result["nodes"])
      if (!group["site"]) group["site"] = request["site"];
  return result;
}

// ---- the changes, on one node group and on a library entry's parameters ----

void one_more_nic(YAML::Node group) {
  if (group["nics"]) throw InputError("its file lists every NIC by name; add them there");
  if (group["gpus_per_nic"] && stated_count(group["gpus_per_nic"]) > 1) {
    group["gpus_per_nic"] = 1;
    return;
  }
  const std::int64_t now = group["nics_per_gpu"] ? stated_count(group["nics_per_gpu"]) : 1;
  group["nics_per_gpu"] = now + 1;
}

void twice_nic_rate(YAML::Node group) {
  if (group["nic"]) group["nic"] = rate_words(2 * stated_rate(group["nic"]));
  if (group["nics"])
    for (YAML::Node nic : group["nics"])
      if (nic["rate"]) nic["rate"] = rate_words(2 * stated_rate(nic["rate"]));
}

void twice_nvlink_domain(YAML::Node group, std::size_t number) {
  if (!group["nvlink"]) throw InputError("its nodes have no NVLink");
  if (group["nvlink_islands"]) throw InputError("its nodes have several NVLink islands");
  if (group["name"]) throw InputError("its nodes have names of their own");
  const std::int64_t count = group["count"] ? stated_count(group["count"]) : 1;
  const std::int64_t blocks = group["blocks"] ? stated_count(group["blocks"]) : 1;
  if (group["nvlink_domain"]) {
    if (blocks % 2 != 0)
      throw InputError(fmt::format("its {} NVLink domains do not pair up", blocks));
    group["blocks"] = blocks / 2;
    group["count"] = count * 2;
    return;
  }
  if (count % 2 != 0) throw InputError(fmt::format("its {} nodes do not pair up", count));
  if (blocks > 1) throw InputError("its blocks are no NVLink domains");
  group["blocks"] = count / 2;
  group["count"] = 2;
  group["nvlink_domain"] = fmt::format("pair{}-", number);
}

void change_groups(YAML::Node part, ClusterChange change) {
  if (!part["nodes"] || !part["nodes"].IsSequence())
    throw InputError("its nodes are not written as groups");
  std::size_t number = 0;
  for (YAML::Node group : part["nodes"]) {
    if (change == ClusterChange::kOneMoreNic) one_more_nic(group);
    if (change == ClusterChange::kTwiceNicRate) twice_nic_rate(group);
    if (change == ClusterChange::kTwiceNvlinkDomain) twice_nvlink_domain(group, number++);
  }
}

// The value of an entry's parameter: as asked for, else its default.
YAML::Node parameter_of(const YAML::Node& request, const std::string& key,
                        const std::string& base_folder) {
  if (request[key]) return request[key];
  const YAML::Node entry = entry_file(request["name"].Scalar(), base_folder);
  const YAML::Node parameter = entry["parameters"][key];
  if (!parameter || !parameter["default"] || parameter["default"].IsNull())
    throw InputError(
        fmt::format("{} has no parameter {} with a default", request["name"].Scalar(), key));
  return parameter["default"];
}

void set_flow_style(YAML::Node node) {
  if (node.IsMap() || node.IsSequence()) node.SetStyle(YAML::EmitterStyle::Flow);
  if (node.IsMap())
    for (const auto& item : node) set_flow_style(item.second);
  if (node.IsSequence())
    for (const auto& item : node) set_flow_style(item);
}

// One line, of a node that nobody else holds.
std::string text_of(const YAML::Node& node) {
  set_flow_style(node);
  YAML::Emitter out;
  out << node;
  return out.c_str();
}

class TopologyEditor {
 public:
  TopologyEditor(const std::string& base_folder, ClusterChange change)
      : base_folder_(base_folder), change_(change) {}

  void edit(const YAML::Node& part, const std::string& path) {
    if (part.IsSequence()) {
      for (std::size_t i = 0; i < part.size(); ++i)
        if (!part[i].IsMap() || part[i]["name"] || part[i]["nodes"])
          edit(part[i], fmt::format("{}[{}]", path, i));
      return;
    }
    YAML::Node request = part.IsScalar() ? YAML::Node(YAML::NodeType::Map) : YAML::Clone(part);
    if (part.IsScalar()) request["name"] = part.Scalar();
    if (!request["name"]) return edit_groups(part, path);
    if (const auto file = explicit_file(request["name"].Scalar(), base_folder_)) {
      YAML::Node whole = YAML::Clone(*file);
      change_groups(whole, change_);
      edits_.push_back({path, text_of(whole)});
      return;
    }
    edit_entry(request, path, part.IsScalar());
  }

  std::vector<JobEdit> take() { return std::move(edits_); }

 private:
  void edit_groups(const YAML::Node& part, const std::string& path) {
    YAML::Node whole = YAML::Clone(part);
    change_groups(whole, change_);
    edits_.push_back({path + ".nodes", text_of(whole["nodes"])});
  }

  void edit_entry(YAML::Node request, const std::string& path, bool was_scalar) {
    if (change_ == ClusterChange::kTwiceNvlinkDomain) {
      YAML::Node whole = written_out(request, base_folder_);
      change_groups(whole, change_);
      edits_.push_back({path, text_of(whole)});
      return;
    }
    if (was_scalar) edits_.push_back({path, text_of(request)});
    if (change_ == ClusterChange::kOneMoreNic) {
      const std::int64_t now = stated_count(parameter_of(request, "nics_per_gpu", base_folder_));
      edits_.push_back({path + ".nics_per_gpu", std::to_string(now + 1)});
    } else {
      const std::int64_t now = stated_rate(parameter_of(request, "nic", base_folder_));
      edits_.push_back({path + ".nic", rate_words(2 * now)});
    }
  }

  const std::string& base_folder_;
  ClusterChange change_;
  std::vector<JobEdit> edits_;
};

}  // namespace

std::vector<JobEdit> topology_edits(const std::string& text, const std::string& base_folder,
                                    ClusterChange change) {
  const auto topology = value_at(text, "topology", "job");
  if (!topology) throw InputError("the job has no topology");
  TopologyEditor editor(base_folder, change);
  editor.edit(topology->node(), "topology");
  return editor.take();
}

}  // namespace transload
