#include "planner/strategy/nemo_bulk.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string>

#include "planner/strategy/route_list.h"

namespace transload {
namespace {

constexpr std::string_view kExperts = "experts.";

// Name without the expert's number: what NeMo RL groups into one call.
std::string entry_of(std::string_view name) {
  const auto at = name.find(kExperts);
  if (at == std::string_view::npos || !expert_of(name)) return std::string(name);
  const auto end = name.find('.', at + kExperts.size());
  return std::string(name.substr(0, at + kExperts.size())) + "*" +
         std::string(end == std::string_view::npos ? "" : name.substr(end));
}

// Bytes of a class that go to one member of the replica group first.
struct Stripe {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  Rank source = 0;
  std::size_t member = 0;
  bool whole = false;  // not a stripe: all that the replicas want, for a broadcast
};

class BulkAssigner {
 public:
  BulkAssigner(const ReshardProblem& problem, const Demand& bulk, const Fabric& fabric)
      : problem_(problem), bulk_(bulk), list_(fabric) {
    for (const std::string& name : problem.names)
      if (is_nemo_bulk(name) && expert_of(name)) ++experts_[entry_of(name)];
  }

  RouteSet run() {
    for (std::uint32_t c = 0; c < bulk_.classes.size(); ++c) assign(c);
    return list_.take();
  }

 private:
  void assign(std::uint32_t c) {
    const DemandClass& demand_class = bulk_.classes[c];
    const std::span<const Rank> holders = problem_.sets.of(demand_class.holders);
    const std::span<const Rank> replicas = problem_.sets.of(demand_class.receivers);
    std::vector<Stripe> stripes;
    std::int64_t at = 0;
    for (const DemandSlice& slice : demand_class.slices)
      at = add_stripes(slice, holders, replicas, at, stripes);
    for (const Stripe& stripe : stripes) send(c, stripe, replicas);
  }

  // Returns where the slice ends in the class's packed order.
  std::int64_t add_stripes(const DemandSlice& slice, std::span<const Rank> holders,
                           std::span<const Rank> replicas, std::int64_t at,
                           std::vector<Stripe>& stripes) {
    const TensorGroup& group = problem_.groups[slice.group];
    const std::int64_t bytes = slice_bytes(problem_, slice) / group.count;
    const auto count = static_cast<std::int64_t>(replicas.size());
    const Box region = box_of(problem_.layouts[group.destination], replicas.front(), slice.box);
    const Box held = box_of(problem_.layouts[group.source], holders.front(), slice.box);
    for (std::uint32_t i = 0; i < group.count; ++i, at += bytes) {
      const std::string& name = problem_.names[group.first + i];
      if (const auto expert = expert_of(name)) {
        const std::int64_t experts = experts_.at(entry_of(name));
        if (count > 1 && experts % count == 0 && *expert < experts &&
            (slice.box == region || slice.box == held))
          add(stripes, at, at + bytes, holders,
              static_cast<std::size_t>(*expert * count / experts));
        else
          add_whole(stripes, at, at + bytes, holders);
      } else if (count > 1 && region.dims() > 0 && region.extent(0) % count == 0 &&
                 (rows_are_whole(slice.box, region) || rows_are_whole(slice.box, held))) {
        add_rows(stripes, at, bytes, slice.box, region, holders, count);
      } else {
        add_whole(stripes, at, at + bytes, holders);
      }
    }
    return at;
  }

  // The part of each stripe of the region that lies in the box.
  void add_rows(std::vector<Stripe>& stripes, std::int64_t at, std::int64_t bytes, const Box& box,
                const Box& region, std::span<const Rank> holders, std::int64_t count) {
    const std::int64_t rows = region.extent(0) / count;
    const std::int64_t row_bytes = bytes / box.extent(0);
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t lo = std::max(box.lo(0), region.lo(0) + j * rows);
      const std::int64_t hi = std::min(box.hi(0), region.lo(0) + (j + 1) * rows);
      if (lo < hi)
        add(stripes, at + (lo - box.lo(0)) * row_bytes, at + (hi - box.lo(0)) * row_bytes, holders,
            static_cast<std::size_t>(j));
    }
  }

