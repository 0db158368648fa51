#include "planner/strategy/transload/shared_copies.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "common/units.h"
#include "planner/strategy/transload/way_ends.h"

namespace transload {
namespace {

// A class is cut over the domains that take it in turn where each part is worth this many smallest
// pieces; else one domain takes all of it.
constexpr std::int64_t kWorthCutting = 8;

constexpr int kRounds = 2;

// Cuts the entries of each class at the bytes given; children with their parents.
EntrySet cut_entries(const EntrySet& set,
                     const std::map<std::uint32_t, std::vector<std::int64_t>>& cuts_of_class) {
  EntrySet result;
  result.receivers = set.receivers;
  result.rest = set.rest;
  std::vector<std::uint32_t> first_piece;
  for (const Entry& entry : set.entries) {
    first_piece.push_back(static_cast<std::uint32_t>(result.entries.size()));
    Entry piece = entry;
    std::uint32_t parent = entry.parent == kNoEntry ? kNoEntry : first_piece[entry.parent];
    const auto add = [&](std::int64_t end) {
      if (parent != kNoEntry)
        while (result.entries[parent].end <= piece.begin) ++parent;
      piece.parent = parent;
      piece.end = end;
      result.entries.push_back(piece);
      piece.begin = end;
    };
    if (const auto found = cuts_of_class.find(entry.demand_class); found != cuts_of_class.end()) {
      const auto& cuts = found->second;
      for (auto cut = std::upper_bound(cuts.begin(), cuts.end(), entry.begin);
           cut != cuts.end() && *cut < entry.end; ++cut)
        add(*cut);
    }
    add(entry.end);
  }
  return result;
}

std::vector<std::uint32_t> depths(const EntrySet& set) {
  std::vector<std::uint32_t> depth;
  for (const Entry& entry : set.entries)
    depth.push_back(entry.parent == kNoEntry ? 0 : depth[entry.parent] + 1);
  return depth;
}

// Parents before children again, and every forward from where its parent lands.
void put_in_order(EntrySet& set) {
  const std::size_t count = set.entries.size();
  std::vector<std::vector<std::uint32_t>> children(count);
  std::vector<std::uint32_t> order;
  for (std::uint32_t e = 0; e < count; ++e) {
    if (set.entries[e].parent == kNoEntry)
      order.push_back(e);
    else
      children[set.entries[e].parent].push_back(e);
  }
  for (std::size_t i = 0; i < order.size(); ++i)
    order.insert(order.end(), children[order[i]].begin(), children[order[i]].end());
  std::vector<std::uint32_t> number(count);
  for (std::uint32_t i = 0; i < order.size(); ++i) number[order[i]] = i;
  std::vector<Entry> sorted;
  for (const std::uint32_t e : order) {
    sorted.push_back(set.entries[e]);
    Entry& entry = sorted.back();
    if (entry.parent == kNoEntry) continue;
    entry.parent = number[entry.parent];
    entry.way.holder = sorted[entry.parent].way.landing;
  }
  set.entries = std::move(sorted);
}

class Sharer {
 public:
  Sharer(const EntrySet& set, const PlacementInput& input, std::int64_t goal_ps)
      : set_(set),
        input_(input),
        goal_ps_(goal_ps),
        landings_(input.fabric, input.links, input.may_help, EndFinder::Side::kIn, false),
        forwarded_(input.fabric.ranks.size(), 0),
        landed_(input.fabric.port_rate.size(), 0) {
    for (const Entry& entry : set.entries) landed(entry.way.in_port) += entry.end - entry.begin;
  }

