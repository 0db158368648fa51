#include "topologies/node_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "common/units.h"
#include "topologies/gpu_catalogue.h"
#include "topologies/import/hostlist.h"

namespace transload {
namespace {

constexpr std::int64_t kMaxNicsPerGpu = 64;
// 1 PB/s: a hundred times any port there is, and still far from overflow when rates are added up.
constexpr double kMaxRate = 1e15;

class NodeForm {
 public:
  NodeForm(const YamlValue& value, const std::string& prefix, NodeReading& reading)
      : map_(value.map()), prefix_(prefix), reading_(reading), costs_(reading.costs) {
    // Known before the first is read: a misspelt key is then reported as such, and not as the
    // absence of the key that was meant.
    for (const char* key :
         {"blocks", "count", "name", "site", "gpus", "gpu", "nvlink", "nvlink_domain",
          "nvlink_islands", "nvlink_health", "nics_per_gpu", "gpus_per_nic", "nic", "nics", "numa",
          "pcie", "host_memory", "efficiency", "latency"})
      map_.optional(key);
    map_.finish();
  }

  NodeGroup read() {
    const YamlValue gpus = map_.required("gpus");
    if (!map_.has("nics")) map_.required("nic");
    read_costs();
    group_.blocks = count("blocks", kMaxGpus);
    group_.gpus = count("gpus", kMaxGpus);
    read_names();
    group_.site = reading_.site;
    if (const auto site = get("site")) group_.site = site->value.text();
    read_nics(gpus);
    check_size(gpus);
    read_nvlink();
    read_islands();
    read_numa();
    read_pcie();
    if (const auto memory = get("host_memory")) {
      group_.host_memory_bytes = memory->value.bytes();
      record("host_memory", format_bytes(static_cast<double>(group_.host_memory_bytes)),
             memory->source);
    }
    group_.model = read_model();
    group_.nic_costs = index_of(costs_.nic);
    group_.nvlink_costs = index_of(costs_.nvlink);
    return std::move(group_);
  }

 private:
  std::optional<SourcedValue> get(const char* key) {
    return resolve_optional(map_.optional(key), reading_.parameters);
  }

  void record(const std::string& name, const std::string& value, const std::string& source) {
    reading_.topology.constants.push_back({prefix_ + "." + name, value, source});
  }

  void read_costs() {
    if (const auto efficiency = map_.optional("efficiency")) apply_efficiency(*efficiency, costs_);
    if (const auto latency = map_.optional("latency")) apply_latency(*latency, costs_);
    if (map_.has("efficiency") || map_.has("latency"))
      add_constants(costs_, prefix_ + ".", reading_.topology.constants);
  }

  std::int32_t index_of(const LinkCosts& costs) {
    auto& all = reading_.topology.link_costs;
    const auto found = std::find(all.begin(), all.end(), costs);
    if (found != all.end()) return static_cast<std::int32_t>(found - all.begin());
    all.push_back(costs);
    return static_cast<std::int32_t>(all.size()) - 1;
  }

  std::int64_t count(const char* key, std::int64_t max) {
    const auto value = get(key);
    if (!value) return 1;
    const std::int64_t number = value->value.integer_in(1, max);
    if (value->source != kStatedByUser) record(key, std::to_string(number), value->source);
    return number;
  }

  std::int64_t rate(const SourcedValue& written, const LinkCosts& costs, const std::string& name) {
    const std::int64_t line = written.value.rate();
    if (line == 0)
      written.value.fail(fmt::format("expected a rate above 0, found {}", written.value.text()));
    record(name, format_rate(static_cast<double>(line)), written.source);
    return scaled_rate(line, costs, prefix_ + "." + name, written.value, reading_);
  }

  void read_names() {
    const auto names = get("name");
    if (!names) {
      group_.count = count("count", kMaxGpus);
      return;
    }
    std::int64_t left = kMaxHostlistNames;
    for (const YamlValue& word :
         names->value.is_list() ? names->value.list() : std::vector<YamlValue>{names->value})
      for (std::string& name : expand_hostlist(word.text(), word.place(), left))
        group_.names.push_back(std::move(name));
    const auto named = static_cast<std::int64_t>(group_.names.size());
    group_.count = map_.has("count") ? count("count", kMaxGpus) : named / group_.blocks;
    if (group_.count * group_.blocks != named)
      names->value.fail(fmt::format("{} names for {} nodes", named, group_.count * group_.blocks));
  }

  void read_nics(const YamlValue& gpus) {
    const auto listed = map_.optional("nics");
    if (!listed) {
      const std::int64_t per_gpu = count("nics_per_gpu", kMaxNicsPerGpu);
      const std::int64_t sharing = count("gpus_per_nic", group_.gpus);
      if (per_gpu > 1 && sharing > 1)
        get("gpus_per_nic")
            ->value.fail(
                "a NIC for several GPUs and several NICs per GPU at once; expected one of the two, "
                "or "
                "`nics:` with the GPUs of each");
      check_count(per_gpu, resolve(gpus, reading_.parameters).value);
      const SourcedValue nic = resolve(map_.required("nic"), reading_.parameters);
      group_.nics = uniform_nics(group_.gpus, per_gpu, sharing, reading_.planes,
                                 rate(nic, costs_.nic, "nic"), nic.source);
      return;
    }
    for (const char* key : {"nic", "nics_per_gpu", "gpus_per_nic"})
      if (const auto other = map_.optional(key))
        other->fail("`nics:` lists every NIC of the node; leave this key out");
    std::set<std::string> names;
    for (const YamlValue& entry : listed->list()) {
      group_.nics.push_back(read_nic(entry));
      if (!names.insert(group_.nics.back().name).second)
        entry.fail(fmt::format("a NIC {} is there already", group_.nics.back().name));
    }
    refuse_gpus_without_nic(*listed);
  }

