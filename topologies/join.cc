#include "topologies/join.h"

#include <fmt/format.h>

#include <array>

namespace transload {
namespace {

struct Kind {
  const char* name;
  LinkCosts Topology::*costs;
};

constexpr std::array<Kind, 3> kKinds = {{
    {"nic", &Topology::nic},
    {"nvlink", &Topology::nvlink},
    {"copy", &Topology::copy},
}};

bool same_costs(const LinkCosts& a, const LinkCosts& b) {
  return a.efficiency_ppm == b.efficiency_ppm && a.latency_ps == b.latency_ps &&
         a.occupancy_ps == b.occupancy_ps;
}

void refuse_mixed_costs(const Topology& first, const Topology& other, std::size_t index,
                        const YamlValue& place) {
  for (const Kind& kind : kKinds) {
    if (same_costs(first.*kind.costs, other.*kind.costs)) continue;
    place.fail(fmt::format(
        "entries 0 ({}) and {} ({}) differ in the efficiency or latency of {}; joined topologies "
        "have to agree, so state efficiency and latency alike in both",
        first.name, index, other.name, kind.name));
  }
}

bool same_model(const GpuModel& a, const GpuModel& b) {
  return a.name == b.name && a.hbm_rate == b.hbm_rate && a.memory_bytes == b.memory_bytes;
}

std::int32_t model_index(const GpuModel& model, std::vector<GpuModel>& models) {
  for (std::size_t i = 0; i < models.size(); ++i)
    if (same_model(models[i], model)) return static_cast<std::int32_t>(i);
  models.push_back(model);
  return static_cast<std::int32_t>(models.size() - 1);
}

void append_constants(const std::vector<SourcedConstant>& from, const std::string& part,
                      std::vector<SourcedConstant>& to) {
  for (const SourcedConstant& constant : from)
    to.push_back({fmt::format("{}.{}", part, constant.name), constant.value, constant.source});
}

void append_hardware(const Topology& part, Topology& whole) {
  const auto first_node = static_cast<std::int32_t>(whole.nodes.size());
  const auto first_gpu = static_cast<std::int32_t>(whole.gpus.size());
  const auto first_nic = static_cast<std::int32_t>(whole.nics.size());
  std::vector<std::int32_t> models;
  for (const GpuModel& model : part.gpu_models)
    models.push_back(model_index(model, whole.gpu_models));
  for (Node node : part.nodes) {
    node.first_gpu += first_gpu;
    whole.nodes.push_back(std::move(node));
  }
  for (Gpu gpu : part.gpus) {
    gpu.node += first_node;
    gpu.domain += whole.domain_count;
    gpu.model = models[static_cast<std::size_t>(gpu.model)];
    for (std::int32_t& nic : gpu.nics) nic += first_nic;
    whole.gpus.push_back(std::move(gpu));
  }
  for (Nic nic : part.nics) {
    nic.node += first_node;
    whole.nics.push_back(std::move(nic));
  }
  whole.domain_count += part.domain_count;
}

}  // namespace

Topology join(const std::vector<Topology>& parts, const YamlValue& place) {
  Topology whole = parts.front();
  whole.constants.clear();
  append_constants(parts.front().constants, "[0]", whole.constants);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Topology& part = parts[i];
    refuse_mixed_costs(parts.front(), part, i, place);
    append_hardware(part, whole);
    append_constants(part.constants, fmt::format("[{}]", i), whole.constants);
    whole.name += " + " + part.name;
    whole.unit_test_rates = whole.unit_test_rates || part.unit_test_rates;
    if (whole.fabric_kind != part.fabric_kind) whole.fabric_kind = "non-blocking";
  }
  return whole;
}

}  // namespace transload
