#include "topologies/import/switch_layers.h"

#include <fmt/format.h>

#include <numeric>

#include "common/error.h"

namespace transload {
namespace {

// Union-find whose representative is the least member.
class Groups {
 public:
  explicit Groups(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  std::int32_t find(std::int32_t member) {
    while (parent_[static_cast<std::size_t>(member)] != member) {
      std::int32_t& at = parent_[static_cast<std::size_t>(member)];
      at = parent_[static_cast<std::size_t>(at)];
      member = at;
    }
    return member;
  }
  void join(std::int32_t a, std::int32_t b) {
    a = find(a);
    b = find(b);
    parent_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
  }

 private:
  std::vector<std::int32_t> parent_;
};

void refuse_rings(const std::vector<SwitchLayer>& layers) {
  for (const SwitchLayer& layer : layers) {
    std::size_t steps = 0;
    for (std::int32_t at = layer.parent; at >= 0; at = layers[static_cast<std::size_t>(at)].parent)
      if (++steps > layers.size())
        throw InputError(fmt::format("the switches above {} form a ring; expected a tree of layers",
                                     layer.name));
  }
}

}  // namespace

SwitchLayers merge_layers(const std::vector<ImportedSwitch>& switches) {
  Groups groups(switches.size());
  // Joining the parents of a layer's members may join members of the layer above, and so on.
  for (std::size_t round = 0; round < switches.size(); ++round) {
    bool changed = false;
    std::vector<std::int32_t> first_parent(switches.size(), -1);  // by representative below
    for (std::size_t i = 0; i < switches.size(); ++i) {
      std::int32_t& first =
          first_parent[static_cast<std::size_t>(groups.find(static_cast<std::int32_t>(i)))];
      for (std::int32_t parent : switches[i].parents) {
        if (first < 0) first = parent;
        changed |= groups.find(first) != groups.find(parent);
        groups.join(first, parent);
      }
    }
    if (!changed) break;
  }
  SwitchLayers result;
  result.layer_of.assign(switches.size(), -1);
  std::vector<std::int32_t> members;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    const auto root = static_cast<std::size_t>(groups.find(static_cast<std::int32_t>(i)));
    if (result.layer_of[root] < 0) {
      result.layer_of[root] = static_cast<std::int32_t>(result.layers.size());
      result.layers.push_back({switches[root].name, -1, 0, true});
      members.push_back(0);
    }
    result.layer_of[i] = result.layer_of[root];
    ++members[static_cast<std::size_t>(result.layer_of[i])];
  }
  for (std::size_t i = 0; i < switches.size(); ++i) {
    SwitchLayer& layer = result.layers[static_cast<std::size_t>(result.layer_of[i])];
    for (std::size_t j = 0; j < switches[i].parents.size(); ++j) {
      layer.parent = result.layer_of[static_cast<std::size_t>(switches[i].parents[j])];
      layer.uplink += switches[i].parent_rates[j];
      layer.uplink_stated &= switches[i].parent_rates[j] > 0;
    }
  }
  for (std::size_t i = 0; i < members.size(); ++i)
    if (members[i] > 1) result.layers[i].name += fmt::format("+{}", members[i] - 1);
  refuse_rings(result.layers);
  return result;
}

}  // namespace transload