  // Before NICs are made: their number must not fill the memory.
  void check_count(std::int64_t nics_per_gpu, const YamlValue& place) const {
    if (group_.gpus * nics_per_gpu > kMaxNics)
      place.fail(
          fmt::format("{} NICs in all; expected at most {}", group_.gpus * nics_per_gpu, kMaxNics));
  }

  GroupNic read_nic(const YamlValue& entry) {
    YamlMap map = entry.map();
    for (const char* key : {"name", "rate", "rail", "plane", "numa", "gpus"}) map.optional(key);
    map.finish();
    const auto number = group_.nics.size();
    GroupNic nic;
    const auto name = map.optional("name");
    nic.name = name ? name->text() : fmt::format("nic{}", number);
    const SourcedValue line = resolve(map.required("rate"), reading_.parameters);
    nic.rate = rate(line, costs_.nic, fmt::format("nics[{}].rate", number));
    nic.source = line.source;
    nic.rail = static_cast<std::int32_t>(number);
    if (const auto rail = map.optional("rail"))
      nic.rail = static_cast<std::int32_t>(rail->integer_in(0, kMaxNics));
    if (const auto plane = map.optional("plane"))
      nic.plane = static_cast<std::int32_t>(plane->integer_in(0, reading_.planes - 1));
    if (const auto numa = map.optional("numa"))
      nic.numa = static_cast<std::int32_t>(numa->integer_in(0, kMaxNics));
    if (const auto gpus = map.optional("gpus"); gpus && !(gpus->is_list() && gpus->list().empty()))
      nic.gpus = gpus->index_list(group_.gpus - 1);
    return nic;
  }

  void refuse_gpus_without_nic(const YamlValue& listed) const {
    std::vector<bool> has(static_cast<std::size_t>(group_.gpus), false);
    for (const GroupNic& nic : group_.nics)
      for (std::int32_t gpu : nic.gpus) has[static_cast<std::size_t>(gpu)] = true;
    for (std::size_t gpu = 0; gpu < has.size(); ++gpu)
      if (!has[gpu]) listed.fail(fmt::format("no NIC has GPU {} among its `gpus:`", gpu));
  }

  void check_size(const YamlValue& gpus_at) {
    const YamlValue place =
        resolve(map_.has("count") ? *map_.optional("count") : gpus_at, reading_.parameters).value;
    const Topology& topology = reading_.topology;
    const std::int64_t nodes = group_.blocks * group_.count;
    const std::int64_t gpus = nodes > kMaxGpus ? nodes : nodes * group_.gpus;
    const std::int64_t all_gpus = static_cast<std::int64_t>(topology.gpus.size()) + gpus;
    if (all_gpus > kMaxGpus)
      place.fail(fmt::format("at least {} GPUs in all; expected at most {}", all_gpus, kMaxGpus));
    const std::int64_t all_nics = static_cast<std::int64_t>(topology.nics.size()) +
                                  nodes * static_cast<std::int64_t>(group_.nics.size());
    if (all_nics > kMaxNics)
      place.fail(fmt::format("{} NICs in all; expected at most {}", all_nics, kMaxNics));
  }

  void read_nvlink() {
    if (const auto nvlink = get("nvlink"); nvlink && nvlink->value.rate() > 0)
      group_.nvlink_rate = rate(*nvlink, costs_.nvlink, "nvlink");
    if (const auto health = get("nvlink_health")) {
      if (group_.nvlink_rate == 0) health->value.fail("the nodes have no nvlink");
      const std::int64_t ppm = read_efficiency_ppm(health->value);
      group_.nvlink_rate = std::max<std::int64_t>(1, achieved_rate(group_.nvlink_rate, ppm));
      record("nvlink_health", health->value.text(), health->source);
    }
    if (const auto domain = get("nvlink_domain")) {
      group_.domain = domain->value.text();
      if (group_.domain.empty())
        domain->value.fail("expected the name of an NVLink domain, found nothing");
      if (group_.nvlink_rate == 0)
        domain->value.fail("the nodes have no nvlink that could join them");
    }
  }

