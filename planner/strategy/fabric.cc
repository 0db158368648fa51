#include "planner/strategy/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "common/check.h"
#include "planner/strategy/fabric_paths.h"
#include "topologies/paths.h"

namespace transload {
namespace {

// A port twice as fast as the slowest of its kind may have twice as many operations in flight.
constexpr std::uint32_t kMaxUnits = 64;

class FabricMaker {
 public:
  FabricMaker(PlanBuilder& builder, const Topology& topology, const ReshardProblem& problem,
              std::span<const Rank> helpers)
      : builder_(builder),
        topology_(topology),
        problem_(problem),
        helpers_(helpers),
        paths_(std::make_shared<FabricPaths>(builder, topology)) {}

  Fabric make() {
    for (const GpuModel& model : topology_.gpu_models) {
      std::vector<std::pair<std::uint64_t, std::int64_t>> rates;
      for (const CopyRate& rate : model.copy_rates)
        rates.emplace_back(static_cast<std::uint64_t>(rate.run_bytes), rate.efficiency_ppm);
      builder_.add_gpu_model(rates, model.quantise_ppm);
    }
    for (const Gpu& gpu : topology_.gpus) {
      const GpuModel& model = topology_.gpu_models[static_cast<std::size_t>(gpu.model)];
      builder_.add_rank(gpu.node, gpu.domain, gpu.model,
                        static_cast<std::uint64_t>(model.memory_bytes));
      fabric_.domain.push_back(gpu.domain);
      fabric_.node.push_back(gpu.node);
    }
    fabric_.ranks.resize(topology_.gpus.size());
    find_slowest();
    for (Rank rank : job_ranks()) add_rank_ports(rank);
    if (paths_->any())
      builder_.set_path_finder(
          [paths = std::move(paths_)](OpSpec& transfer) { paths->find(transfer); });
    return std::move(fabric_);
  }

 private:
  std::vector<Rank> job_ranks() const {
    std::vector<Rank> ranks;
    std::set_union(problem_.source_ranks.begin(), problem_.source_ranks.end(),
                   problem_.destination_ranks.begin(), problem_.destination_ranks.end(),
                   std::back_inserter(ranks));
    ranks.insert(ranks.end(), helpers_.begin(), helpers_.end());
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
  }

  void find_slowest() {
    const auto lower = [](std::int64_t& least, std::int64_t rate) {
      if (rate > 0 && (least == 0 || rate < least)) least = rate;
    };
    for (Rank rank : job_ranks()) {
      const Gpu& gpu = topology_.gpus[static_cast<std::size_t>(rank)];
      lower(slowest_nvlink_, gpu.nvlink_rate);
      for (std::int32_t nic : gpu.nics)
        lower(slowest_nic_, topology_.nics[static_cast<std::size_t>(nic)].rate);
      for (std::int32_t nic : gpu.nics) note_costs(topology_.nics[static_cast<std::size_t>(nic)]);
    }
  }

  void note_costs(const Nic& nic) {
    const LinkCosts& costs = nic_costs(topology_, nic);
    fabric_.network_overhead_ps =
        std::max(fabric_.network_overhead_ps, costs.latency_ps + costs.occupancy_ps);
    const std::int64_t rate = achieved_rate(nic.rate, costs);
    if (fabric_.slowest_nic == 0 || rate < fabric_.slowest_nic) fabric_.slowest_nic = rate;
  }

  // Networks that links between sites join are one.
  std::int32_t network_of(const Nic& nic) const {
    const std::int32_t root = switches_above(topology_, nic.leaf).back();
    const Switch& at = topology_.switches[static_cast<std::size_t>(root)];
    if (!at.gateway || topology_.wan_links.empty()) return root;
    std::vector<std::int32_t> joined = {at.site};
    for (std::size_t i = 0; i < joined.size(); ++i)
      for (const WanLink& link : topology_.wan_links)
        for (const auto& [here, there] :
             {std::pair(link.site_a, link.site_b), std::pair(link.site_b, link.site_a)})
          if (here == joined[i] && std::find(joined.begin(), joined.end(), there) == joined.end())
            joined.push_back(there);
    const std::int32_t first_site = *std::min_element(joined.begin(), joined.end());
    for (std::size_t i = 0; i < topology_.switches.size(); ++i)
      if (topology_.switches[i].gateway && topology_.switches[i].site == first_site)
        return static_cast<std::int32_t>(i);
    return root;
  }

