#include "planner/strategy/transload/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "common/error.h"
#include "common/units.h"
#include "planner/strategy/transload/way_ends.h"

namespace transload {
namespace {

constexpr int kRounds = 3;             // how often entries beyond the goal are placed once more
constexpr std::int64_t kQuarters = 4;  // parts of an entry that fits nowhere
constexpr std::int64_t kToleranceDivisor = 1000;  // of the goal
constexpr std::int64_t kPiecesPerPort = 1000;     // of the slowest NIC, by the goal

// The part of an entry that goes one way.
struct WayPiece {
  std::int64_t end = 0;  // begins where the one before ends
  Way way;
};

class Placer {
 public:
  Placer(const EntrySet& set, const PlacementInput& input, std::int64_t goal_ps)
      : set_(set),
        input_(input),
        goal_ps_(goal_ps + goal_ps / kToleranceDivisor),
        loads_(input.fabric, input.links),
        out_(input.fabric, input.links, input.may_help, EndFinder::Side::kOut,
             static_cast<bool>(input.may_pair)),
        in_(input.fabric, input.links, input.may_help, EndFinder::Side::kIn,
            static_cast<bool>(input.may_pair)) {
    for (const Route& route : set.rest.routes) loads_.add_route(route);
  }

  Placed place() {
    result_.set.receivers = set_.receivers;
    result_.set.rest = set_.rest;
    std::vector<std::vector<std::uint32_t>> children(set_.entries.size());
    std::vector<Unit> level;
    for (std::uint32_t e = 0; e < set_.entries.size(); ++e) {
      if (set_.entries[e].parent == kNoEntry)
        level.push_back({set_.entries[e], e});
      else
        children[set_.entries[e].parent].push_back(e);
    }
    while (!level.empty()) level = place_level(std::move(level), children);
    result_.most_ps = loads_.most();
    return std::move(result_);
  }

 private:
  struct Unit {
    Entry entry;
    std::uint32_t original = 0;  // its number in the set given
  };
  struct Candidate {
    Way way;
    std::int64_t hops = 0;
    std::int64_t narrow = 0;
    std::size_t use_first = 0;  // into uses_
    std::size_t use_count = 0;
  };

  // Places the entries and returns what forwards them.
  std::vector<Unit> place_level(std::vector<Unit> level,
                                const std::vector<std::vector<std::uint32_t>>& children) {
    std::vector<std::vector<WayPiece>> pieces(level.size());
    for (const std::uint32_t u : least_choice_first(level)) place_unit(level[u].entry, pieces[u]);
    for (int round = 0; round < kRounds && loads_.most() > goal_ps_; ++round)
      for (std::uint32_t u = 0; u < level.size(); ++u)
        if (is_late(level[u].entry, pieces[u])) {
          take_away(level[u].entry, pieces[u]);
          place_unit(level[u].entry, pieces[u]);
        }
    std::vector<Unit> next;
    for (std::uint32_t u = 0; u < level.size(); ++u) {
      Entry entry = level[u].entry;
      for (const WayPiece& piece : pieces[u]) {
        entry.end = piece.end;
        entry.way = piece.way;
        const auto number = static_cast<std::uint32_t>(result_.set.entries.size());
        result_.set.entries.push_back(entry);
        for (const std::uint32_t c : children[level[u].original]) {
          Unit child{set_.entries[c], c};
          child.entry.begin = std::max(child.entry.begin, entry.begin);
          child.entry.end = std::min(child.entry.end, entry.end);
          child.entry.parent = number;
          if (child.entry.begin < child.entry.end) next.push_back(child);
        }
        entry.begin = piece.end;
      }
    }
    return next;
  }

