#include "planner/strategy/transload/assign.h"

#include <algorithm>

#include "planner/strategy/transload/inside.h"
#include "planner/strategy/transload/lines.h"
#include "planner/strategy/transload/relays.h"
#include "planner/strategy/transload/relieve.h"
#include "planner/strategy/transload/route_layer.h"

namespace transload {
namespace {

// A cut may miss its exact place by this part of what the slowest NIC carries by the goal.
constexpr std::int64_t kCutsPerPort = 4000;

// How a stretch of a delivery comes into its domain.
enum class Way : std::uint8_t {
  kPrimary,    // from a holder, to be forwarded to the other domains
  kForwarded,  // from the primary domain
  kDirect,     // from a holder, for this domain only
};

struct Part {
  std::size_t delivery = 0;
  Way way = Way::kDirect;
  Stretch stretch;
  std::vector<Piece> source;  // empty for forwarded parts
  std::vector<Piece> landing;
};

class Assigner {
 public:
  Assigner(const ReshardProblem& problem, const Demand& demand, const Fabric& fabric,
           const TransloadOptions& options)
      : problem_(problem),
        demand_(demand),
        fabric_(fabric),
        options_(options),
        deliveries_(make_deliveries(problem, demand, fabric)),
        cuts_(problem, demand),
        goal_ps_(options.goal_ps),
        tolerance_(static_cast<std::int64_t>(static_cast<__int128>(fabric.slowest_nic) *
                                             options.goal_ps / 1'000'000'000'000 / kCutsPerPort)),
        landing_(landing_shares(deliveries_, demand, fabric, options.may_help, options.goal_ps)),
        source_(source_shares(problem, deliveries_, demand, fabric, options.may_help,
                              options.goal_ps, options.relay_use)),
        relays_(choose_relays(problem, deliveries_, demand, fabric, source_, landing_, cuts_,
                              options.goal_ps, tolerance_)),
        layer_(problem, deliveries_, fabric) {}

  RouteSet assign() {
    layer_.set().locals = deliveries_.locals;
    make_parts();
    cut_source_lines();
    cut_landing_lines();
    for (std::size_t p = 0; p < parts_.size();) p = add_class(p);
    RouteSet served = layer_.set();
    serve_inside(served, deliveries_, demand_, fabric_, cuts_, tolerance_, goal_ps_);
    if (!options_.any_course) return served;
    return relieve(
        layer_.set(), std::move(served),
        {problem_, demand_, fabric_, deliveries_, options_.may_help, cuts_, tolerance_, goal_ps_});
  }

 private:
  const Delivery& delivery_of(const Part& part) const { return deliveries_.network[part.delivery]; }
  std::uint32_t holders_of(const Part& part) const {
    return demand_.classes[part.stretch.demand_class].holders;
  }

  // By class: its primary parts, then forwarded, then direct ones.
  void make_parts() {
    for (std::uint32_t c = 0; c < demand_.classes.size(); ++c) {
      const std::int64_t scattered = relays_.scattered[c];
      const std::int64_t bytes = demand_.classes[c].bytes;
      const auto add = [&](std::size_t d, Way way, std::int64_t begin, std::int64_t end) {
        if (begin < end) parts_.push_back({d, way, {c, begin, end}, {}, {}});
      };
      const std::size_t first = deliveries_.class_first[c];
      const std::size_t last = deliveries_.class_first[c + 1];
      for (std::size_t d = first; d < last; ++d)
        add(d, Way::kPrimary, relays_.primary_begin[d], relays_.primary_end[d]);
      for (std::size_t d = first; d < last; ++d) {
        const bool primary = relays_.primary_begin[d] < relays_.primary_end[d];
        add(d, Way::kForwarded, 0, primary ? relays_.primary_begin[d] : scattered);
        if (primary) add(d, Way::kForwarded, relays_.primary_end[d], scattered);
      }
      for (std::size_t d = first; d < last; ++d) add(d, Way::kDirect, scattered, bytes);
    }
  }

  // Lays the parts of one way end to end, per rank set, and cuts them over the set's ports.
  template <class SetOf, class SharesOf, class PiecesOf>
  void cut_lines(Way way, std::size_t sets, SetOf&& set_of, SharesOf&& shares_of,
                 PiecesOf&& pieces_of, const std::vector<std::uint32_t>& order) {
    std::vector<std::vector<std::uint32_t>> lines(sets);
    for (const std::uint32_t p : order)
      if (parts_[p].way == way) lines[set_of(parts_[p])].push_back(p);
    std::vector<Stretch> stretches;
    for (std::size_t set = 0; set < sets; ++set) {
      if (lines[set].empty()) continue;
      stretches.clear();
      for (const std::uint32_t p : lines[set]) stretches.push_back(parts_[p].stretch);
      std::vector<std::vector<Piece>> pieces =
          cut_line(stretches, shares_of(set), cuts_, tolerance_);
      for (std::size_t i = 0; i < lines[set].size(); ++i)
        pieces_of(parts_[lines[set][i]]) = std::move(pieces[i]);
    }
  }

