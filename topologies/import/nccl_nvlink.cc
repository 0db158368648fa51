#include "topologies/import/nccl_nvlink.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "topologies/import/islands.h"

namespace transload {
namespace {

constexpr std::int64_t kSwitchClass = 0x068000;
constexpr std::int64_t kMaxLinks = 64;  // GPUs have 18 at most so far

// Where NVLinks end. GPUs come first in the numbering, then one member for each switch.
struct Joins {
  std::size_t members = 0;
  std::vector<std::pair<std::size_t, std::size_t>> links;
  std::vector<std::size_t> open;  // GPUs with links whose other end the file does not name
};

bool is_gpu_class(std::int64_t class_code) {
  return pci_kind(class_code >> 8, {}) == PciKind::kGpu;
}

Joins find_joins(const std::vector<FoundGpu>& gpus, const NvLinksByBus& nvlinks,
                 IgnoredCounts& ignored) {
  Joins joins;
  joins.members = gpus.size();
  std::map<std::string, std::size_t> gpu_at;
  std::map<std::string, std::size_t> switch_at;
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) gpu_at[gpus[gpu].gpu.bus] = gpu;
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    const auto described = nvlinks.find(gpus[gpu].gpu.bus);
    if (described == nvlinks.end()) continue;
    bool open = false;
    for (const NvLink& link : described->second.links) {
      const auto peer = gpu_at.find(link.target);
      if (link.target_class == kSwitchClass) {
        const auto [found, is_new] = switch_at.try_emplace(link.target, joins.members);
        if (is_new) ++joins.members;
        joins.links.emplace_back(gpu, found->second);
      } else if (peer != gpu_at.end() && peer->second != gpu) {
        joins.links.emplace_back(gpu, peer->second);
      } else if (peer != gpu_at.end()) {
        open = true;
      } else if (is_gpu_class(link.target_class)) {
        ++ignored["<nvlink> to a GPU that the file does not list"];
      } else {
        ++ignored["<nvlink> to neither a GPU nor an NVSwitch"];
      }
    }
    if (open) joins.open.push_back(gpu);
  }
  return joins;
}

// Whether the file, or the model, settles how far NVLink of this GPU goes.
bool is_told(const FoundGpu& gpu, const NvLinksByBus& nvlinks) {
  const GpuProduct* product = find_gpu_product(gpu.id);
  if (product != nullptr && !product->nvlink) return true;
  const auto found = nvlinks.find(gpu.gpu.bus);
  return found != nvlinks.end() && (found->second.dumped || !found->second.links.empty());
}

}  // namespace

NvLinks read_nvlinks(const XmlFile& xml, const pugi::xml_node& gpu, IgnoredCounts& ignored) {
  NvLinks found;
  // A file written by hand has at most `dev`; NCCL fills in the rest.
  found.dumped = xml.text(gpu, "rank") && xml.text(gpu, "sm");
  for (const pugi::xml_node& child : gpu.children()) {
    if (std::string(child.name()) != "nvlink") {
      ++ignored[fmt::format("<{}> of <gpu>", child.name())];
      continue;
    }
    NvLink link;
    const std::string target = xml.required(child, "target");
    const std::string bus = normal_bus(target);
    link.target = bus.empty() ? target : bus;  // newer NCCL writes fffffff:ffff:ff for any switch
    link.target_class = xml.hex(child, "tclass").value_or(0);
    link.count = xml.integer(child, "count").value_or(1);
    if (link.count < 1 || link.count > kMaxLinks)
      xml.fail(child, fmt::format("expected 1 to {} links, found {}", kMaxLinks, link.count),
               "count");
    found.links.push_back(link);
  }
  return found;
}

void find_nvlink_islands(std::vector<FoundGpu>& gpus, const NvLinksByBus& nvlinks,
                         ImportFindings& findings, IgnoredCounts& ignored) {
  const Joins joins = find_joins(gpus, nvlinks, ignored);
  const std::vector<std::int32_t> islands = connected_islands(joins.members, joins.links);
  std::vector<std::string> silent;
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    if (is_told(gpus[gpu], nvlinks))
      gpus[gpu].gpu.nvlink_island = islands[gpu];
    else
      silent.push_back(gpus[gpu].gpu.name);
  }
  if (!silent.empty())
    findings.asked.push_back(fmt::format(
        "nvlink: the file says nothing about the NVLinks of {}; which GPUs share an NVLink domain?",
        listed(silent)));
  std::vector<std::string> open;
  for (const std::size_t gpu : joins.open) {
    open.push_back(gpus[gpu].gpu.name);
    gpus[gpu].gpu.nvlink_island = kUnknown;
  }
  if (!open.empty())
    findings.asked.push_back(
        fmt::format("nvlink: the NVLinks of {} are written as ending at the GPU itself; which GPUs "
                    "do they join?",
                    listed(open)));
}

}  // namespace transload