  // Those whom few ways suit without a hop, then large ones.
  std::vector<std::uint32_t> least_choice_first(const std::vector<Unit>& level) {
    std::vector<std::tuple<std::size_t, std::int64_t, std::uint32_t>> keys;
    for (std::uint32_t u = 0; u < level.size(); ++u) {
      const Entry& entry = level[u].entry;
      std::size_t straight = 0;
      find_candidates(entry);
      for (const Candidate& candidate : candidates_) straight += candidate.hops == 0 ? 1 : 0;
      keys.emplace_back(straight == 0 ? SIZE_MAX : straight, entry.begin - entry.end, u);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<std::uint32_t> order;
    for (const auto& [straight, bytes, unit] : keys) order.push_back(unit);
    return order;
  }

  const WayEnd& least(const WayEnds& ends, const EndGroup& group) const {
    const auto first = ends.ends.begin() + static_cast<std::ptrdiff_t>(group.first);
    const auto last = ends.ends.begin() + static_cast<std::ptrdiff_t>(group.last);
    return *std::min_element(first, last, [&](const WayEnd& a, const WayEnd& b) {
      return loads_.of(static_cast<std::uint32_t>(a.port)) <
             loads_.of(static_cast<std::uint32_t>(b.port));
    });
  }

  // Who has the bytes: the class's holders, or the rank that lands what the entry forwards.
  std::span<const Rank> having(const Entry& entry) const {
    if (entry.parent != kNoEntry) return {&result_.set.entries[entry.parent].way.landing, 1};
    return input_.problem.sets.of(input_.demand.classes[entry.demand_class].holders);
  }

  // The one with the least loaded NVLink in the sender's domain.
  Rank hands_on(std::span<const Rank> having, Rank sender) const {
    Rank best = kNone;
    const auto load = [&](Rank rank) {
      return loads_.of(static_cast<std::uint32_t>(
          input_.fabric.ranks[static_cast<std::size_t>(rank)].nvlink_out));
    };
    const auto domain = [&](Rank rank) {
      return input_.fabric.domain[static_cast<std::size_t>(rank)];
    };
    for (const Rank rank : having)
      if (domain(rank) == domain(sender) && (best == kNone || load(rank) < load(best))) best = rank;
    return best;
  }

  // At the loads of now: of equal ends the least loaded.
  void find_candidates(const Entry& entry) {
    candidates_.clear();
    uses_.clear();
    const std::span<const Rank> from = having(entry);
    const std::span<const Rank> to = set_.receivers.of(entry.receivers);
    const WayEnds& out = out_.of(from);
    const WayEnds& in = in_.of(to);
    landings_.clear();
    for (const EndGroup& group : in.groups) landings_.push_back(&least(in, group));
    for (const EndGroup& group : out.groups) {
      const WayEnd& sender = least(out, group);
      const Rank holder = sender.hop ? hands_on(from, sender.rank) : sender.rank;
      for (const WayEnd* landing : landings_) {
        if (input_.may_pair && !input_.may_pair(sender.rank, landing->rank)) continue;
        Candidate candidate;
        candidate.way = {holder, sender.rank, landing->rank, sender.port, landing->port};
        candidate.hops = (sender.hop ? 1 : 0) + (landing->hop ? 1 : 0);
        candidate.use_first = uses_.size();
        if (!loads_.uses(candidate.way, to, uses_)) continue;
        candidate.use_count = uses_.size() - candidate.use_first;
        candidate.narrow = loads_.narrow(uses_of(candidate));
        candidates_.push_back(candidate);
      }
    }
    if (candidates_.empty()) refuse(from, to);
  }

  [[noreturn]] void refuse(std::span<const Rank> from, std::span<const Rank> to) const {
    throw InputError(fmt::format(
        "ranks {} and {}: no NIC of the one reaches a NIC of the other, nor is there a way over "
        "NVLink through ranks of their domains that may help (options.helpers); their rails, "
        "planes or sites are not joined by any switch or link",
        from.front(), to.front()));
  }

  std::span<const WayUse> uses_of(const Candidate& candidate) const {
    return {uses_.data() + candidate.use_first, candidate.use_count};
  }

  void place_unit(const Entry& entry, std::vector<WayPiece>& pieces) {
    pieces.clear();
    std::int64_t at = entry.begin;
    const std::int64_t part = std::max(input_.smallest_piece, (entry.end - at) / kQuarters);
    while (at < entry.end) {
      find_candidates(entry);
      const std::int64_t rest = entry.end - at;
      const Candidate* best = that_fits(rest);
      std::int64_t bytes = rest;
      if (best == nullptr && (best = with_most_room(bytes)) == nullptr) {
        bytes = std::min(rest, part);
        best = least_late(bytes);
      }
      std::int64_t end = entry.end;
      if (bytes < rest)
        end = input_.cuts.near(entry.demand_class, at + bytes,
                               std::min(input_.smallest_piece, bytes / 2));
      if (end <= at || end > entry.end) end = entry.end;
      loads_.add(uses_of(*best), end - at);
      pieces.push_back({end, best->way});
      at = end;
    }
  }

  const Candidate* that_fits(std::int64_t bytes) const {
    const Candidate* best = nullptr;
    std::tuple<std::int64_t, std::int64_t, std::int64_t> least;
    for (const Candidate& candidate : candidates_) {
      const std::int64_t after = loads_.after(uses_of(candidate), bytes);
      if (after > goal_ps_) continue;
      const std::tuple key(candidate.narrow, candidate.hops, after);
      if (best != nullptr && !(key < least)) continue;
      best = &candidate;
      least = key;
    }
    return best;
  }

  // Sets `bytes` to what fits.
  const Candidate* with_most_room(std::int64_t& bytes) const {
    const Candidate* best = nullptr;
    std::tuple<std::int64_t, std::int64_t, std::int64_t> least;
    const std::int64_t smallest = std::min(input_.smallest_piece, bytes);
    for (const Candidate& candidate : candidates_) {
      const std::int64_t room = loads_.room(uses_of(candidate), goal_ps_);
      if (room < smallest) continue;
      const std::tuple key(candidate.narrow, candidate.hops, -room);
      if (best != nullptr && !(key < least)) continue;
      best = &candidate;
      least = key;
    }
    if (best != nullptr) bytes = std::min(bytes, -std::get<2>(least));
    return best;
  }

  const Candidate* least_late(std::int64_t bytes) const {
    const Candidate* best = nullptr;
    std::tuple<std::int64_t, std::int64_t> least;
    for (const Candidate& candidate : candidates_) {
      const std::tuple key(loads_.after(uses_of(candidate), bytes), candidate.hops);
      if (best != nullptr && !(key < least)) continue;
      best = &candidate;
      least = key;
    }
    return best;
  }

  template <class Visit>
  void for_each_use(const Entry& entry, const std::vector<WayPiece>& pieces, Visit&& visit) {
    std::int64_t at = entry.begin;
    for (const WayPiece& piece : pieces) {
      uses_.clear();
      loads_.uses(piece.way, set_.receivers.of(entry.receivers), uses_);
      visit(std::span<const WayUse>(uses_), piece.end - at);
      at = piece.end;
    }
  }

  bool is_late(const Entry& entry, const std::vector<WayPiece>& pieces) {
    bool late = false;
    for_each_use(entry, pieces, [&](std::span<const WayUse> uses, std::int64_t) {
      late |= loads_.after(uses, 0) > goal_ps_;
    });
    return late;
  }

  void take_away(const Entry& entry, const std::vector<WayPiece>& pieces) {
    for_each_use(entry, pieces, [&](std::span<const WayUse> uses, std::int64_t bytes) {
      loads_.add(uses, -bytes);
    });
  }

  const EntrySet& set_;
  const PlacementInput& input_;
  std::int64_t goal_ps_;  // with what rounding may add
  WayLoads loads_;
  EndFinder out_;
  EndFinder in_;
  Placed result_;
  std::vector<Candidate> candidates_;  // of the entry at hand
  std::vector<WayUse> uses_;
  std::vector<const WayEnd*> landings_;
};

// What NVLink alone serves is not placed.
std::int64_t busy_anyway(const EntrySet& set, const PlacementInput& input) {
  WayLoads loads(input.fabric, input.links);
  for (const Route& route : set.rest.routes) loads.add_route(route);
  return loads.most();
}

}  // namespace

std::int64_t smallest_piece(const Fabric& fabric, std::int64_t goal_ps) {
  const auto carried = static_cast<std::int64_t>(static_cast<__int128>(fabric.slowest_nic) *
                                                 goal_ps / kPicosecondsPerSecond);
  return std::max<std::int64_t>(1, carried / kPiecesPerPort);
}

Placed place(const EntrySet& set, const PlacementInput& input, std::int64_t goal_ps) {
  return Placer(set, input, goal_ps).place();
}

Placed place_best(const EntrySet& set, const PlacementInput& input, std::int64_t goal_ps) {
  constexpr std::size_t kTries = 5;
  constexpr std::size_t kEntriesTried = 100'000;  // of all tries together
  constexpr std::int64_t kCloseEnough = 200;      // part of the goal
  const auto holds = [](const Placed& placed, std::int64_t goal) {
    return placed.most_ps <= goal + 2 * goal / kToleranceDivisor;
  };
  goal_ps = std::max(goal_ps, busy_anyway(set, input));
  Placed best = place(set, input, goal_ps);
  std::int64_t low = goal_ps;
  const std::size_t tries =
      std::min(kTries, kEntriesTried / std::max<std::size_t>(1, set.entries.size()));
  for (std::size_t i = 0; i < tries && !holds(best, goal_ps); ++i) {
    if (best.most_ps - low <= low / kCloseEnough) break;
    const std::int64_t goal = low + (best.most_ps - low) / 2;
    Placed placed = place(set, input, goal);
    if (!holds(placed, goal)) low = goal;
    if (placed.most_ps < best.most_ps) best = std::move(placed);
  }
  return best;
}

}  // namespace transload
