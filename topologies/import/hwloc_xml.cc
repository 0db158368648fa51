// hwloc's picture of one node, as `lstopo --of xml` writes it (hwloc 1 and 2; hwloc2.dtd).
//
// Objects nest: Machine, Package or Group with their NUMANode, then Bridge objects (bridge_type
// "0-1" is a host bridge, "1-1" a port of a PCIe switch or of the root complex) down to PCIDev,
// with OSDev objects for the drivers' names. hwloc knows the PCI tree and the rates of its links;
// it does not know NVLink, nor what a network card does on the wire.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <regex>

#include "common/counted.h"
#include "common/units.h"
#include "topologies/import/node_parts.h"
#include "topologies/import/readers.h"
#include "topologies/import/xml_file.h"

namespace transload {
namespace {

// Kinds of OSDev (hwloc_obj_osdev_type_e of hwloc 1 and 2).
constexpr std::int64_t kOsNetwork = 2;
constexpr std::int64_t kOsOpenFabrics = 3;
constexpr std::int64_t kOsCoProcessor = 5;

// No card that moves tensors sits behind a slot slower than this (PCIe 3 x8 has 7.9 GB/s). On HGX
// B200 and B300 the NVSwitches are managed through ConnectX-7 functions with one lane, which have
// the device id of ordinary cards.
constexpr std::int64_t kSlowestDataSlot = 7'000'000'000;

struct Reading {
  Reading(const XmlFile& parsed, const std::string& name) : xml(parsed), file(name) {}

  const XmlFile& xml;
  const std::string& file;
  ImportFindings findings;
  std::vector<FoundGpu> gpus;
  std::vector<FoundNic> nics;
  std::vector<std::string> without_rdma;
  std::vector<std::string> slow_slots;
  std::size_t nvswitches = 0;
  std::map<std::string, std::size_t> other_devices;
  std::int64_t memory_bytes = 0;
  std::int32_t next_id = 0;
};

struct PciType {
  std::int64_t class_code = 0;
  PciId id;
};

// "0302 [10de:2330] [10de:16c1] a1": class, [vendor:device], [subsystem], revision.
PciType read_type(const Reading& reading, const pugi::xml_node& object) {
  static const std::regex form("([0-9a-fA-F]{4}) \\[([0-9a-fA-F]{4}):([0-9a-fA-F]{4})\\].*");
  const std::string text = reading.xml.required(object, "pci_type");
  std::smatch parts;
  if (text.size() > 100 || !std::regex_match(text, parts, form))
    reading.xml.fail(
        object, fmt::format("expected a class and ids such as 0302 [10de:2330], found {}", text),
        "pci_type");
  const auto hex = [&](std::size_t part) {
    return static_cast<std::int64_t>(std::stol(parts[part].str(), nullptr, 16));
  };
  return {hex(1), {hex(2), hex(3)}};
}

std::string read_bus(const Reading& reading, const pugi::xml_node& object) {
  const std::string text = reading.xml.required(object, "pci_busid");
  std::string bus = normal_bus(text);
  if (bus.empty())
    reading.xml.fail(object,
                     fmt::format("expected a PCI address such as 0000:0f:00.0, found {}", text),
                     "pci_busid");
  return bus;
}

// hwloc writes GB/s after line encoding; 0 where the link is unknown.
std::int64_t read_link(const Reading& reading, const pugi::xml_node& object) {
  const auto text = reading.xml.text(object, "pci_link_speed");
  if (!text) return 0;
  const auto rate = parse_rate(*text + "GB/s");
  if (!rate)
    reading.xml.fail(object, fmt::format("expected a rate in GB/s, found {}", *text),
                     "pci_link_speed");
  return *rate;
}

// The NUMA node that a nodeset names, unknown where it names several or none. Words of 32 bits, the
// most significant first, an empty one is 0.
std::int32_t single_node(const std::string& nodeset) {
  std::int32_t word_count =
      1 + static_cast<std::int32_t>(std::count(nodeset.begin(), nodeset.end(), ','));
  std::int32_t node = kUnknown;
  std::size_t begin = 0;
  while (word_count-- > 0) {
    const std::size_t end = std::min(nodeset.find(',', begin), nodeset.size());
    std::string word = nodeset.substr(begin, end - begin);
    begin = end + 1;
    if (word.starts_with("0x")) word.erase(0, 2);
    std::uint32_t bits = 0;
    const char* last = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), last, bits, 16);
    if (!word.empty() && (error != std::errc{} || rest != last)) return kUnknown;
    if (bits == 0) continue;
    if (node != kUnknown || (bits & (bits - 1)) != 0) return kUnknown;
    node = 32 * word_count + __builtin_ctz(bits);
  }
  return node;
}