  std::vector<std::uint32_t> part_numbers() const {
    std::vector<std::uint32_t> numbers(parts_.size());
    for (std::uint32_t p = 0; p < parts_.size(); ++p) numbers[p] = p;
    return numbers;
  }

  // A source port serves one domain after the other, so that it has few peers.
  void cut_source_lines() {
    std::vector<std::uint32_t> by_domain = part_numbers();
    std::stable_sort(by_domain.begin(), by_domain.end(), [&](std::uint32_t a, std::uint32_t b) {
      return delivery_of(parts_[a]).domain < delivery_of(parts_[b]).domain;
    });
    for (const Way way : {Way::kPrimary, Way::kDirect})
      cut_lines(
          way, problem_.sets.size(), [&](const Part& part) { return holders_of(part); },
          [&](std::size_t set) -> std::span<const PortShare> { return source_.of[set]; },
          [](Part& part) -> std::vector<Piece>& { return part.source; }, by_domain);
  }

  void cut_landing_lines() {
    const std::vector<std::uint32_t> order = part_numbers();
    for (const Way way : {Way::kPrimary, Way::kForwarded, Way::kDirect})
      cut_lines(
          way, deliveries_.sets.size(),
          [&](const Part& part) { return delivery_of(part).receivers; },
          [&](std::size_t set) -> std::span<const PortShare> { return landing_[set]; },
          [](Part& part) -> std::vector<Piece>& { return part.landing; }, order);
  }

  // Routes of all parts of the class of part `first`; returns the first part of the next class.
  std::size_t add_class(std::size_t first) {
    const std::uint32_t c = parts_[first].stretch.demand_class;
    primaries_.clear();
    std::size_t p = first;
    for (; p < parts_.size() && parts_[p].stretch.demand_class == c; ++p) {
      if (parts_[p].way == Way::kForwarded)
        add_forwards(parts_[p]);
      else
        add_roots(parts_[p]);
    }
    return p;
  }

  void add_roots(const Part& part) {
    std::size_t s = 0;
    std::size_t l = 0;
    std::int64_t at = part.stretch.begin;
    while (s < part.source.size() && l < part.landing.size()) {
      const std::int64_t end = std::min(part.source[s].end, part.landing[l].end);
      if (at < end)
        add_root(part, at, end, source_.of[holders_of(part)][part.source[s].share],
                 landing_[delivery_of(part).receivers][part.landing[l].share]);
      if (part.source[s].end == end) ++s;
      if (part.landing[l].end == end) ++l;
      at = end;
    }
  }

  void add_root(const Part& part, std::int64_t begin, std::int64_t end, const PortShare& from,
                const PortShare& to) {
    Route route = stretch(part, begin, end);
    route.parent = layer_.bring_to(route, holders_of(part), from.rank);
    route.source = from.rank;
    route.out_port = from.port;
    const std::uint32_t added = layer_.land(route, delivery_of(part).receivers, to);
    if (part.way == Way::kPrimary) primaries_.push_back(added);
  }

  void add_forwards(const Part& part) {
    std::int64_t at = part.stretch.begin;
    for (const Piece& piece : part.landing) {
      const PortShare& to = landing_[delivery_of(part).receivers][piece.share];
      for (const std::uint32_t primary : primaries_) {
        const std::int64_t begin = std::max(at, layer_.set().routes[primary].begin);
        const std::int64_t end = std::min(piece.end, layer_.set().routes[primary].end);
        if (begin < end) add_forward(part, begin, end, primary, to);
      }
      at = piece.end;
    }
  }

  void add_forward(const Part& part, std::int64_t begin, std::int64_t end, std::uint32_t parent,
                   const PortShare& to) {
    Route route = stretch(part, begin, end);
    route.source = layer_.set().routes[parent].landing;
    route.out_port =
        layer_.loads().least(fabric_.ranks[static_cast<std::size_t>(route.source)].nic_out);
    route.parent = parent;
    layer_.land(route, delivery_of(part).receivers, to);
  }

  static Route stretch(const Part& part, std::int64_t begin, std::int64_t end) {
    Route route;
    route.demand_class = part.stretch.demand_class;
    route.begin = begin;
    route.end = end;
    return route;
  }

  const ReshardProblem& problem_;
  const Demand& demand_;
  const Fabric& fabric_;
  const TransloadOptions& options_;
  Deliveries deliveries_;
  ClassCuts cuts_;
  std::int64_t goal_ps_;
  std::int64_t tolerance_;
  std::vector<std::vector<PortShare>> landing_;
  SourceShares source_;
  Relays relays_;
  RouteLayer layer_;
  std::vector<Part> parts_;
  std::vector<std::uint32_t> primaries_;  // routes of the class at hand that others forward
};

}  // namespace

RouteSet assign_balanced(const ReshardProblem& problem, const Demand& demand, const Fabric& fabric,
                         const TransloadOptions& options) {
  return Assigner(problem, demand, fabric, options).assign();
}

}  // namespace transload
