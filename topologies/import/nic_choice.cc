#include "topologies/import/nic_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "common/check.h"
#include "common/error.h"
#include "topologies/import/node_parts.h"

namespace transload {
namespace {

using NicList = std::vector<std::int32_t>;

constexpr std::array<std::string_view, 5> kDistanceNames = {
    "one bridge away (PIX)", "several bridges away (PXB)", "behind a host bridge (PHB)",
    "behind another host bridge (NODE)", "across NUMA nodes (SYS)"};

std::string_view distance_name(PcieDistance distance) {
  return kDistanceNames[static_cast<std::size_t>(distance)];
}

// Distances with the NUMA nodes put in where the matrix itself says only "far".
class Distances {
 public:
  Distances(const ImportedNode& node, const NicList& allowed) : node_(node), allowed_(allowed) {
    by_numa_ = is_flat() && numa_differs();
  }

  // GPUs cannot be told apart, nor can NICs, and it matters: there are several of both.
  bool say_nothing() const {
    return node_.gpus.size() > 1 && allowed_.size() > 1 && is_flat() && !by_numa_;
  }

  PcieDistance between(std::size_t gpu, std::int32_t nic) const {
    if (!by_numa_) return stated(gpu, nic);
    return node_.gpus[gpu].numa == node_.nics[index(nic)].numa ? PcieDistance::kSameNuma
                                                               : PcieDistance::kOtherNuma;
  }

 private:
  static std::size_t index(std::int32_t nic) { return static_cast<std::size_t>(nic); }
  PcieDistance stated(std::size_t gpu, std::int32_t nic) const {
    return node_.distance[gpu][index(nic)];
  }

  // All pairs equally far, and not below one switch.
  bool is_flat() const {
    if (node_.gpus.empty() || allowed_.empty()) return false;
    const PcieDistance first = stated(0, allowed_.front());
    if (first <= PcieDistance::kSameSwitch) return false;
    for (std::size_t gpu = 0; gpu < node_.gpus.size(); ++gpu)
      for (const std::int32_t nic : allowed_)
        if (stated(gpu, nic) != first) return false;
    return true;
  }

  bool numa_differs() const {
    std::set<std::int32_t> gpus;
    std::set<std::int32_t> nics;
    for (const ImportedGpu& gpu : node_.gpus) gpus.insert(gpu.numa);
    for (const std::int32_t nic : allowed_) nics.insert(node_.nics[index(nic)].numa);
    const bool known = !gpus.contains(kUnknown) && !nics.contains(kUnknown);
    return known && gpus.size() > 1 && nics.size() > 1;
  }

