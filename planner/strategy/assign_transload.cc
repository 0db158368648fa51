#include <algorithm>
#include <map>
#include <numeric>

#include "planner/strategy/routes.h"

namespace transload {
namespace {

// Pieces start on a boundary that every copy path likes.
constexpr std::int64_t kCutAlignment = 256;
// Below this a piece costs more in launches than spreading it gains.
constexpr std::int64_t kMinPiece = std::int64_t{1} << 20;

// Cuts [0, bytes) into `pieces` nearly equal ranges; returns their ends.
std::vector<std::int64_t> even_cuts(std::int64_t bytes, std::int64_t pieces) {
  std::vector<std::int64_t> cuts;
  for (std::int64_t i = 1; i <= pieces; ++i) {
    const auto exact = static_cast<std::int64_t>(static_cast<__int128>(bytes) * i / pieces);
    const std::int64_t end = i == pieces ? bytes : exact / kCutAlignment * kCutAlignment;
    if (cuts.empty() ? end > 0 : end > cuts.back()) cuts.push_back(end);
  }
  if (cuts.empty()) cuts.push_back(bytes);
  return cuts;
}

class Assigner {
 public:
  Assigner(const ReshardProblem& problem, const Demand& demand, const Fabric& fabric,
           std::int64_t piece_bytes)
      : problem_(problem),
        demand_(demand),
        fabric_(fabric),
        piece_bytes_(piece_bytes),
        loads_(fabric) {}

  RouteSet run() {
    for (std::uint32_t c : least_flexible_first()) assign_class(c);
    return std::move(set_);
  }

 private:
  // Data that few ranks hold leaves no choice, so it is placed before data that fills the gaps.
  std::vector<std::uint32_t> least_flexible_first() const {
    std::vector<std::uint32_t> order(demand_.classes.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto holders = [&](std::uint32_t c) {
      return problem_.sets.of(demand_.classes[c].holders).size();
    };
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (holders(a) != holders(b)) return holders(a) < holders(b);
      return demand_.classes[a].bytes > demand_.classes[b].bytes;
    });
    return order;
  }

  void assign_class(std::uint32_t c) {
    const DemandClass& demand_class = demand_.classes[c];
    const std::span<const Rank> holders = problem_.sets.of(demand_class.holders);
    std::map<std::int32_t, std::vector<Rank>> receivers_of_domain;
    for (Rank rank : problem_.sets.of(demand_class.receivers)) {
      if (std::binary_search(holders.begin(), holders.end(), rank))
        set_.locals.push_back({c, rank});
      else
        receivers_of_domain[domain(rank)].push_back(rank);
    }
    for (const auto& [domain_id, receivers] : receivers_of_domain) {
      std::vector<Rank> near;
      for (Rank holder : holders)
        if (domain(holder) == domain_id) near.push_back(holder);
      if (!near.empty())
        serve_inside(c, near, receivers);
      else
        serve_domain(c, holders, receivers);
    }
  }

  // Holders of the domain send straight to each receiver.
  void serve_inside(std::uint32_t c, const std::vector<Rank>& near,
                    const std::vector<Rank>& receivers) {
    const std::int64_t bytes = demand_.classes[c].bytes;
    const auto pieces =
        std::clamp<std::int64_t>(bytes / kMinPiece, 1, static_cast<std::int64_t>(near.size()));
    for (Rank receiver : receivers) {
      std::int64_t begin = 0;
      for (std::int64_t end : even_cuts(bytes, pieces)) {
        add_route(c, begin, end, near, receiver, {});
        begin = end;
      }
    }
  }

  // One network copy lands, in pieces, on all receivers; each piece is handed on to the others.
  void serve_domain(std::uint32_t c, std::span<const Rank> holders,
                    const std::vector<Rank>& receivers) {
    const std::int64_t bytes = demand_.classes[c].bytes;
    const bool fans_out = receivers.size() > 1 && can_fan_out(receivers);
    if (!fans_out) {
      for (Rank receiver : receivers) {
        std::int64_t begin = 0;
        for (std::int64_t end : even_cuts(bytes, pieces_of(bytes, holders.size(), 1))) {
          add_route(c, begin, end, holders, receiver, {});
          begin = end;
        }
      }
      return;
    }
    std::int64_t begin = 0;
    for (std::int64_t end : even_cuts(bytes, pieces_of(bytes, holders.size(), receivers.size()))) {
      const Rank landing = least_loaded_landing(receivers);
      std::vector<Rank> others;
      for (Rank rank : receivers)
        if (rank != landing) others.push_back(rank);
      add_route(c, begin, end, holders, landing, others);
      begin = end;
    }
  }

  // One piece per landing rank; more, of piece_bytes, where several holders can share the load.
  std::int64_t pieces_of(std::int64_t bytes, std::size_t holders, std::size_t landings) const {
    const std::int64_t by_size = holders > 1 ? (bytes + piece_bytes_ - 1) / piece_bytes_ : 1;
    const std::int64_t wanted =
        std::max<std::int64_t>(by_size, static_cast<std::int64_t>(landings));
    return std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, bytes / kMinPiece));
  }

  bool can_fan_out(const std::vector<Rank>& receivers) const {
    return std::all_of(receivers.begin(), receivers.end(), [&](Rank rank) {
      return fabric_.ranks[static_cast<std::size_t>(rank)].nvlink_out != kNone;
    });
  }

  Rank least_loaded_landing(const std::vector<Rank>& receivers) const {
    return *std::min_element(receivers.begin(), receivers.end(),
                             [&](Rank a, Rank b) { return landing_load(a) < landing_load(b); });
  }

  std::int64_t landing_load(Rank rank) const {
    const std::vector<std::int32_t>& nics = fabric_.ranks[static_cast<std::size_t>(rank)].nic_in;
    return nics.empty() ? INT64_MAX : loads_.of(loads_.least(nics));
  }

  void add_route(std::uint32_t c, std::int64_t begin, std::int64_t end,
                 std::span<const Rank> holders, Rank landing, const std::vector<Rank>& others) {
    const Rank source = least_loaded_holder(fabric_, loads_, holders, landing);
    const PortPair ports = choose_ports(fabric_, loads_, source, landing);
    loads_.add(ports.out, end - begin);
    loads_.add(ports.in, end - begin);
    Route route{c,
                begin,
                end,
                source,
                landing,
                ports.out,
                ports.in,
                static_cast<std::uint32_t>(set_.fan_out.size()),
                static_cast<std::uint32_t>(others.size())};
    set_.fan_out.insert(set_.fan_out.end(), others.begin(), others.end());
    set_.routes.push_back(route);
  }

  std::int32_t domain(Rank rank) const { return fabric_.domain[static_cast<std::size_t>(rank)]; }

  const ReshardProblem& problem_;
  const Demand& demand_;
  const Fabric& fabric_;
  std::int64_t piece_bytes_;
  PortLoads loads_;
  RouteSet set_;
};

}  // namespace

RouteSet assign_transload(const ReshardProblem& problem, const Demand& demand, const Fabric& fabric,
                          std::int64_t piece_bytes) {
  return Assigner(problem, demand, fabric, piece_bytes).run();
}

}  // namespace transload