  // Shares what crosses the border of the pod in one direction.
  void relieve(const Pod& pod, bool inwards) {
    std::map<std::uint32_t, Crossing> crossing;
    std::int64_t total = 0;
    for (std::uint32_t e = 0; e < set_.entries.size(); ++e)
      if (crosses(set_.entries[e], pod, inwards)) {
        const Entry& entry = set_.entries[e];
        total += entry.end - entry.begin;
        Crossing& of = crossing[entry.demand_class];
        of.bytes += entry.end - entry.begin;
        of.entries.push_back(e);
      }
    const auto carried = static_cast<std::int64_t>(static_cast<__int128>(pod.achieved_rate) *
                                                   goal_ps_ / kPicosecondsPerSecond);
    std::int64_t excess = total - carried;
    if (excess <= 0) return;
    std::vector<std::pair<std::int64_t, std::uint32_t>> by_saving;
    for (auto& [demand_class, of] : crossing) {
      of.domains = domains_of(of.entries);
      const std::int64_t saving = of.bytes - distinct(of.entries);
      if (of.domains.size() > 1 && saving > 0) by_saving.emplace_back(-saving, demand_class);
    }
    std::sort(by_saving.begin(), by_saving.end());
    std::map<std::uint32_t, std::vector<std::int64_t>> cuts;
    std::vector<std::pair<std::uint32_t, Parts>> chosen;
    for (const auto& [saving, demand_class] : by_saving) {
      if (excess <= 0) break;
      excess += saving;
      chosen.emplace_back(demand_class, parts_of(demand_class, crossing[demand_class]));
      std::vector<std::int64_t>& at = cuts[demand_class];
      for (const std::uint32_t e : crossing[demand_class].entries) {
        at.push_back(set_.entries[e].begin);
        at.push_back(set_.entries[e].end);
      }
      for (const auto& [end, domain] : chosen.back().second) at.push_back(end);
      std::sort(at.begin(), at.end());
      at.erase(std::unique(at.begin(), at.end()), at.end());
    }
    if (chosen.empty()) return;
    set_ = cut_entries(set_, cuts);
    depth_ = depths(set_);
    std::map<std::uint32_t, std::map<std::int64_t, std::vector<std::uint32_t>>> pieces;
    for (std::uint32_t e = 0; e < set_.entries.size(); ++e)
      if (cuts.contains(set_.entries[e].demand_class) && crosses(set_.entries[e], pod, inwards))
        pieces[set_.entries[e].demand_class][set_.entries[e].begin].push_back(e);
    for (const auto& [demand_class, parts] : chosen)
      for (const auto& [begin, copies] : pieces[demand_class]) share(copies, parts);
    put_in_order(set_);
  }

  EntrySet take() { return std::move(set_); }

 private:
  struct Crossing {
    std::int64_t bytes = 0;
    std::vector<std::uint32_t> entries;
    std::vector<std::int32_t> domains;
  };
  // Ends of consecutive parts of a class, and the domain that takes each from outside.
  using Parts = std::vector<std::pair<std::int64_t, std::int32_t>>;

  std::int32_t domain(Rank rank) const {
    return input_.fabric.domain[static_cast<std::size_t>(rank)];
  }

  static bool crosses(const Entry& entry, const Pod& pod, bool inwards) {
    const bool from = pod.has[static_cast<std::size_t>(entry.way.sender)];
    const bool to = pod.has[static_cast<std::size_t>(entry.way.landing)];
    return from != to && to == inwards;
  }

  // Bytes of the class that any of the entries carries.
  std::int64_t distinct(const std::vector<std::uint32_t>& entries) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    for (const std::uint32_t e : entries)
      ranges.emplace_back(set_.entries[e].begin, set_.entries[e].end);
    std::sort(ranges.begin(), ranges.end());
    std::int64_t sum = 0;
    std::int64_t covered = 0;
    for (const auto& [begin, end] : ranges) {
      sum += std::max<std::int64_t>(0, end - std::max(begin, covered));
      covered = std::max(covered, end);
    }
    return sum;
  }

  std::vector<std::int32_t> domains_of(const std::vector<std::uint32_t>& entries) const {
    std::vector<std::int32_t> domains;
    for (const std::uint32_t e : entries) domains.push_back(domain(set_.entries[e].way.landing));
    std::sort(domains.begin(), domains.end());
    domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
    return domains;
  }

