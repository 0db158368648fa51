#include "topologies/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "common/units.h"

namespace transload {
namespace {

constexpr std::array<const char*, 8> kDomainColours = {"#cfe3f5", "#f9dcc4", "#d5ead3", "#e6d6ef",
                                                       "#fbe7a8", "#d7d7d7", "#c9ecec", "#f5cfd7"};
constexpr const char* kNarrow = "#b3261e";

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string rate_text(std::int64_t rate) { return format_rate(static_cast<double>(rate)); }

class Drawing {
 public:
  Drawing(const Topology& topology, std::int64_t max_nodes)
      : topology_(topology),
        drawn_(
            std::min<std::int64_t>(max_nodes, static_cast<std::int64_t>(topology.nodes.size()))) {}

  std::string draw() {
    text_ =
        "graph topology {\n  rankdir=BT;\n  nodesep=0.15;\n  fontname=\"Helvetica\";\n"
        "  node [fontname=\"Helvetica\", fontsize=10, shape=box, style=filled, "
        "fillcolor=white];\n  edge [fontname=\"Helvetica\", fontsize=9];\n";
    text_ += fmt::format("  label={};\n", quoted(topology_.name));
    for (std::int64_t node = 0; node < drawn_; ++node) draw_node(static_cast<std::size_t>(node));
    draw_nics();
    draw_rest();
    draw_switches();
    draw_sites();
    return text_ + "}\n";
  }

 private:
  const Gpu& gpu_at(std::int32_t gpu) const {
    return topology_.gpus[static_cast<std::size_t>(gpu)];
  }

  void draw_node(std::size_t index) {
    const Node& node = topology_.nodes[index];
    text_ += fmt::format("  subgraph cluster_node{} {{\n    label={};\n    style=rounded;\n", index,
                         quoted(node.name));
    for (std::int32_t i = 0; i < node.gpu_count; ++i) {
      const std::int32_t gpu = node.first_gpu + i;
      const auto colour = static_cast<std::size_t>(gpu_at(gpu).domain) % kDomainColours.size();
      text_ += fmt::format("    gpu{} [label=\"gpu{}\", fillcolor=\"{}\"];\n", gpu, gpu,
                           kDomainColours[colour]);
    }
    for (std::size_t nic = 0; nic < topology_.nics.size(); ++nic)
      if (topology_.nics[nic].node == static_cast<std::int32_t>(index))
        text_ += fmt::format("    nic{} [label={}, shape=ellipse];\n", nic,
                             quoted(topology_.nics[nic].name.substr(node.name.size() + 1) + "\\n" +
                                    rate_text(topology_.nics[nic].rate)));
    text_ += "  }\n";
    for (std::int32_t i = 0; i < node.gpu_count; ++i)
      for (std::int32_t nic : gpu_at(node.first_gpu + i).nics)
        text_ += fmt::format("  gpu{} -- nic{};\n", node.first_gpu + i, nic);
  }

  void note_way(std::int32_t leaf) {
    for (std::int32_t at = leaf; at >= 0;
         at = topology_.switches[static_cast<std::size_t>(at)].parent)
      used_.insert(at);
  }

  void draw_nics() {
    for (std::size_t nic = 0; nic < topology_.nics.size(); ++nic) {
      const Nic& at = topology_.nics[nic];
      if (at.node >= drawn_) continue;
      text_ += fmt::format("  nic{} -- switch{};\n", nic, at.leaf);
      note_way(at.leaf);
    }
  }

  void draw_rest() {
    const auto rest = static_cast<std::int64_t>(topology_.nodes.size()) - drawn_;
    if (rest == 0) return;
    text_ += fmt::format("  rest [label=\"{} more node{}\", style=dashed];\n", rest,
                         rest == 1 ? "" : "s");
    std::set<std::int32_t> tops;
    for (const Nic& nic : topology_.nics) {
      if (nic.node < drawn_) continue;
      std::int32_t at = nic.leaf;
      while (!used_.contains(at) && topology_.switches[static_cast<std::size_t>(at)].parent >= 0)
        at = topology_.switches[static_cast<std::size_t>(at)].parent;
      used_.insert(at);
      tops.insert(at);
    }
    for (std::int32_t top : tops) text_ += fmt::format("  rest -- switch{} [style=dashed];\n", top);
  }

  void draw_switches() {
    for (std::int32_t index : used_) {
      const Switch& at = topology_.switches[static_cast<std::size_t>(index)];
      text_ += fmt::format("  switch{} [label={}, shape=box3d];\n", index, quoted(at.name));
      if (at.parent < 0) continue;
      if (at.uplink_rate > 0)
        text_ += fmt::format("  switch{} -- switch{} [label=\"{}\", color=\"{}\", penwidth=2];\n",
                             index, at.parent, rate_text(at.uplink_rate), kNarrow);
      else
        text_ += fmt::format("  switch{} -- switch{} [penwidth=2];\n", index, at.parent);
    }
  }

  void draw_sites() {
    for (const WanLink& link : topology_.wan_links) {
      const auto root = [&](std::int32_t site) {
        for (std::int32_t index : used_) {
          const Switch& at = topology_.switches[static_cast<std::size_t>(index)];
          if (at.gateway && at.site == site) return index;
        }
        return -1;
      };
      const std::int32_t a = root(link.site_a);
      const std::int32_t b = root(link.site_b);
      if (a >= 0 && b >= 0)
        text_ += fmt::format("  switch{} -- switch{} [label=\"{}\", style=bold, color=\"{}\"];\n",
                             a, b, rate_text(link.rate), kNarrow);
    }
  }

  const Topology& topology_;
  std::int64_t drawn_;
  std::set<std::int32_t> used_;  // switches on the way from a drawn NIC
  std::string text_;
};

}  // namespace

std::string topology_dot(const Topology& topology, std::int64_t max_nodes) {
  return Drawing(topology, max_nodes).draw();
}

}  // namespace transload
