#include "topologies/import/node_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "common/counted.h"
#include "common/error.h"
#include "common/units.h"

namespace transload {
namespace {

constexpr std::size_t kNamesListed = 8;

// Rates of one port in Gb/s: Ethernet from 1 to 800, InfiniBand of four lanes from SDR (10) to XDR.
constexpr std::array<std::int64_t, 12> kUsualGigabits = {1,  5,  10,  20,  25,  40,
                                                         50, 56, 100, 200, 400, 800};
constexpr std::int64_t kBytesPerGigabit = 125'000'000;

// `duplicate` names what two devices must not share; empty values are not compared.
template <typename Found, typename Key>
void refuse_duplicates(const std::vector<Found>& found, const std::string& file, const char* field,
                       Key key) {
  std::map<std::string, int> lines;
  for (const Found& device : found) {
    const std::string value = key(device);
    if (value.empty()) continue;
    const auto [first, is_new] = lines.try_emplace(value, device.line);
    if (!is_new)
      throw InputError({file, device.line, field},
                       fmt::format("{} is listed twice, first in line {}; expected one entry for "
                                   "each device",
                                   value, first->second));
  }
}

void refuse_too_many(std::size_t count, const char* noun, const std::string& file) {
  if (count > kMaxDevicesOfNode)
    throw InputError({file, 0, ""}, fmt::format("{} {} in one node; expected at most {}", count,
                                                noun, kMaxDevicesOfNode));
}

// Domains have four to eight digits, so that text order alone would be wrong.
std::tuple<std::size_t, std::string> bus_key(const std::string& bus) { return {bus.size(), bus}; }

}  // namespace

std::string listed(const std::vector<std::string>& names) {
  const auto shown = static_cast<std::ptrdiff_t>(std::min(names.size(), kNamesListed));
  std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  if (names.size() > kNamesListed) text += fmt::format(" and {} more", names.size() - kNamesListed);
  return text;
}

void order_devices(std::vector<FoundGpu>& gpus, std::vector<FoundNic>& nics,
                   const std::string& file) {
  refuse_too_many(gpus.size(), "GPUs", file);
  refuse_too_many(nics.size(), "NICs", file);
  refuse_duplicates(gpus, file, "GPU", [](const FoundGpu& gpu) { return gpu.gpu.bus; });
  refuse_duplicates(nics, file, "NIC", [](const FoundNic& nic) { return nic.nic.name; });
  const bool numbered = std::all_of(gpus.begin(), gpus.end(),
                                    [](const FoundGpu& gpu) { return gpu.order.has_value(); });
  if (numbered)
    refuse_duplicates(gpus, file, "gpu.dev",
                      [](const FoundGpu& gpu) { return fmt::format("GPU {}", *gpu.order); });
  std::stable_sort(gpus.begin(), gpus.end(), [&](const FoundGpu& a, const FoundGpu& b) {
    if (numbered) return *a.order < *b.order;
    return bus_key(a.gpu.bus) < bus_key(b.gpu.bus);
  });
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  std::stable_sort(nics.begin(), nics.end(), [&](const FoundNic& a, const FoundNic& b) {
    return std::tuple(a.order.value_or(kLast), bus_key(a.nic.bus)) <
           std::tuple(b.order.value_or(kLast), bus_key(b.nic.bus));
  });
  for (std::size_t index = 0; index < gpus.size(); ++index)
    gpus[index].gpu.name = fmt::format("GPU{}", index);
}

void apply_products(std::vector<FoundGpu>& gpus, std::vector<FoundNic>& nics,
                    ImportFindings& findings) {
  for (FoundGpu& gpu : gpus)
    if (const GpuProduct* product = find_gpu_product(gpu.id)) gpu.gpu.model = product->model;
  std::map<const NicProduct*, std::size_t> uses;
  for (FoundNic& nic : nics) {
    const NicProduct* product = find_nic_product(nic.id);
    if (product == nullptr || product->rate == 0 || nic.nic.rate > 0) continue;
    nic.nic.rate = product->rate;
    ++uses[product];
  }
  std::vector<std::string> notes;
  notes.reserve(uses.size());
  for (const auto& [product, count] : uses)
    notes.push_back(fmt::format(
        "rate of {}: {} each by their device id ({}; {})", counted(count, "NIC"),
        format_rate(static_cast<double>(product->rate)), product->product, product->source));
  std::sort(notes.begin(), notes.end());
  findings.warnings.insert(findings.warnings.end(), notes.begin(), notes.end());
}

void warn_of_odd_rates(const std::vector<FoundNic>& nics, ImportFindings& findings) {
  std::map<std::int64_t, std::vector<std::string>> odd;
  std::map<std::string, std::int64_t> rate_of_card;
  for (const FoundNic& nic : nics) {
    rate_of_card[nic.nic.bus] += nic.nic.rate;
    const bool usual = nic.nic.rate % kBytesPerGigabit == 0 &&
                       std::find(kUsualGigabits.begin(), kUsualGigabits.end(),
                                 nic.nic.rate / kBytesPerGigabit) != kUsualGigabits.end();
    if (nic.nic.rate > 0 && !usual) odd[nic.nic.rate].push_back(nic.nic.name);
  }
  for (const auto& [rate, names] : odd)
    findings.warnings.push_back(
        fmt::format("{} is no rate of Ethernet or InfiniBand; taken as stated for {}",
                    format_rate(static_cast<double>(rate)), listed(names)));
  std::set<std::string> seen;
  for (const FoundNic& nic : nics) {
    const std::int64_t card = rate_of_card[nic.nic.bus];
    if (nic.slot_rate == 0 || card <= nic.slot_rate || !seen.insert(nic.nic.bus).second) continue;
    findings.warnings.push_back(fmt::format("the ports of card {} have {}, its PCIe slot only {}",
                                            nic.nic.bus, format_rate(static_cast<double>(card)),
                                            format_rate(static_cast<double>(nic.slot_rate))));
  }
}

void assemble_node(const std::vector<FoundGpu>& gpus, const std::vector<FoundNic>& nics,
                   BridgeForm form, ImportFindings& findings) {
  ImportedNode& node = findings.node ? *findings.node : findings.node.emplace();
  std::vector<PciPlace> gpu_places;
  std::vector<PciPlace> nic_places;
  for (const FoundGpu& gpu : gpus) {
    node.gpus.push_back(gpu.gpu);
    gpu_places.push_back(gpu.place);
  }
  for (const FoundNic& nic : nics) {
    node.nics.push_back(nic.nic);
    nic_places.push_back(nic.place);
  }
  apply_places(node, gpu_places, nic_places, form);
}

void ask_for_missing(ImportFindings& findings) {
  const ImportedNode& node = *findings.node;
  std::vector<std::string> models;
  std::vector<std::string> rates;
  for (const ImportedGpu& gpu : node.gpus)
    if (gpu.model.empty()) models.push_back(gpu.name);
  for (const ImportedNic& nic : node.nics)
    if (nic.rate == 0) rates.push_back(nic.name);
  if (!models.empty())
    findings.asked.push_back(
        fmt::format("gpu: which model are {}? The file does not say", listed(models)));
  if (node.nics.empty())
    findings.asked.push_back(
        "nics: the file lists no network card; how many does the node have, of "
        "which rate, and which GPU is near which?");
  if (!rates.empty())
    findings.asked.push_back(
        fmt::format("nic: which network rate have {}? The file does not say", listed(rates)));
}

}  // namespace transload