std::vector<std::string> device_names(const Reading& reading, const pugi::xml_node& device,
                                      std::int64_t kind) {
  std::vector<std::string> names;
  for (const pugi::xml_node& child : device.children("object"))
    if (reading.xml.text(child, "type") == "OSDev" &&
        reading.xml.integer(child, "osdev_type") == kind)
      names.push_back(reading.xml.required(child, "name"));
  return names;
}

// The number of a CUDA device, which hwloc knows where it was built with CUDA.
std::optional<std::int64_t> cuda_number(const Reading& reading, const pugi::xml_node& device) {
  static const std::regex cuda("cuda([0-9]{1,6})");
  for (const std::string& name : device_names(reading, device, kOsCoProcessor)) {
    std::smatch parts;
    if (std::regex_match(name, parts, cuda)) return std::stol(parts[1].str());
  }
  return std::nullopt;
}

void add_gpu(Reading& reading, const pugi::xml_node& object, const PciType& type,
             const PciPlace& place) {
  FoundGpu found;
  found.gpu.bus = read_bus(reading, object);
  found.gpu.pcie_rate = read_link(reading, object);
  found.place = place;
  found.id = type.id;
  found.order = cuda_number(reading, object);
  found.line = reading.xml.line(object);
  reading.gpus.push_back(std::move(found));
}

void add_network_card(Reading& reading, const pugi::xml_node& object, const PciType& type,
                      const PciPlace& place) {
  const std::string bus = read_bus(reading, object);
  const std::vector<std::string> names = device_names(reading, object, kOsOpenFabrics);
  if (names.empty()) {
    const std::vector<std::string> plain = device_names(reading, object, kOsNetwork);
    reading.without_rdma.push_back(plain.empty() ? bus : plain.front());
    return;
  }
  const std::int64_t slot = read_link(reading, object);
  for (const std::string& name : names) {
    if (slot > 0 && slot < kSlowestDataSlot) {
      reading.slow_slots.push_back(
          fmt::format("{} ({})", name, format_rate(static_cast<double>(slot))));
      continue;
    }
    FoundNic found;
    found.nic.name = name;
    found.nic.bus = bus;
    found.slot_rate = slot;
    found.place = place;
    found.id = type.id;
    found.line = reading.xml.line(object);
    reading.nics.push_back(std::move(found));
  }
}

void add_device(Reading& reading, const pugi::xml_node& object, const PciPlace& place) {
  const PciType type = read_type(reading, object);
  switch (pci_kind(type.class_code, type.id)) {
    case PciKind::kGpu:
      return add_gpu(reading, object, type, place);
    case PciKind::kNetwork:
      return add_network_card(reading, object, type, place);
    case PciKind::kNvSwitch:
      ++reading.nvswitches;
      return;
    case PciKind::kBridge:
    case PciKind::kOther:
      ++reading.other_devices[fmt::format("{:04x}", type.class_code)];
  }
}

void enter_bridge(Reading& reading, const pugi::xml_node& object, PciPlace& place) {
  const std::string type = reading.xml.required(object, "bridge_type");
  const std::int32_t id = reading.next_id++;
  if (type == "0-1")
    place.host_bridge = id;
  else if (type == "1-1")
    place.bridges.push_back(id);
  else
    reading.xml.fail(object, fmt::format("expected 0-1 or 1-1, found {}", type), "bridge_type");
}

void enter_locality(Reading& reading, const pugi::xml_node& object, PciPlace& place) {
  const auto nodeset = reading.xml.text(object, "nodeset");
  if (!nodeset) return;
  place.numa = single_node(*nodeset);
  place.socket = place.numa;
}

