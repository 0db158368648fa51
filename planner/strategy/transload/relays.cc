#include "planner/strategy/transload/relays.h"

#include <algorithm>
#include <numeric>

#include "planner/strategy/chunks.h"

namespace transload {
namespace {

// Smaller classes, and smaller parts of a class, go straight: they would cost more in operations
// than they bring.
constexpr std::int64_t kWorthRelaying = std::int64_t{48} << 20;

// Classes are relayed whole where no fewer than so many of them make up what is to be relayed.
constexpr std::int64_t kFewestWhole = 4;
// Classes among which the one to be relayed next is chosen.
constexpr std::size_t kLookedAt = 32;

// What the NICs of each rank can send by the goal, less what they send as sources. At least 1, so
// that shares can be taken of it.
std::vector<std::int64_t> spare_egress(const Fabric& fabric, const SourceShares& source,
                                       std::int64_t goal_ps) {
  std::vector<std::int64_t> load(fabric.port_rate.size(), 0);
  for (const std::vector<PortShare>& shares : source.of)
    for (const PortShare& share : shares) load[static_cast<std::size_t>(share.port)] += share.bytes;
  std::vector<std::int64_t> spare(fabric.ranks.size(), 1);
  for (std::size_t rank = 0; rank < fabric.ranks.size(); ++rank)
    for (const std::int32_t port : fabric.ranks[rank].nic_out) {
      const auto p = static_cast<std::size_t>(port);
      const auto carried = static_cast<std::int64_t>(static_cast<__int128>(fabric.port_rate[p]) *
                                                     goal_ps / 1'000'000'000'000);
      spare[rank] += std::max<std::int64_t>(0, carried - load[p]);
    }
  return spare;
}

// Of each class the share of it that its holder set may relay, and how many ranks want it.
struct Relayed {
  std::int64_t bytes = 0;
  std::int64_t copies = 0;
  std::uint64_t receivers = 0;
};

std::vector<Relayed> relayed_classes(const Deliveries& deliveries, const Demand& demand,
                                     const std::vector<std::uint32_t>& classes,
                                     std::int64_t excess) {
  __int128 saved = 0;
  for (const std::uint32_t c : classes)
    saved += static_cast<__int128>(demand.classes[c].bytes) *
             static_cast<std::int64_t>(deliveries.copies(c) - 1);
  std::vector<Relayed> relayed;
  for (const std::uint32_t c : classes) {
    Relayed row{demand.classes[c].bytes, static_cast<std::int64_t>(deliveries.copies(c)), 0};
    if (excess < saved) row.bytes = static_cast<std::int64_t>(row.bytes * __int128{excess} / saved);
    for (std::size_t d = deliveries.class_first[c]; d < deliveries.class_first[c + 1]; ++d)
      row.receivers += deliveries.sets.of(deliveries.network[d].receivers).size();
    relayed.push_back(row);
  }
  return relayed;
}

std::int64_t parts_of(std::int64_t bytes, std::int64_t smallest, std::int64_t copies) {
  return std::clamp<std::int64_t>(bytes / smallest, 1, copies);
}

// The smallest part of a class that is worth a primary domain of its own: `smallest`, or more until
// forwards are no more transfers than a plan may have. Hundreds of holder sets with a class for
// every domain would else exchange millions of small parts; there one domain per class is enough,
// as the classes spread over the domains.
std::int64_t smallest_part(const std::vector<Relayed>& relayed, std::uint64_t most_transfers,
                           std::int64_t smallest) {
  std::int64_t largest = 0;
  for (const Relayed& row : relayed) largest = std::max(largest, row.bytes);
  const auto forwards = [&] {
    std::uint64_t sum = 0;
    for (const Relayed& row : relayed)
      sum += static_cast<std::uint64_t>(parts_of(row.bytes, smallest, row.copies)) * row.receivers;
    return sum;
  };
  while (smallest < largest && forwards() > most_transfers) smallest *= 2;
  return smallest;
}

class RelayChooser {
 public:
  RelayChooser(const Deliveries& deliveries, const Demand& demand,
               const std::vector<std::vector<PortShare>>& landing, const ClassCuts& cuts,
               std::int64_t tolerance, std::int64_t smallest_part, bool whole,
               std::vector<std::int64_t> spare)
      : deliveries_(deliveries),
        demand_(demand),
        landing_(landing),
        cuts_(cuts),
        tolerance_(tolerance),
        smallest_part_(smallest_part),
        whole_(whole),
        spare_(std::move(spare)),
        room_(std::accumulate(spare_.begin(), spare_.end(), std::int64_t{0})),
        forwarded_(spare_.size(), 0) {
    relays_.scattered.assign(demand.classes.size(), 0);
    relays_.primary_begin.assign(deliveries.network.size(), 0);
    relays_.primary_end.assign(deliveries.network.size(), 0);
  }

