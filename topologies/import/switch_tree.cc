#include "topologies/import/switch_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "common/error.h"

namespace transload {

const char* const kAskForNodes =
    "nodes: what GPUs and NICs they have; this file says which nodes there are, not what is in "
    "them; "
    "combine it with an NCCL XML, hwloc XML or nvidia-smi topo file";
const char* const kAskForLinkRates =
    "oversubscription: the rates of the links between nodes and switches, and how many cables a "
    "link has";

namespace {

using Children = std::vector<std::vector<std::int32_t>>;

Children resolve(const std::vector<NamedSwitch>& listed, const std::string& file) {
  std::map<std::string, std::int32_t> index;
  for (std::size_t i = 0; i < listed.size(); ++i)
    if (!index.emplace(listed[i].name, static_cast<std::int32_t>(i)).second)
      throw InputError({file, listed[i].line, ""},
                       fmt::format("switch {} is listed twice", listed[i].name));
  Children children(listed.size());
  for (std::size_t i = 0; i < listed.size(); ++i) {
    for (const std::string& name : listed[i].children) {
      const auto found = index.find(name);
      if (found == index.end())
        throw InputError({file, listed[i].line, ""},
                         fmt::format("switch {} has the child {}, which the file does not describe",
                                     listed[i].name, name));
      children[i].push_back(found->second);
    }
    std::sort(children[i].begin(), children[i].end());
    if (std::adjacent_find(children[i].begin(), children[i].end()) != children[i].end())
      throw InputError({file, listed[i].line, ""},
                       fmt::format("switch {} has one child twice", listed[i].name));
  }
  return children;
}

}  // namespace

std::vector<ImportedSwitch> build_switch_tree(const std::vector<NamedSwitch>& listed,
                                              const std::string& file) {
  const Children children = resolve(listed, file);
  std::vector<ImportedSwitch> switches(listed.size());
  std::vector<std::size_t> waiting(listed.size());  // children without a tier
  std::vector<std::int32_t> ready;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    switches[i].name = listed[i].name;
    waiting[i] = children[i].size();
    if (children[i].empty()) ready.push_back(static_cast<std::int32_t>(i));
    for (const std::int32_t child : children[i]) {
      switches[static_cast<std::size_t>(child)].parents.push_back(static_cast<std::int32_t>(i));
      switches[static_cast<std::size_t>(child)].parent_rates.push_back(0);
    }
  }
  std::size_t done = 0;
  while (done < ready.size()) {
    const ImportedSwitch& child = switches[static_cast<std::size_t>(ready[done++])];
    for (const std::int32_t parent : child.parents) {
      ImportedSwitch& above = switches[static_cast<std::size_t>(parent)];
      above.tier = std::max(above.tier, child.tier + 1);
      if (--waiting[static_cast<std::size_t>(parent)] == 0) ready.push_back(parent);
    }
  }
  for (std::size_t i = 0; i < listed.size(); ++i)
    if (waiting[i] > 0)
      throw InputError({file, listed[i].line, ""},
                       fmt::format("switch {} stands in a ring of switches or above one; expected "
                                   "a tree",
                                   listed[i].name));
  return switches;
}

std::string separate_trees(const std::vector<ImportedSwitch>& switches) {
  // Union by the smallest index of a tree.
  std::vector<std::size_t> tree(switches.size());
  std::iota(tree.begin(), tree.end(), std::size_t{0});
  const auto root_of = [&](std::size_t i) {
    while (tree[i] != i) i = tree[i] = tree[tree[i]];
    return i;
  };
  for (std::size_t i = 0; i < switches.size(); ++i) {
    for (const std::int32_t parent : switches[i].parents) {
      const std::size_t a = root_of(i);
      const std::size_t b = root_of(static_cast<std::size_t>(parent));
      tree[std::max(a, b)] = std::min(a, b);
    }
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < switches.size(); ++i)
    if (root_of(i) == i) names.push_back(switches[i].name);
  if (names.size() < 2) return "";
  const std::size_t count = names.size();
  if (count > 8) names.resize(8);
  return fmt::format(
      "{} groups of switches have no link between them (with {}{}): nodes of different groups have "
      "no path",
      count, fmt::join(names, ", "), count > 8 ? ", ..." : "");
}

}  // namespace transload