  Parts parts_of(std::uint32_t demand_class, const Crossing& crossing) {
    const std::int64_t bytes = input_.demand.classes[demand_class].bytes;
    const auto copies = static_cast<std::int64_t>(crossing.domains.size());
    Parts parts;
    if (bytes / copies >= kWorthCutting * input_.smallest_piece) {
      for (std::int64_t i = 0; i < copies; ++i) {
        const std::int64_t end =
            i + 1 == copies
                ? bytes
                : input_.cuts.near(demand_class, bytes / copies * (i + 1), bytes / copies / 2);
        parts.emplace_back(end, crossing.domains[static_cast<std::size_t>(i)]);
      }
      return parts;
    }
    const std::int32_t least = *std::min_element(
        crossing.domains.begin(), crossing.domains.end(), [&](std::int32_t a, std::int32_t b) {
          return forwarded_[static_cast<std::size_t>(a)] < forwarded_[static_cast<std::size_t>(b)];
        });
    forwarded_[static_cast<std::size_t>(least)] += bytes * (copies - 1);
    parts.emplace_back(bytes, least);
    return parts;
  }

  // `copies`: entries of one byte range into several domains. One stays; it is one that comes
  // straightest, so that nothing forwards what it is made from.
  void share(const std::vector<std::uint32_t>& copies, const Parts& parts) {
    const std::int64_t begin = set_.entries[copies.front()].begin;
    const auto part =
        std::find_if(parts.begin(), parts.end(), [&](const auto& at) { return begin < at.first; });
    const auto key = [&](std::uint32_t e) {
      const bool in_turn = domain(set_.entries[e].way.landing) == part->second;
      return std::pair(depth_[e], in_turn ? 0 : 1);
    };
    const std::uint32_t first =
        *std::min_element(copies.begin(), copies.end(),
                          [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    for (const std::uint32_t e : copies)
      if (e != first) forward(set_.entries[first], first, set_.entries[e]);
  }

  void forward(const Entry& from, std::uint32_t parent, Entry& entry) {
    entry.parent = parent;
    Way& way = entry.way;
    way.holder = way.sender = from.way.landing;
    const RankPorts& ports = input_.fabric.ranks[static_cast<std::size_t>(way.sender)];
    way.out_port = ports.nic_out.front();
    for (std::size_t i = 0; i < ports.nic_in.size() && i < ports.nic_out.size(); ++i)
      if (ports.nic_in[i] == from.way.in_port) way.out_port = ports.nic_out[i];
    // The landing was balanced: it stays where it can.
    const std::int32_t leaf = input_.links.leaf(way.out_port);
    if (input_.links.leaf(way.in_port) == leaf) return;
    const WayEnd* best = nullptr;
    const auto key = [&](const WayEnd& end) { return std::pair(end.hop, landed(end.port)); };
    for (const WayEnd& end : landings_.of(set_.receivers.of(entry.receivers)).ends)
      if (end.leaf == leaf && (best == nullptr || key(end) < key(*best))) best = &end;
    if (best == nullptr) return;
    const std::int64_t bytes = entry.end - entry.begin;
    landed(way.in_port) -= bytes;
    landed(best->port) += bytes;
    way.landing = best->rank;
    way.in_port = best->port;
  }

  std::int64_t& landed(std::int32_t port) { return landed_[static_cast<std::size_t>(port)]; }

  EntrySet set_;
  const PlacementInput& input_;
  std::int64_t goal_ps_;
  EndFinder landings_;
  std::vector<std::int64_t> forwarded_;  // by domain
  std::vector<std::uint32_t> depth_;     // by entry
  std::vector<std::int64_t> landed_;     // by port
};

}  // namespace

EntrySet share_copies(const EntrySet& set, const std::vector<Pod>& pods,
                      const PlacementInput& input, std::int64_t goal_ps) {
  Sharer sharer(set, input, goal_ps);
  // What is forwarded out of a pod may burden another one.
  for (int round = 0; round < kRounds; ++round)
    for (const bool inwards : {false, true})
      for (const Pod& pod : pods) sharer.relieve(pod, inwards);
  return sharer.take();
}

}  // namespace transload