  // Lists of GPUs that cover all GPUs of the node once: the number of the list, by GPU.
  std::vector<std::int32_t> partition(const YamlValue& value, const char* what) const {
    std::vector<std::int32_t> part(static_cast<std::size_t>(group_.gpus), -1);
    const auto lists = value.list();
    for (std::size_t i = 0; i < lists.size(); ++i)
      for (std::int32_t gpu : lists[i].index_list(group_.gpus - 1)) {
        if (part[static_cast<std::size_t>(gpu)] >= 0)
          lists[i].fail(fmt::format("GPU {} stands in two {}", gpu, what));
        part[static_cast<std::size_t>(gpu)] = static_cast<std::int32_t>(i);
      }
    for (std::size_t gpu = 0; gpu < part.size(); ++gpu)
      if (part[gpu] < 0) value.fail(fmt::format("GPU {} stands in no {}", gpu, what));
    return part;
  }

  void read_islands() {
    const auto islands = get("nvlink_islands");
    if (!islands) return;
    if (group_.nvlink_rate == 0) islands->value.fail("the nodes have no nvlink");
    if (!group_.domain.empty())
      islands->value.fail("nvlink_domain joins whole nodes; expected one of the two keys");
    group_.island_of_gpu = partition(islands->value, "NVLink islands");
  }

  void read_numa() {
    const auto numa = get("numa");
    if (!numa) return;
    for (const YamlValue& node : numa->value.list())
      group_.numa_of_gpu.push_back(static_cast<std::int32_t>(node.integer_in(0, kMaxNics)));
    if (static_cast<std::int64_t>(group_.numa_of_gpu.size()) != group_.gpus)
      numa->value.fail(fmt::format("expected one NUMA node for each of the {} GPUs, found {}",
                                   group_.gpus, group_.numa_of_gpu.size()));
  }

  GroupNic& nic_called(const YamlValue& name) {
    for (GroupNic& nic : group_.nics)
      if (nic.name == name.text()) return nic;
    name.fail(fmt::format("no NIC of the node is called {}", name.text()));
  }

  void read_pcie() {
    const auto pcie = get("pcie");
    if (!pcie) return;
    group_.switch_of_gpu.assign(static_cast<std::size_t>(group_.gpus), -1);
    for (const YamlValue& entry : pcie->value.list()) {
      YamlMap map = entry.map();
      const auto gpus = map.optional("gpus");
      const auto nics = map.optional("nics");
      const auto uplink = map.optional("uplink");
      map.finish();
      const auto index = static_cast<std::int32_t>(group_.pcie_uplinks.size());
      std::int64_t line = 0;
      if (uplink)
        line = rate(resolve(*uplink, reading_.parameters), LinkCosts{},
                    fmt::format("pcie[{}].uplink", index));
      group_.pcie_uplinks.push_back(line);
      if (gpus)
        for (std::int32_t gpu : gpus->index_list(group_.gpus - 1)) {
          std::int32_t& at = group_.switch_of_gpu[static_cast<std::size_t>(gpu)];
          if (at >= 0) gpus->fail(fmt::format("GPU {} hangs at another PCIe switch", gpu));
          at = index;
        }
      if (nics)
        for (const YamlValue& name : nics->list()) {
          GroupNic& nic = nic_called(name);
          if (nic.pcie_switch >= 0) name.fail("this NIC hangs at another PCIe switch");
          nic.pcie_switch = index;
        }
    }
  }

  std::int32_t read_model() {
    std::vector<GpuModel>& models = reading_.topology.gpu_models;
    const auto name = get("gpu");
    GpuModel model;
    if (name) {
      model = find_gpu_model(name->value, reading_.topology.constants);
      model.hbm_rate =
          scaled_rate(model.hbm_rate, costs_.copy, model.name + " hbm", name->value, reading_);
    } else {
      model.name = "unspecified";
      model.source = "no gpu stated: copies cost no time";
    }
    model.copy = costs_.copy;
    const auto found = std::find(models.begin(), models.end(), model);
    if (found != models.end()) return static_cast<std::int32_t>(found - models.begin());
    models.push_back(std::move(model));
    return static_cast<std::int32_t>(models.size()) - 1;
  }

  YamlMap map_;
  std::string prefix_;
  NodeReading& reading_;
  LinkCostSet costs_;
  NodeGroup group_;
};

}  // namespace

std::int64_t scaled_rate(std::int64_t line, const LinkCosts& costs, const std::string& name,
                         const YamlValue& stated_at, const NodeReading& reading) {
  const YamlValue& place = reading.rate_scale_at ? *reading.rate_scale_at : stated_at;
  const std::string scaled_line =
      fmt::format("{} of {} at rate_scale {}", name, format_rate(static_cast<double>(line)),
                  reading.rate_scale);
  const double scaled = std::round(static_cast<double>(line) * reading.rate_scale);
  if (scaled > kMaxRate) place.fail(scaled_line + " is more than 1 PB/s");
  const auto rate = static_cast<std::int64_t>(scaled);
  // A rate of 0 means "costs no time" everywhere else; rounding must not make one.
  if (achieved_rate(rate, costs) < 1)
    place.fail(fmt::format("{} and efficiency {} is less than 1 B/s", scaled_line,
                           static_cast<double>(costs.efficiency_ppm) / kPpm));
  return rate;
}

void read_node_group(const YamlValue& value, const std::string& prefix, NodeReading& reading) {
  append_nodes(NodeForm(value, prefix, reading).read(), reading.domains, reading.topology);
}

}  // namespace transload
