#include "topologies/import/detect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "common/error.h"
#include "common/text_file.h"
#include "topologies/import/text_lines.h"

namespace transload {
namespace {

// The largest known (ibnetdiscover of 10 000 ports) have some megabytes.
constexpr std::int64_t kMaxFileBytes = std::int64_t{256} << 20;

using import_text::contains;
using import_text::lower_case;
using import_text::TextLine;
using import_text::trimmed;
using import_text::words_of;

struct KindName {
  TopologyFileKind kind;
  std::string_view name;
};

constexpr std::array<KindName, 9> kNames = {
    {{TopologyFileKind::kNcclXml, "an NCCL topology XML"},
     {TopologyFileKind::kHwlocXml, "an hwloc (lstopo) XML"},
     {TopologyFileKind::kNvidiaSmiTopo, "the matrix of nvidia-smi topo -m"},
     {TopologyFileKind::kSlurmTopology, "Slurm's topology.conf"},
     {TopologyFileKind::kIbnetdiscover, "an output of ibnetdiscover"},
     {TopologyFileKind::kTopograph, "a topograph model"},
     {TopologyFileKind::kNcclTests, "a log of nccl-tests"},
     {TopologyFileKind::kNvbandwidth, "an output of nvbandwidth"},
     {TopologyFileKind::kIbWriteLat, "an output of ib_write_lat"}}};

std::string_view name_of(TopologyFileKind kind) {
  for (const KindName& one : kNames)
    if (one.kind == kind) return one.name;
  return "";
}

std::string all_names() {
  std::vector<std::string_view> names;
  names.reserve(kNames.size());
  for (const KindName& one : kNames) names.push_back(one.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<TopologyFileKind> kind_of_xml(const std::string& text) {
  const bool nccl = contains(text, "<system");
  const bool hwloc = contains(text, "<topology");
  if (nccl == hwloc) return std::nullopt;
  return nccl ? TopologyFileKind::kNcclXml : TopologyFileKind::kHwlocXml;
}

// The kind that one line gives away. A line that any file may hold says nothing.
std::optional<TopologyFileKind> kind_of_line(std::string_view line) {
  const std::string_view said = trimmed(line);
  const bool comment = said.starts_with('#');
  const bool at_margin = !said.empty() && line.starts_with(said.front());
  const std::string lower = lower_case(said);
  if (lower.starts_with("switchname=") || lower.starts_with("blockname="))
    return TopologyFileKind::kSlurmTopology;
  if (said.starts_with("caguid=") || said.starts_with("switchguid=") ||
      contains(said, "ibnetdiscover"))
    return TopologyFileKind::kIbnetdiscover;
  if (contains(said, "ib_write_lat") || contains(said, "t_typical[usec]"))
    return TopologyFileKind::kIbWriteLat;
  if (comment && (contains(said, "busbw") || contains(said, "_perf")))
    return TopologyFileKind::kNcclTests;
  if (at_margin && (said == "switches:" || said == "blocks:" || said == "capacity_blocks:"))
    return TopologyFileKind::kTopograph;
  const auto words = words_of(said);
  if (words.empty() || comment) return std::nullopt;
  if (words[0] == "SUM" || words[0] == "nvbandwidth") return TopologyFileKind::kNvbandwidth;
  // On a terminal the head of the matrix begins with the code for underlined text.
  if (words[0].ends_with("GPU0")) return TopologyFileKind::kNvidiaSmiTopo;
  if (said.starts_with("size,") && contains(said, "_nodes")) return TopologyFileKind::kNcclTests;
  return std::nullopt;
}

void refuse_own_files(const std::string& text, const std::string& file) {
  for (const TextLine& line : import_text::lines_of(text)) {
    if (line.text.starts_with("tensors:") || line.text.starts_with("topology:"))
      throw InputError({file, line.number, ""}, "this is a job already; transload plan reads it");
    if (line.text.starts_with("fabric:") || line.text.starts_with("nodes:"))
      throw InputError({file, line.number, ""},
                       "this looks like a topology file of Transload already; transload topology "
                       "show reads it");
  }
}

}  // namespace

TopologyFileKind detect_topology_file(const std::string& text, const std::string& file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) throw InputError({file, 1, ""}, "the file is empty");
  if (text.find('\0') != std::string::npos)
    throw InputError({file, 0, ""},
                     fmt::format("binary data; files that can be read are {}", all_names()));
  std::optional<TopologyFileKind> kind;
  if (text[first] == '<') {
    kind = kind_of_xml(text);
  } else {
    for (const TextLine& line : import_text::lines_of(text)) {
      const auto said = kind_of_line(line.text);
      if (!said || said == kind) continue;
      if (kind)
        throw InputError({file, line.number, ""},
                         fmt::format("this line belongs to {}, those before it to {}; one file "
                                     "holds one",
                                     name_of(*said), name_of(*kind)));
      kind = said;
    }
  }
  if (kind) return *kind;
  refuse_own_files(text, file);
  throw InputError({file, 0, ""},
                   fmt::format("no file that can be imported; known are {}", all_names()));
}

std::string read_topology_text(const std::string& path) {
  return read_text_file(path, kMaxFileBytes, "a file about a cluster");
}

}  // namespace transload