  // Scatters `excess` bytes' worth of copies of the classes of one holder set.
  void relieve(const std::vector<std::uint32_t>& classes, std::int64_t excess) {
    for (const std::int64_t least : {std::min(worth_relaying(), excess), std::int64_t{1}}) {
      std::int64_t saved = 0;  // copies that relaying everything would save
      for (const std::uint32_t c : classes)
        if (bytes(c) >= least) saved += bytes(c) * (copies(c) - 1);
      if (saved < excess && least > 1) continue;
      if (saved == 0) return;
      std::vector<std::uint32_t> worth;
      for (const std::uint32_t c : classes)
        if (bytes(c) >= least && copies(c) > 1) worth.push_back(c);
      if (excess < saved && fine_enough(worth, excess))
        scatter_whole(std::move(worth), excess);
      else
        for (const std::uint32_t c : worth) scatter(c, excess, saved);
      return;
    }
  }

  Relays take() { return std::move(relays_); }

 private:
  std::int64_t bytes(std::uint32_t c) const { return demand_.classes[c].bytes; }
  std::int64_t copies(std::uint32_t c) const {
    return static_cast<std::int64_t>(deliveries_.copies(c));
  }
  const std::vector<PortShare>& landing(std::size_t delivery) const {
    return landing_[deliveries_.network[delivery].receivers];
  }
  std::int64_t worth_relaying() const {
    return std::max<std::int64_t>(1, std::min(kWorthRelaying, 4 * tolerance_));
  }
  // What the ranks that land the delivery can send, and a measure of how much of it is taken.
  std::int64_t spare(std::size_t delivery) const {
    std::int64_t sum = 0;
    for (const PortShare& share : landing(delivery))
      sum += spare_[static_cast<std::size_t>(share.rank)];
    return sum;
  }
  __int128 fullness(std::size_t delivery) const {
    __int128 sum = 0;
    __int128 bytes = 0;
    for (const PortShare& share : landing(delivery)) {
      const auto rank = static_cast<std::size_t>(share.rank);
      sum += static_cast<__int128>(share.bytes) * (forwarded_[rank] * 1000 / spare_[rank]);
      bytes += share.bytes;
    }
    return sum * 1000 / bytes;
  }
  void add_forwarded(std::size_t delivery, std::int64_t forwarded) {
    std::int64_t bytes = 0;
    for (const PortShare& share : landing(delivery)) bytes += share.bytes;
    for (const PortShare& share : landing(delivery))
      forwarded_[static_cast<std::size_t>(share.rank)] +=
          static_cast<std::int64_t>(static_cast<__int128>(forwarded) * share.bytes / bytes);
  }

  // Whole classes make fewer and longer routes than a share of every class, where there are enough
  // of them.
  bool fine_enough(const std::vector<std::uint32_t>& classes, std::int64_t excess) const {
    std::int64_t most = 0;
    for (const std::uint32_t c : classes) most = std::max(most, bytes(c) * (copies(c) - 1));
    return most <= excess / kFewestWhole;
  }

  // Class after class, the one whose domains forward least so far first; of the last one a share.
  void scatter_whole(std::vector<std::uint32_t> classes, std::int64_t excess) {
    // Sets start at different places, so that the few that are looked at differ.
    std::rotate(classes.begin(),
                classes.begin() + static_cast<std::ptrdiff_t>(classes.front() % classes.size()),
                classes.end());
    while (excess > 0 && !classes.empty()) {
      const std::size_t looked_at = std::min(classes.size(), kLookedAt);
      std::size_t best = 0;
      __int128 least = least_fullness(classes[0]);
      for (std::size_t i = 1; i < looked_at; ++i) {
        const __int128 fullness = least_fullness(classes[i]);
        if (fullness < least) {
          least = fullness;
          best = i;
        }
      }
      const std::uint32_t c = classes[best];
      classes.erase(classes.begin() + static_cast<std::ptrdiff_t>(best));
      const std::int64_t saves = bytes(c) * (copies(c) - 1);
      scatter(c, excess, saves);
      excess -= saves;
    }
  }

  __int128 least_fullness(std::uint32_t c) const {
    __int128 least = fullness(deliveries_.class_first[c]);
    for (std::size_t d = deliveries_.class_first[c] + 1; d < deliveries_.class_first[c + 1]; ++d)
      least = std::min(least, fullness(d));
    return least;
  }