void walk(Reading& reading, const pugi::xml_node& object, PciPlace place) {
  const std::string type = reading.xml.required(object, "type");
  if (type == "PCIDev") return add_device(reading, object, place);
  if (type == "Bridge")
    enter_bridge(reading, object, place);
  else
    enter_locality(reading, object, place);
  if (type == "NUMANode") {
    const std::int64_t bytes = reading.xml.integer(object, "local_memory").value_or(0);
    constexpr std::int64_t kMaxMemory = std::int64_t{1} << 50;
    if (bytes < 0 || bytes > kMaxMemory)
      reading.xml.fail(object, fmt::format("expected 0 to {} bytes, found {}", kMaxMemory, bytes),
                       "local_memory");
    reading.memory_bytes += bytes;
  }
  for (const pugi::xml_node& child : object.children("object")) walk(reading, child, place);
}

void note_left_out(Reading& reading, const pugi::xml_node& topology) {
  std::vector<std::string>& ignored = reading.findings.ignored;
  if (!reading.without_rdma.empty())
    ignored.push_back(fmt::format("{} without RDMA: {}",
                                  counted(reading.without_rdma.size(), "network card"),
                                  listed(reading.without_rdma)));
  if (!reading.slow_slots.empty())
    ignored.push_back(fmt::format(
        "{} in a slot too slow for data: {}; HGX B200 and B300 manage their NVSwitches through "
        "such "
        "functions",
        counted(reading.slow_slots.size(), "network card"), listed(reading.slow_slots)));
  for (const auto& [class_code, count] : reading.other_devices)
    ignored.push_back(fmt::format("{} x PCI devices of class {}", count, class_code));
  for (const pugi::xml_node& child : topology.children())
    if (std::string(child.name()).starts_with("distances"))
      ignored.push_back(fmt::format("<{}> {}", child.name(), child.attribute("name").value()));
}

// NVLink does not show in the PCI tree; only NVSwitches that are PCI devices do, and they join all
// GPUs of their board.
void settle_nvlink(Reading& reading) {
  const bool nvswitch = reading.nvswitches > 0;
  std::vector<std::string> open;
  std::int32_t island = nvswitch ? 1 : 0;
  for (FoundGpu& gpu : reading.gpus) {
    const GpuProduct* product = find_gpu_product(gpu.id);
    if (product != nullptr && !product->nvlink)
      gpu.gpu.nvlink_island = island++;
    else if (nvswitch)
      gpu.gpu.nvlink_island = 0;
    else
      open.push_back(gpu.gpu.name);
  }
  if (nvswitch)
    reading.findings.warnings.push_back(
        fmt::format("{} in the PCI tree: all GPUs are taken as one NVLink domain",
                    counted(reading.nvswitches, "NVSwitch device")));
  if (!open.empty())
    reading.findings.asked.push_back(fmt::format(
        "nvlink: hwloc does not know the NVLinks of {}; which GPUs share an NVLink domain?",
        listed(open)));
}

void check_version(const XmlFile& xml, const pugi::xml_node& topology) {
  const std::string version = xml.text(topology, "version").value_or("1.0");
  if (!version.starts_with("1.") && !version.starts_with("2."))
    xml.fail(topology, fmt::format("expected the form of hwloc 1 or 2, found {}", version),
             "version");
}

}  // namespace

ImportFindings read_hwloc_xml(const std::string& text, const std::string& file) {
  const XmlFile xml(text, file);
  const pugi::xml_node topology = xml.root();
  if (std::string(topology.name()) != "topology")
    xml.fail(topology, "expected <topology>, the outermost element of an hwloc export");
  check_version(xml, topology);
  Reading reading(xml, file);
  reading.findings.kind = "hwloc-xml";
  for (const pugi::xml_node& object : topology.children("object")) walk(reading, object, {});
  if (reading.gpus.empty())
    throw InputError({file, 0, ""},
                     "the file lists no GPU; export with lstopo --whole-io --of xml");
  order_devices(reading.gpus, reading.nics, file);
  apply_products(reading.gpus, reading.nics, reading.findings);
  warn_of_odd_rates(reading.nics, reading.findings);
  settle_nvlink(reading);
  reading.findings.node.emplace().host_memory_bytes = reading.memory_bytes;
  assemble_node(reading.gpus, reading.nics, BridgeForm::kPort, reading.findings);
  note_left_out(reading, topology);
  ask_for_missing(reading.findings);
  return std::move(reading.findings);
}

}  // namespace transload