  const ImportedNode& node_;
  const NicList& allowed_;
  bool by_numa_ = false;
};

// The GPUs whose nearest NICs are the same ones.
struct Group {
  PcieDistance distance;
  NicList nics;
  std::vector<std::size_t> gpus;
};

// Nearest groups first, so that GPUs far from every NIC see which ones are taken.
std::vector<Group> group_by_nearest(const ImportedNode& node, const NicList& allowed,
                                    const Distances& distances) {
  std::map<std::pair<PcieDistance, NicList>, std::vector<std::size_t>> groups;
  for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu) {
    PcieDistance best = PcieDistance::kOtherNuma;
    for (const std::int32_t nic : allowed) best = std::min(best, distances.between(gpu, nic));
    NicList nearest;
    for (const std::int32_t nic : allowed)
      if (distances.between(gpu, nic) == best) nearest.push_back(nic);
    groups[{best, nearest}].push_back(gpu);
  }
  std::vector<Group> ordered;
  ordered.reserve(groups.size());
  for (auto& [key, gpus] : groups) ordered.push_back({key.first, key.second, std::move(gpus)});
  return ordered;
}

NicList least_used(const NicList& nics, const std::vector<int>& uses) {
  int least = uses[static_cast<std::size_t>(nics.front())];
  for (const std::int32_t nic : nics) least = std::min(least, uses[static_cast<std::size_t>(nic)]);
  NicList kept;
  for (const std::int32_t nic : nics)
    if (uses[static_cast<std::size_t>(nic)] == least) kept.push_back(nic);
  return kept;
}

// The NICs that stretch `part` of `parts` touches when `nics` are cut into equal stretches.
NicList stretch(const NicList& nics, std::size_t part, std::size_t parts) {
  const std::size_t first = part * nics.size() / parts;
  const std::size_t end = ((part + 1) * nics.size() + parts - 1) / parts;
  return {nics.begin() + static_cast<std::ptrdiff_t>(first),
          nics.begin() + static_cast<std::ptrdiff_t>(end)};
}

// Gives the GPUs of a group their NICs. NICs that nearer GPUs use already come last: as long as
// some are used less than others, those take one GPU each.
void share_out(const Group& group, std::vector<int>& uses, std::vector<NicList>& nics_of_gpu) {
  const auto give = [&](std::size_t gpu, NicList nics) {
    for (const std::int32_t nic : nics) ++uses[static_cast<std::size_t>(nic)];
    nics_of_gpu[gpu] = std::move(nics);
  };
  std::size_t next = 0;
  while (next < group.gpus.size()) {
    const NicList free = least_used(group.nics, uses);
    const std::size_t left = group.gpus.size() - next;
    if (free.size() < left && free.size() < group.nics.size()) {
      for (const std::int32_t nic : free) give(group.gpus[next++], {nic});
      continue;
    }
    for (std::size_t part = 0; part < left; ++part)
      give(group.gpus[next + part], stretch(free, part, left));
    next += left;
  }
}

std::size_t index_of(const std::string& name, const std::vector<std::string>& names,
                     const char* kind) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw InputError({"", 0, "pin"},
                     fmt::format("unknown {} {}; the node has {}", kind, name, listed(names)));
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

std::vector<NicList> choose_nics(const ImportedNode& node, const NicList& allowed,
                                 std::vector<std::string>& asked) {
  TRANSLOAD_CHECK(node.distance.size() == node.gpus.size(), "every GPU has a row of distances");
  std::vector<NicList> nics_of_gpu(node.gpus.size());
  NicList sorted = allowed;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (sorted.empty()) return nics_of_gpu;
  TRANSLOAD_CHECK(sorted.front() >= 0 && sorted.back() < static_cast<int>(node.nics.size()),
                  "allowed NICs are NICs of the node");
  const Distances distances(node, sorted);
  if (distances.say_nothing()) {
    asked.push_back(
        fmt::format("nic_of_gpu: every GPU is {} from every NIC, so the file does not tell which "
                    "GPU uses which "
                    "of the {} NICs",
                    distance_name(distances.between(0, sorted.front())), sorted.size()));
    return nics_of_gpu;
  }
  std::vector<int> uses(node.nics.size());
  for (const Group& group : group_by_nearest(node, sorted, distances))
    share_out(group, uses, nics_of_gpu);
  return nics_of_gpu;
}

void pin_nics(const ImportedNode& node, const std::vector<NicPin>& pins,
              std::vector<NicList>& nics_of_gpu) {
  std::vector<std::string> gpus;
  std::vector<std::string> nics;
  for (const ImportedGpu& gpu : node.gpus) gpus.push_back(gpu.name);
  for (const ImportedNic& nic : node.nics) nics.push_back(nic.name);
  std::set<std::size_t> pinned;
  for (const NicPin& pin : pins) {
    const std::size_t gpu = index_of(pin.gpu, gpus, "GPU");
    if (!pinned.insert(gpu).second)
      throw InputError({"", 0, "pin"}, fmt::format("{} has two pins; expected one", pin.gpu));
    NicList chosen;
    for (const std::string& nic : pin.nics)
      chosen.push_back(static_cast<std::int32_t>(index_of(nic, nics, "NIC")));
    nics_of_gpu[gpu] = std::move(chosen);
  }
}

std::vector<std::string> far_nic_warnings(const ImportedNode& node,
                                          const std::vector<NicList>& nics_of_gpu) {
  std::vector<std::string> warnings;
  for (std::size_t gpu = 0; gpu < nics_of_gpu.size(); ++gpu) {
    const std::vector<PcieDistance>& row = node.distance[gpu];
    if (row.empty()) continue;
    const auto nearest = std::min_element(row.begin(), row.end());
    for (const std::int32_t nic : nics_of_gpu[gpu]) {
      const PcieDistance distance = row[static_cast<std::size_t>(nic)];
      if (distance == *nearest) continue;
      warnings.push_back(
          fmt::format("{} uses {}, {}, although {} is {}", node.gpus[gpu].name,
                      node.nics[static_cast<std::size_t>(nic)].name, distance_name(distance),
                      node.nics[static_cast<std::size_t>(nearest - row.begin())].name,
                      distance_name(*nearest)));
      break;
    }
  }
  return warnings;
}

}  // namespace transload
