// What `nvidia-smi topo -m` says about a node: NVLink between GPUs, distances between GPUs and
// NICs, NUMA nodes. It says nothing about rates, GPU models, or NVLink beyond the node.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

#include "common/error.h"
#include "topologies/import/islands.h"
#include "topologies/import/node_parts.h"
#include "topologies/import/readers.h"
#include "topologies/import/topo_matrix.h"

namespace transload {
namespace {

struct Word {
  std::string_view text;
  PcieDistance distance;
};
// SOC is how drivers before 2018 wrote SYS.
constexpr std::array<Word, 6> kWords = {{{"PIX", PcieDistance::kSameBridge},
                                         {"PXB", PcieDistance::kSameSwitch},
                                         {"PHB", PcieDistance::kHostBridge},
                                         {"NODE", PcieDistance::kSameNuma},
                                         {"SYS", PcieDistance::kOtherNuma},
                                         {"SOC", PcieDistance::kOtherNuma}}};

// The most NVLinks that a GPU has had so far (Hopper and Blackwell).
constexpr std::int32_t kMostNvLinks = 18;

struct Cell {
  std::int32_t nvlinks = 0;  // above 0: NVLink
  PcieDistance distance = PcieDistance::kOtherNuma;

  bool operator==(const Cell&) const = default;
};

struct Table {
  TopoMatrix matrix;
  std::vector<std::vector<Cell>> cells;
  std::vector<std::size_t> gpus;  // indices into matrix.devices, in the order of their numbers
  std::vector<std::size_t> nics;
};

std::optional<Cell> parse_cell(const std::string& text) {
  for (const Word& word : kWords)
    if (word.text == text) return Cell{0, word.distance};
  if (!text.starts_with("NV")) return std::nullopt;
  Cell cell;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 2, end, cell.nvlinks);
  if (error != std::errc{} || rest != end || cell.nvlinks < 1 || cell.nvlinks > 64)
    return std::nullopt;
  return cell;
}

Cell read_cell(const TopoMatrix& matrix, std::size_t row, std::size_t column,
               const std::string& file) {
  const std::string& text = matrix.cells[row][column];
  const InputPlace place{file, matrix.lines[row],
                         fmt::format("{}, column {}", matrix.devices[row], matrix.devices[column])};
  if (row == column) {
    if (text != "X") throw InputError(place, fmt::format("expected X, found \"{}\"", text));
    return {};
  }
  const auto cell = parse_cell(text);
  if (!cell)
    throw InputError(
        place,
        fmt::format("expected PIX, PXB, PHB, NODE, SYS or NV and a number, found \"{}\"", text));
  return *cell;
}

std::vector<std::vector<Cell>> read_cells(const TopoMatrix& matrix, const std::string& file) {
  const std::size_t count = matrix.devices.size();
  std::vector<std::vector<Cell>> cells(count);
  for (std::size_t row = 0; row < count; ++row)
    for (std::size_t column = 0; column < count; ++column)
      cells[row].push_back(read_cell(matrix, row, column, file));
  for (std::size_t row = 0; row < count; ++row)
    for (std::size_t column = 0; column < row; ++column)
      if (!(cells[row][column] == cells[column][row]))
        throw InputError(
            {file, matrix.lines[row],
             fmt::format("{}, column {}", matrix.devices[row], matrix.devices[column])},
            fmt::format("{} here, but {} the other way round in line {}; expected a "
                        "symmetric table",
                        matrix.cells[row][column], matrix.cells[column][row],
                        matrix.lines[column]));
  return cells;
}

Table read_table(const std::string& text, const std::string& file) {
  Table table;
  table.matrix = read_topo_matrix(text, file);
  table.cells = read_cells(table.matrix, file);
  const std::vector<std::string>& devices = table.matrix.devices;
  for (std::size_t device = 0; device < devices.size(); ++device)
    (is_gpu_name(devices[device]) ? table.gpus : table.nics).push_back(device);
  std::stable_sort(table.gpus.begin(), table.gpus.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(devices[a].size(), devices[a]) < std::pair(devices[b].size(), devices[b]);
  });
  return table;
}

std::int32_t read_numa(const Table& table, std::size_t device, std::vector<std::string>& warnings) {
  const std::string& text = table.matrix.numa[device];
  std::int32_t numa = kUnknown;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, numa);
  if (error == std::errc{} && rest == end && numa >= 0) return numa;
  if (!text.empty() && text != "N/A")
    warnings.push_back(fmt::format("{}: NUMA affinity \"{}\" is not one node; left open",
                                   table.matrix.devices[device], text));
  return kUnknown;
}

// Links of one GPU in all. Behind a switch every cell counts all of a GPU's links; in a mesh each
// cell counts the links to that peer. The sum tells them apart: no GPU has more than kMostNvLinks.
std::int32_t link_count(const Table& table, std::size_t gpu) {
  std::int32_t sum = 0;
  std::int32_t most = 0;
  for (const std::size_t peer : table.gpus) {
    if (peer == gpu) continue;
    sum += table.cells[gpu][peer].nvlinks;
    most = std::max(most, table.cells[gpu][peer].nvlinks);
  }
  return sum <= kMostNvLinks ? sum : most;
}

