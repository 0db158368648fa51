// NCCL's picture of one node, as NCCL_TOPO_DUMP_FILE writes it and NCCL_TOPO_FILE reads it.
//
// Form (NCCL src/graph/xml.cc and topo.cc): <system> holds one <cpu> for each NUMA node; below it
// <pci> elements nest as switches do, with <gpu> or <nic> inside the devices; <gpu> has <nvlink>
// children, <nic> has <net> children. Hand-written files leave <gpu>, <nic> and most attributes
// out: NCCL then completes them from the machine that it runs on, which an importer cannot.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/counted.h"
#include "topologies/import/nccl_nvlink.h"
#include "topologies/import/node_parts.h"
#include "topologies/import/pcie_link.h"
#include "topologies/import/readers.h"
#include "topologies/import/xml_file.h"

namespace transload {
namespace {

constexpr std::int64_t kBytesPerMegabit = 125'000;

struct Reading {
  Reading(const XmlFile& parsed, const std::string& name) : xml(parsed), file(name) {}

  const XmlFile& xml;
  const std::string& file;
  ImportFindings findings;
  std::vector<FoundGpu> gpus;
  NvLinksByBus nvlinks;
  std::vector<FoundNic> nics;
  std::vector<std::string> ports;      // of nics, as the file has them
  std::vector<std::string> unclassed;  // devices of which the file does not say what they are
  int first_unclassed_line = 0;
  std::set<std::string> hosts;
  IgnoredCounts ignored;
  std::size_t without_link_speed = 0;
  std::size_t without_link_width = 0;
  std::size_t class_by_id = 0;
  std::size_t nameless_nics = 0;
  std::int32_t next_id = 0;
};

std::string read_bus(Reading& reading, const pugi::xml_node& pci) {
  const std::string text = reading.xml.required(pci, "busid");
  std::string bus = normal_bus(text);
  if (bus.empty())
    reading.xml.fail(
        pci, fmt::format("expected a PCI address such as 0000:0f:00.0, found {}", text), "busid");
  return bus;
}

PciId read_id(Reading& reading, const pugi::xml_node& pci) {
  return {reading.xml.hex(pci, "vendor").value_or(0), reading.xml.hex(pci, "device").value_or(0)};
}

// Bytes/s of a device's slot; 0 where the file does not say. Linux, and so NCCL, writes "Unknown"
// or 0 lanes for the links of virtual machines.
std::int64_t read_link(Reading& reading, const pugi::xml_node& pci) {
  constexpr std::int64_t kUsualLanes = 16;
  const auto speed = reading.xml.text(pci, "link_speed");
  if (!speed || speed->starts_with("Unknown")) {
    ++reading.without_link_speed;
    return 0;
  }
  std::int64_t lanes = reading.xml.integer(pci, "link_width").value_or(0);
  if (lanes == 0) {
    ++reading.without_link_width;
    lanes = kUsualLanes;
  }
  const auto rate = pcie_rate(*speed, lanes);
  if (!rate)
    reading.xml.fail(
        pci,
        fmt::format("expected a PCIe signal rate such as \"32.0 GT/s PCIe\" and 1 to 32 "
                    "lanes, found \"{}\" and {}",
                    *speed, lanes),
        "link_speed");
  return *rate;
}

void add_gpu(Reading& reading, const pugi::xml_node& pci, const std::string& bus,
             const PciPlace& place) {
  FoundGpu found;
  found.gpu.bus = bus;
  found.gpu.pcie_rate = read_link(reading, pci);
  found.place = place;
  found.id = read_id(reading, pci);
  found.line = reading.xml.line(pci);
  if (const pugi::xml_node gpu = pci.child("gpu")) {
    found.order = reading.xml.integer(gpu, "dev");
    NvLinks links = read_nvlinks(reading.xml, gpu, reading.ignored);
    for (const NvLink& link : links.links)
      found.gpu.nvlink_links += static_cast<std::int32_t>(link.count);
    reading.nvlinks[bus] = std::move(links);
  }
  reading.gpus.push_back(std::move(found));
}

void add_nic(Reading& reading, FoundNic found, const std::string& port) {
  reading.nics.push_back(std::move(found));
  reading.ports.push_back(port);
}

// A <nic> has one <net> for each port that NCCL uses; each is a NIC of its own here.
void add_nets(Reading& reading, const pugi::xml_node& nic, const FoundNic& card) {
  for (const pugi::xml_node& net : nic.children()) {
    if (std::string(net.name()) != "net") {
      ++reading.ignored[fmt::format("<{}> of <nic>", net.name())];
      continue;
    }
    FoundNic found = card;
    found.nic.name = reading.xml.required(net, "name");
    const std::int64_t megabits = reading.xml.integer(net, "speed").value_or(0);
    if (megabits < 0 || megabits > 100'000'000)
      reading.xml.fail(net, fmt::format("expected a rate in Mb/s, found {}", megabits), "speed");
    found.nic.rate = megabits * kBytesPerMegabit;
    found.order = reading.xml.integer(net, "dev");
    found.line = reading.xml.line(net);
    add_nic(reading, std::move(found), reading.xml.text(net, "port").value_or(""));
  }
}

void add_network_card(Reading& reading, const pugi::xml_node& pci, const std::string& bus,
                      const PciPlace& place) {
  const PciId id = read_id(reading, pci);
  const NicProduct* product = find_nic_product(id);
  if (product != nullptr && !product->rdma) {
    ++reading.ignored[fmt::format("{} (no RDMA)", product->product)];
    return;
  }
  FoundNic found;
  found.nic.name = bus;
  found.nic.bus = bus;
  found.slot_rate = read_link(reading, pci);
  found.place = place;
  found.id = id;
  found.line = reading.xml.line(pci);
  if (const pugi::xml_node nic = pci.child("nic")) {
    add_nets(reading, nic, found);
    return;
  }
  ++reading.nameless_nics;
  add_nic(reading, std::move(found), "");
}

void walk_pci(Reading& reading, const pugi::xml_node& pci, PciPlace place);

void walk_bridge(Reading& reading, const pugi::xml_node& pci, PciPlace place) {
  place.bridges.push_back(reading.next_id++);
  for (const pugi::xml_node& child : pci.children()) {
    const std::string name = child.name();
    if (name == "pci") {
      walk_pci(reading, child, place);
    } else {
      ++reading.ignored[fmt::format("<{}> of a bridge", name)];
    }
  }
}

PciKind kind_of(Reading& reading, const pugi::xml_node& pci) {
  if (pci.child("gpu")) return PciKind::kGpu;
  if (pci.child("nic")) return PciKind::kNetwork;
  if (pci.child("pci")) return PciKind::kBridge;
  const PciId id = read_id(reading, pci);
  if (const auto code = reading.xml.hex(pci, "class")) return pci_kind(*code >> 8, id);
  const bool is_gpu = find_gpu_product(id) != nullptr;
  if (!is_gpu && find_nic_product(id) == nullptr) return PciKind::kOther;
  ++reading.class_by_id;
  return is_gpu ? PciKind::kGpu : PciKind::kNetwork;
}

void walk_pci(Reading& reading, const pugi::xml_node& pci, PciPlace place) {
  const std::string bus = read_bus(reading, pci);
  switch (kind_of(reading, pci)) {
    case PciKind::kGpu:
      return add_gpu(reading, pci, bus, place);
    case PciKind::kNetwork:
      return add_network_card(reading, pci, bus, place);
    case PciKind::kBridge:
      return walk_bridge(reading, pci, std::move(place));
    case PciKind::kNvSwitch:
      ++reading.ignored["PCI entries of NVSwitches"];
      return;
    case PciKind::kOther:
      break;
  }
  if (const auto code = reading.xml.text(pci, "class")) {
    ++reading.ignored[fmt::format("PCI devices of class {}", *code)];
    return;
  }
  if (reading.unclassed.empty()) reading.first_unclassed_line = reading.xml.line(pci);
  reading.unclassed.push_back(bus);
}

void walk_cpu(Reading& reading, const pugi::xml_node& cpu) {
  PciPlace place;
  place.socket = reading.next_id++;
  if (const auto numa = reading.xml.integer(cpu, "numaid")) {
    if (*numa < kUnknown || *numa > 4096)
      reading.xml.fail(cpu, fmt::format("expected a NUMA node, found {}", *numa), "numaid");
    place.numa = static_cast<std::int32_t>(*numa);
  } else {
    reading.findings.warnings.push_back(fmt::format(
        "line {}: the attribute numaid of <cpu> is missing; its devices get no NUMA node",
        reading.xml.line(cpu)));
  }
  if (const auto host = reading.xml.text(cpu, "host_hash")) reading.hosts.insert(*host);
  for (const pugi::xml_node& child : cpu.children()) {
    const std::string name = child.name();
    if (name == "pci") {
      walk_pci(reading, child, place);
    } else if (name == "nic") {
      FoundNic card;
      card.place = place;
      add_nets(reading, child, card);
    } else {
      ++reading.ignored[fmt::format("<{}> of <cpu>", name)];
    }
  }
}

// Two ports of one card may have one name; NCCL's own notation then tells them apart.
void name_ports(Reading& reading) {
  std::map<std::string, int> uses;
  for (const FoundNic& nic : reading.nics) ++uses[nic.nic.name];
  for (std::size_t nic = 0; nic < reading.nics.size(); ++nic) {
    std::string& name = reading.nics[nic].nic.name;
    if (uses[name] > 1 && !reading.ports[nic].empty()) name += ":" + reading.ports[nic];
  }
}

void refuse_nothing(const Reading& reading) {
  if (reading.hosts.size() > 1)
    throw InputError(
        {reading.file, 0, "cpu.host_hash"},
        fmt::format("the file describes {} hosts; expected a dump of one", reading.hosts.size()));
  if (!reading.gpus.empty()) return;
  if (reading.unclassed.empty()) throw InputError({reading.file, 0, ""}, "the file lists no GPU");
  throw InputError(
      {reading.file, reading.first_unclassed_line, "pci.class"},
      fmt::format("{} without a class ({}): GPUs cannot be told from NICs. NCCL completes such a "
                  "file from the machine itself; import what it dumps there (NCCL_TOPO_DUMP_FILE)",
                  counted(reading.unclassed.size(), "PCI device"), listed(reading.unclassed)));
}

void note_missing(Reading& reading) {
  std::vector<std::string>& warnings = reading.findings.warnings;
  if (reading.without_link_speed > 0)
    warnings.push_back(fmt::format("link_speed is missing at {}; their PCIe rate is left open",
                                   counted(reading.without_link_speed, "PCI device")));
  if (reading.without_link_width > 0)
    warnings.push_back(fmt::format("link_width is missing at {}; taken as 16 lanes",
                                   counted(reading.without_link_width, "PCI device")));
  if (reading.class_by_id > 0)
    warnings.push_back(fmt::format("class is missing at {}; taken from the device id",
                                   counted(reading.class_by_id, "PCI device")));
  if (reading.nameless_nics > 0)
    warnings.push_back(
        fmt::format("the file has no names for {}; each is called by its PCI address",
                    counted(reading.nameless_nics, "NIC")));
  for (const auto& [what, count] : reading.ignored)
    reading.findings.ignored.push_back(fmt::format("{} x {}", count, what));
  if (!reading.unclassed.empty())
    reading.findings.asked.push_back(
        fmt::format("pci: what are {}? The file gives them no class", listed(reading.unclassed)));
  const bool some = std::any_of(reading.gpus.begin(), reading.gpus.end(),
                                [](const FoundGpu& gpu) { return gpu.order.has_value(); });
  const bool all = std::all_of(reading.gpus.begin(), reading.gpus.end(),
                               [](const FoundGpu& gpu) { return gpu.order.has_value(); });
  if (some && !all)
    reading.findings.asked.push_back(
        "gpus: some GPUs have a number (gpu.dev) and some have none; is the order by PCI address, "
        "in "
        "which they are listed here, the order of CUDA devices?");
}

}  // namespace

ImportFindings read_nccl_xml(const std::string& text, const std::string& file) {
  const XmlFile xml(text, file);
  const pugi::xml_node system = xml.root();
  if (std::string(system.name()) != "system")
    xml.fail(system, "expected <system>, the outermost element of an NCCL topology");
  Reading reading(xml, file);
  reading.findings.kind = "nccl-xml";
  for (const pugi::xml_node& child : system.children()) {
    if (std::string(child.name()) != "cpu") xml.fail(child, "expected <cpu> elements in <system>");
    walk_cpu(reading, child);
  }
  refuse_nothing(reading);
  name_ports(reading);
  order_devices(reading.gpus, reading.nics, file);
  apply_products(reading.gpus, reading.nics, reading.findings);
  warn_of_odd_rates(reading.nics, reading.findings);
  find_nvlink_islands(reading.gpus, reading.nvlinks, reading.findings, reading.ignored);
  assemble_node(reading.gpus, reading.nics, BridgeForm::kSwitch, reading.findings);
  note_missing(reading);
  ask_for_missing(reading.findings);
  return std::move(reading.findings);
}

}  // namespace transload