  std::int32_t add_port(PortKind kind, Rank rank, std::uint32_t link, std::int64_t line,
                        std::int64_t slowest, const LinkCosts& costs, const std::string& name) {
    const auto units = static_cast<std::uint32_t>(
        slowest > 0 ? std::clamp<std::int64_t>(line / slowest, 1, kMaxUnits) : 1);
    fabric_.port_rate.push_back(achieved_rate(line, costs));
    fabric_.port_units.push_back(units);
    fabric_.port_network.push_back(kNone);
    fabric_.port_nic.push_back(kNone);
    return builder_.add_port(kind, rank, link, units, costs.latency_ps, costs.occupancy_ps, name);
  }

  void add_nic(Rank rank, std::int32_t index) {
    const Nic& nic = topology_.nics[static_cast<std::size_t>(index)];
    auto found = nic_ports_.find(index);
    if (found == nic_ports_.end()) {
      const LinkCosts& costs = nic_costs(topology_, nic);
      const std::int32_t network = network_of(nic);
      const auto add = [&](PortKind kind, LinkKind link_kind, const char* direction) {
        const std::string name = fmt::format("{}.{}", nic.name, direction);
        const std::uint32_t link =
            builder_.add_link(link_kind, nic.rate, costs.efficiency_ppm, name);
        const std::int32_t port = add_port(kind, rank, link, nic.rate, slowest_nic_, costs, name);
        fabric_.port_network.back() = network;
        fabric_.port_nic.back() = index;
        paths_->note_port(port, index);
        return port;
      };
      const std::int32_t out = add(PortKind::kNicOut, LinkKind::kNicOut, "out");
      const std::int32_t in = add(PortKind::kNicIn, LinkKind::kNicIn, "in");
      found = nic_ports_.emplace(index, std::pair(out, in)).first;
    }
    fabric_.ranks[static_cast<std::size_t>(rank)].nic_out.push_back(found->second.first);
    fabric_.ranks[static_cast<std::size_t>(rank)].nic_in.push_back(found->second.second);
  }

  void add_rank_ports(Rank rank) {
    const Gpu& gpu = topology_.gpus[static_cast<std::size_t>(rank)];
    RankPorts& ports = fabric_.ranks[static_cast<std::size_t>(rank)];
    for (std::int32_t nic : gpu.nics) add_nic(rank, nic);
    const std::string prefix = fmt::format("gpu{}", rank);
    if (gpu.nvlink_rate > 0) {
      const LinkCosts& costs = nvlink_costs(topology_, gpu);
      const auto add = [&](PortKind kind, LinkKind link_kind, const char* direction) {
        const std::string name = fmt::format("{}.nvlink.{}", prefix, direction);
        const std::uint32_t link =
            builder_.add_link(link_kind, gpu.nvlink_rate, costs.efficiency_ppm, name);
        return add_port(kind, rank, link, gpu.nvlink_rate, slowest_nvlink_, costs, name);
      };
      ports.nvlink_out = add(PortKind::kNvlinkOut, LinkKind::kNvlinkOut, "out");
      ports.nvlink_in = add(PortKind::kNvlinkIn, LinkKind::kNvlinkIn, "in");
    }
    const GpuModel& model = topology_.gpu_models[static_cast<std::size_t>(gpu.model)];
    const std::uint32_t hbm = builder_.add_link(LinkKind::kHbm, model.hbm_rate,
                                                model.copy.efficiency_ppm, prefix + ".hbm");
    ports.pack =
        add_port(PortKind::kPack, rank, hbm, model.hbm_rate, 0, model.copy, prefix + ".pack");
    ports.unpack =
        add_port(PortKind::kUnpack, rank, hbm, model.hbm_rate, 0, model.copy, prefix + ".unpack");
  }

  PlanBuilder& builder_;
  const Topology& topology_;
  const ReshardProblem& problem_;
  std::span<const Rank> helpers_;
  std::shared_ptr<FabricPaths> paths_;
  Fabric fabric_;
  std::int64_t slowest_nic_ = 0;
  std::int64_t slowest_nvlink_ = 0;
  std::map<std::int32_t, std::pair<std::int32_t, std::int32_t>> nic_ports_;
};

}  // namespace

Fabric add_fabric(PlanBuilder& builder, const Topology& topology, const ReshardProblem& problem,
                  std::span<const Rank> helpers) {
  return FabricMaker(builder, topology, problem, helpers).make();
}

void set_windows(PlanBuilder& builder, const Fabric& fabric, std::uint32_t window) {
  for (std::size_t port = 0; port < fabric.port_units.size(); ++port)
    builder.set_port_window(static_cast<std::int32_t>(port), window * fabric.port_units[port]);
}

}  // namespace transload
