#include "topologies/import/visible_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "common/error.h"
#include "topologies/import/node_parts.h"

namespace transload {
namespace {

std::size_t gpu_at(const ImportedNode& node, const std::string& wanted) {
  const std::string bus = normal_bus(wanted);
  std::vector<std::string> names;
  for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu) {
    if (node.gpus[gpu].name == wanted || (!bus.empty() && node.gpus[gpu].bus == bus)) return gpu;
    names.push_back(bus.empty() ? node.gpus[gpu].name : node.gpus[gpu].bus);
  }
  throw InputError({"", 0, "visible GPUs"},
                   fmt::format("the file does not list {}; it has {}", wanted, listed(names)));
}

// Islands in the order of their first GPUs that are left.
void number_islands(std::vector<ImportedGpu>& gpus) {
  std::map<std::int32_t, std::int32_t> number;
  for (ImportedGpu& gpu : gpus) {
    if (gpu.nvlink_island == kUnknown) continue;
    const auto next = static_cast<std::int32_t>(number.size());
    gpu.nvlink_island = number.try_emplace(gpu.nvlink_island, next).first->second;
  }
}

}  // namespace

void keep_visible_gpus(ImportFindings& findings, const std::vector<std::string>& visible) {
  ImportedNode& node = *findings.node;
  std::vector<bool> kept(node.gpus.size());
  for (const std::string& wanted : visible) {
    const std::size_t gpu = gpu_at(node, wanted);
    if (kept[gpu])
      throw InputError({"", 0, "visible GPUs"}, fmt::format("{} is named twice", wanted));
    kept[gpu] = true;
  }
  std::vector<std::string> dropped;
  std::vector<ImportedGpu> gpus;
  std::vector<std::vector<PcieDistance>> distance;
  for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu) {
    if (!kept[gpu]) {
      dropped.push_back(node.gpus[gpu].name);
      continue;
    }
    gpus.push_back(node.gpus[gpu]);
    gpus.back().name = fmt::format("GPU{}", gpus.size() - 1);
    distance.push_back(node.distance[gpu]);
  }
  number_islands(gpus);
  node.gpus = std::move(gpus);
  node.distance = std::move(distance);
  if (!dropped.empty())
    findings.ignored.push_back(
        fmt::format("GPUs of the file that are not visible: {}", listed(dropped)));
}

}  // namespace transload