  // From the holders in turn.
  void add(std::vector<Stripe>& stripes, std::int64_t begin, std::int64_t end,
           std::span<const Rank> holders, std::size_t member) {
    if (begin == end) return;
    const bool continues = !stripes.empty() && !stripes.back().whole &&
                           stripes.back().member == member && stripes.back().end == begin;
    if (continues && holders.size() == 1) {
      stripes.back().end = end;
      return;
    }
    const Rank source = holders[turn_[holders.front()]++ % holders.size()];
    stripes.push_back({begin, end, source, member, false});
  }

  // From the first holder to the first replica.
  static void add_whole(std::vector<Stripe>& stripes, std::int64_t begin, std::int64_t end,
                        std::span<const Rank> holders) {
    if (begin == end) return;
    if (!stripes.empty() && stripes.back().whole && stripes.back().end == begin)
      stripes.back().end = end;
    else
      stripes.push_back({begin, end, holders.front(), 0, true});
  }

  // A stripe goes to its member and from there to every other replica, which is what an all-gather
  // moves over every port; a whole region passes from replica to replica, as a broadcast.
  void send(std::uint32_t c, const Stripe& stripe, std::span<const Rank> replicas) {
    const Rank member = replicas[stripe.member];
    std::uint32_t parent =
        list_.add_route(c, stripe.begin, stripe.end, stripe.source, member, kNoRoute);
    Rank from = member;
    for (std::size_t i = 1; i < replicas.size(); ++i) {
      const Rank to = replicas[(stripe.member + i) % replicas.size()];
      const std::uint32_t route = list_.add_route(c, stripe.begin, stripe.end, from, to, parent);
      if (!stripe.whole) continue;
      parent = route;
      from = to;
    }
  }

  static bool rows_are_whole(const Box& box, const Box& of) {
    for (std::size_t d = 1; d < box.dims(); ++d)
      if (box.extent(d) != of.extent(d)) return false;
    return true;
  }

  // The rank's box of the layout that contains `inner`.
  static Box box_of(const Layout& layout, Rank rank, const Box& inner) {
    for (const RankBox& shard : layout.shards)
      if (shard.rank == rank && contains(shard.box, inner)) return shard.box;
    return inner;
  }

  const ReshardProblem& problem_;
  const Demand& bulk_;
  RouteList list_;
  std::map<std::string, std::int64_t> experts_;  // by entry
  std::map<Rank, std::size_t> turn_;             // by first holder
};

}  // namespace

bool is_nemo_bulk(std::string_view name) {
  if (name.find("shared_expert") != std::string_view::npos || name.starts_with("mtp."))
    return false;
  constexpr std::array<std::string_view, 5> kEndings = {"gate_proj.weight", "up_proj.weight",
                                                        "down_proj.weight", "experts.gate_up_proj",
                                                        "experts.down_proj"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

std::optional<std::int64_t> expert_of(std::string_view name) {
  const auto at = name.find(kExperts);
  if (at == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const char* begin = name.data() + at + kExperts.size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), number);
  if (error != std::errc{} || end == begin) return std::nullopt;
  return number;
}

ReshardProblem with_pure_groups(const ReshardProblem& problem) {
  ReshardProblem pure = problem;
  pure.groups.clear();
  for (const TensorGroup& group : problem.groups) {
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const std::uint32_t tensor = group.first + i;
      const bool bulk = is_nemo_bulk(problem.names[tensor]);
      if (i > 0 && is_nemo_bulk(problem.names[tensor - 1]) == bulk) {
        ++pure.groups.back().count;
        continue;
      }
      TensorGroup part = group;
      part.first = tensor;
      part.count = 1;
      pure.groups.push_back(part);
    }
  }
  return pure;
}

Demand bulk_demand(const ReshardProblem& problem, const Demand& demand) {
  Demand bulk;
  for (const DemandClass& demand_class : demand.classes) {
    DemandClass part{demand_class.holders, demand_class.receivers, 0, {}};
    for (const DemandSlice& slice : demand_class.slices) {
      if (!is_nemo_bulk(problem.names[problem.groups[slice.group].first])) continue;
      part.slices.push_back(slice);
      part.bytes += slice_bytes(problem, slice);
    }
    if (!part.slices.empty()) bulk.classes.push_back(std::move(part));
  }
  return bulk;
}

RouteSet assign_bulk(const ReshardProblem& problem, const Demand& bulk, const Fabric& fabric) {
  return BulkAssigner(problem, bulk, fabric).run();
}

}  // namespace transload