std::vector<std::int32_t> nvlink_islands(const Table& table) {
  std::vector<std::pair<std::size_t, std::size_t>> links;
  for (std::size_t a = 0; a < table.gpus.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (table.cells[table.gpus[a]][table.gpus[b]].nvlinks > 0) links.emplace_back(b, a);
  return connected_islands(table.gpus.size(), links);
}

// Devices that reach each other below a host bridge share a PCIe switch; a device that shares with
// none may or may not sit at one.
void find_switches(const Table& table, ImportedNode& node) {
  const std::size_t count = table.matrix.devices.size();
  std::vector<std::pair<std::size_t, std::size_t>> links;
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (table.cells[a][b].nvlinks == 0 && table.cells[a][b].distance <= PcieDistance::kSameSwitch)
        links.emplace_back(b, a);
  const std::vector<std::int32_t> group = connected_islands(count, links);
  std::map<std::int32_t, int> members;
  for (const std::int32_t number : group) ++members[number];
  std::map<std::int32_t, std::int32_t> switch_of_group;
  const auto number = [&](std::size_t device) {
    if (members[group[device]] < 2) return kUnknown;
    const auto next = static_cast<std::int32_t>(switch_of_group.size());
    return switch_of_group.try_emplace(group[device], next).first->second;
  };
  for (std::size_t gpu = 0; gpu < table.gpus.size(); ++gpu)
    node.gpus[gpu].pcie_switch = number(table.gpus[gpu]);
  for (std::size_t nic = 0; nic < table.nics.size(); ++nic)
    node.nics[nic].pcie_switch = number(table.nics[nic]);
  node.pcie_switches = static_cast<std::int32_t>(switch_of_group.size());
}

void add_gpus(const Table& table, ImportFindings& findings) {
  const std::vector<std::int32_t> islands = nvlink_islands(table);
  for (std::size_t index = 0; index < table.gpus.size(); ++index) {
    ImportedGpu& gpu = findings.node->gpus.emplace_back();
    gpu.name = table.matrix.devices[table.gpus[index]];
    gpu.numa = read_numa(table, table.gpus[index], findings.warnings);
    gpu.nvlink_island = islands[index];
    gpu.nvlink_links = link_count(table, table.gpus[index]);
  }
}

void add_nics(const Table& table, ImportFindings& findings) {
  std::vector<std::string> nameless;
  for (const std::size_t device : table.nics) {
    ImportedNic& nic = findings.node->nics.emplace_back();
    const std::string& name = table.matrix.nic_names[device];
    const std::string& column = table.matrix.devices[device];
    nic.name = name.empty() ? column : name;
    nic.numa = read_numa(table, device, findings.warnings);
    if (name.empty() && column.starts_with("NIC")) nameless.push_back(column);
  }
  if (!nameless.empty())
    findings.warnings.push_back(fmt::format(
        "the legend has no names for {}; they are called as their columns", listed(nameless)));
}

void refuse_equal_names(const ImportedNode& node, const std::string& file) {
  std::vector<std::string> names;
  for (const ImportedNic& nic : node.nics) names.push_back(nic.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    throw InputError({file, 0, "NIC Legend"},
                     fmt::format("two NICs are called {}; expected different names", *twice));
}

// Where every NIC is as far as can be from every GPU, as on Grace trays, whose GPUs hang at the CPU
// by NVLink-C2C and whose NVLink domain usually reaches beyond the tray.
void ask_about_far_nics(ImportFindings& findings) {
  const ImportedNode& node = *findings.node;
  if (node.nics.empty()) return;
  for (const std::vector<PcieDistance>& row : node.distance)
    for (const PcieDistance distance : row)
      if (distance != PcieDistance::kOtherNuma) return;
  findings.asked.push_back(
      "nvlink_domain: no GPU is near any NIC, as on Grace trays, where NVLink reaches the other "
      "trays of a rack; which nodes share an NVLink domain with this one?");
}

}  // namespace

ImportFindings read_nvidia_smi_topo(const std::string& text, const std::string& file) {
  const Table table = read_table(text, file);
  ImportFindings findings;
  findings.kind = "nvidia-smi-topo";
  ImportedNode& node = findings.node.emplace();
  add_gpus(table, findings);
  add_nics(table, findings);
  refuse_equal_names(node, file);
  find_switches(table, node);
  for (const std::size_t gpu : table.gpus) {
    std::vector<PcieDistance>& row = node.distance.emplace_back();
    for (const std::size_t nic : table.nics) {
      if (table.cells[gpu][nic].nvlinks > 0)
        throw InputError({file, table.matrix.lines[gpu], table.matrix.devices[gpu]},
                         fmt::format("NVLink to the NIC {}; expected a PCIe distance",
                                     table.matrix.devices[nic]));
      row.push_back(table.cells[gpu][nic].distance);
    }
  }
  ask_about_far_nics(findings);
  ask_for_missing(findings);
  return findings;
}

}  // namespace transload