  // The share excess / saved of the class, at most all of it.
  void scatter(std::uint32_t c, std::int64_t excess, std::int64_t saved) {
    auto exact = static_cast<std::int64_t>(
        (static_cast<__int128>(bytes(c)) * std::min(excess, saved) + saved - 1) / saved);
    if (whole_ && exact >= bytes(c) / 2 && bytes(c) * (copies(c) - 1) <= room_) exact = bytes(c);
    room_ -= std::min(room_, exact * (copies(c) - 1));
    const std::int64_t end =
        exact >= bytes(c) ? bytes(c) : cuts_.near(c, exact, std::min(tolerance_, exact / 2));
    relays_.scattered[c] = end;
    const std::vector<std::size_t> primaries = primaries_of(c, end);
    std::int64_t weight = 0;
    for (const std::size_t d : primaries) weight += spare(d);
    std::int64_t before = 0;
    std::int64_t at = 0;
    for (const std::size_t d : primaries) {
      before += spare(d);
      const auto wanted = static_cast<std::int64_t>(static_cast<__int128>(end) * before / weight);
      const std::int64_t to =
          d == primaries.back() ? end : std::clamp(cuts_.near(c, wanted, tolerance_), at, end);
      relays_.primary_begin[d] = at;
      relays_.primary_end[d] = to;
      add_forwarded(d, (to - at) * (copies(c) - 1));
      at = to;
    }
  }

  // Deliveries whose domains share the class, in order: all, or those with most to spare where the
  // parts would be too small.
  std::vector<std::size_t> primaries_of(std::uint32_t c, std::int64_t scattered) const {
    std::vector<std::size_t> all(deliveries_.copies(c));
    std::iota(all.begin(), all.end(), deliveries_.class_first[c]);
    const auto parts = static_cast<std::size_t>(parts_of(scattered, smallest_part_, copies(c)));
    if (parts == all.size()) return all;
    std::vector<std::pair<__int128, std::size_t>> by_fullness;
    for (const std::size_t d : all) by_fullness.emplace_back(fullness(d), d);
    std::sort(by_fullness.begin(), by_fullness.end());
    for (std::size_t i = 0; i < parts; ++i) all[i] = by_fullness[i].second;
    all.resize(parts);
    std::sort(all.begin(), all.end());
    return all;
  }

  const Deliveries& deliveries_;
  const Demand& demand_;
  const std::vector<std::vector<PortShare>>& landing_;
  const ClassCuts& cuts_;
  std::int64_t tolerance_;
  std::int64_t smallest_part_;
  bool whole_;  // too many forwards even of whole classes: no class goes both ways
  std::vector<std::int64_t> spare_;  // by domain: bytes that its NICs can send besides their own
  std::int64_t room_;                // bytes that all of them can still forward
  std::vector<std::int64_t> forwarded_;  // by domain
  Relays relays_;
};

}  // namespace

Relays choose_relays(const ReshardProblem& problem, const Deliveries& deliveries,
                     const Demand& demand, const Fabric& fabric, const SourceShares& source,
                     const std::vector<std::vector<PortShare>>& landing, const ClassCuts& cuts,
                     std::int64_t goal_ps, std::int64_t tolerance) {
  std::vector<std::vector<std::uint32_t>> classes(problem.sets.size());
  for (std::uint32_t c = 0; c < demand.classes.size(); ++c)
    if (source.excess[demand.classes[c].holders] > 0 && deliveries.copies(c) > 1)
      classes[demand.classes[c].holders].push_back(c);
  std::vector<Relayed> relayed;
  for (std::size_t set = 0; set < classes.size(); ++set) {
    const std::vector<Relayed> of_set =
        relayed_classes(deliveries, demand, classes[set], source.excess[set]);
    relayed.insert(relayed.end(), of_set.begin(), of_set.end());
  }
  const std::int64_t worth = std::max<std::int64_t>(1, std::min(kWorthRelaying, tolerance));
  const std::int64_t smallest = smallest_part(relayed, most_transfers(fabric), worth);
  const bool whole =
      smallest > worth && std::all_of(relayed.begin(), relayed.end(),
                                      [&](const Relayed& row) { return row.bytes <= smallest; });
  RelayChooser chooser(deliveries, demand, landing, cuts, tolerance, smallest, whole,
                       spare_egress(fabric, source, goal_ps));
  for (std::size_t set = 0; set < classes.size(); ++set)
    if (!classes[set].empty()) chooser.relieve(classes[set], source.excess[set]);
  return chooser.take();
}

}  // namespace transload
