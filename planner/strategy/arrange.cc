#include "planner/strategy/arrange.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/error.h"
#include "common/units.h"
#include "planner/strategy/group_time.h"

namespace transload {
namespace {

// Fewer colours would leave ports idle where groups meet.
constexpr std::int64_t kLeastColours = 4;

// Chunk times until every port is busy and the last chunk is through. NVLink fan-out adds one. A
// landing that others wait for is forwarded to one after the other.
std::int64_t fill_chunks(const RouteTrees& trees) {
  if (trees.most_forwards() == 0) return trees.depth() - 1;
  return trees.most_forwards() + 1;
}

// Slots of a chunk that a rank is likely to need, in groups or windows: one with chunks in flight
// and one with chunks being copied, of what it sends and of what it lands, over NVLink as well;
// what it forwards stays one longer.
std::int64_t likely_slots(const Fabric& fabric, const RouteSet& routes, std::uint32_t width) {
  struct Bytes {
    std::int64_t sent = 0;
    std::int64_t landed = 0;
    std::int64_t fanned_in = 0;
    std::int64_t forwarded = 0;
  };
  std::vector<Bytes> of(fabric.ranks.size());
  for (const Route& route : routes.routes) {
    const std::int64_t bytes = route.end - route.begin;
    if (route.parent == kNoRoute)
      of[static_cast<std::size_t>(route.source)].sent += bytes;
    else
      of[static_cast<std::size_t>(route.source)].forwarded += bytes;
    of[static_cast<std::size_t>(route.landing)].landed += bytes;
    for (std::uint32_t i = 0; i < route.fan_out_count; ++i)
      of[static_cast<std::size_t>(routes.fan_out[route.fan_out_first + i])].fanned_in += bytes;
  }
  std::int64_t most = 1;
  for (const Bytes& rank : of) {
    std::int64_t groups = 0;
    if (rank.sent > 0) groups += 2;
    if (rank.landed > 0) groups += 2 + 2 * rank.fanned_in / rank.landed;
    if (rank.forwarded > 0) groups += 1;
    most = std::max(most, groups * width);
  }
  return most;
}

// Groups that pass until the last transfer is through. What streams is in the group of its landing.
std::int64_t group_stages(const RouteTrees& trees, const EmitOptions& options) {
  return options.stream_forwards ? 1 : trees.depth() - 1;
}

// Chunk and colours of issue groups, where they are left to the planner: groups `stretch` times as
// long as the formula says, of at most the default number of colours, of chunks that staging has
// room for.
void choose_group_shape(const Fabric& fabric, const RouteSet& routes, const RouteTrees& trees,
                        std::int64_t stretch, EmitOptions& shape) {
  const std::int64_t group = stretch * auto_group_bytes(fabric, routes, group_stages(trees, shape));
  const std::int64_t most = shape.colours;
  if (shape.auto_colours)
    shape.colours = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(group / kMinChunk, std::min(kLeastColours, most), most));
  const auto chunk = [&] {
    const std::int64_t staged = shape.staging_bytes / likely_slots(fabric, routes, shape.colours);
    return std::clamp(std::min(group / std::int64_t{shape.colours}, staged), kMinChunk, kMaxChunk);
  };
  shape.chunk_bytes = chunk();
  // Where the largest chunks give too many transfers already, at least not several times as many:
  // staging holds so many bytes of a group, and fewer colours make as long groups of larger chunks.
  // Elsewhere colours are worth more than they cost (measured: DeepSeek-V3 256 to 256 GPUs 6.2 %
  // over the bound with 16, 12.9 % with 8).
  const std::uint64_t transfers = most_transfers(fabric);
  if (!exceeds_transfers(routes, trees, kMaxChunk, transfers)) return;
  while (shape.auto_colours && shape.colours > kLeastColours &&
         exceeds_transfers(routes, trees, shape.chunk_bytes, transfers)) {
    shape.colours = std::max<std::uint32_t>(kLeastColours, shape.colours / 2);
    shape.chunk_bytes = chunk();
  }
}

// How much longer groups may be than the formula says: it takes every group's fill for lost, but
// where nothing is forwarded over a NIC only the first and the last are.
std::vector<std::int64_t> group_stretches(const RouteTrees& trees, const EmitOptions& options) {
  if (trees.depth() == 1 || options.stream_forwards) return {8, 4, 2};
  if (trees.most_forwards() == 0) return {4, 8, 2, 1};
  return {1, 2, 4};
}

// Whether the slots of the deeper window fit staging without smaller chunks; landings that are
// forwarded more often than it is deep gain nothing (measured: 1.32 x the bound instead of 1.10
// with 30 forwards of each).
bool deeper_window_pays(const Fabric& fabric, const RouteSet& routes, const RouteTrees& trees,
                        const EmitOptions& options) {
  if (trees.most_forwards() == 0 || trees.most_forwards() > std::int64_t{kForwardingWindow / 2})
    return false;
  const std::int64_t chunk =
      options.chunk_bytes > 0
          ? options.chunk_bytes
          : auto_chunk_bytes(fabric, routes, kForwardingWindow, fill_chunks(trees));
  return likely_slots(fabric, routes, kForwardingWindow) * chunk <=
         options.staging_bytes * kLeastSpareWindows / kSpareWindows;
}

class Arranger {
 public:
  Arranger(ClassRuns& runs, const Fabric& fabric, const RouteSet& routes, const RouteTrees& trees,
           const BlockBorders& borders, const EmitOptions& options)
      : runs_(runs),
        fabric_(fabric),
        routes_(routes),
        trees_(trees),
        borders_(borders),
        options_(options) {}

  Arrangement best() const {
    if (options_.chunk_bytes > 0) return fit(options_);
    return options_.discipline == Discipline::kGroups ? best_groups() : best_windows();
  }

 private:
  // Larger plans are shaped once: another try would take longer than it gains.
  static constexpr std::size_t kMostTriedHops = 20'000;

  Arrangement best_groups() const {
    return shortest(group_stretches(trees_, options_),
                    [&](std::int64_t stretch, EmitOptions& shape) {
                      choose_group_shape(fabric_, routes_, trees_, stretch, shape);
                    });
  }

  // The formula's fill is that of a schedule without gaps; with forwards there are gaps, which
  // shorter chunks make shorter.
  Arrangement best_windows() const {
    const std::int64_t slots =
        likely_slots(fabric_, routes_, options_.window) * kSpareWindows / kLeastSpareWindows;
    const std::int64_t chunk =
        std::clamp(options_.staging_bytes / slots, kMinChunk,
                   auto_chunk_bytes(fabric_, routes_, options_.window, fill_chunks(trees_)));
    std::vector<std::int64_t> divisors = {1};
    if (trees_.most_forwards() > 0 || options_.even_order) divisors = {1, 2, 4};
    return shortest(divisors, [&](std::int64_t divisor, EmitOptions& shape) {
      shape.chunk_bytes = std::max(kMinChunk, chunk / divisor);
    });
  }

  // Tries one shape after the other, and keeps the one that is through first by estimate.
  template <class Shape>
  Arrangement shortest(const std::vector<std::int64_t>& choices, Shape&& choose) const {
    Arrangement best;
    std::int64_t best_ps = 0;
    for (const std::int64_t choice : choices) {
      EmitOptions shape = options_;
      choose(choice, shape);
      if (best_ps > 0 && shape.chunk_bytes == best.shape.chunk_bytes &&
          shape.colours == best.shape.colours)
        continue;
      Arrangement next = fit(shape);
      const std::int64_t next_ps = estimate_ps(next);
      if (best_ps == 0 || next_ps < best_ps) {
        best_ps = next_ps;
        best = std::move(next);
      }
      if (best.hops.size() > kMostTriedHops) break;
    }
    return best;
  }

  // Under windows the list schedule and what every operation of the busiest port costs besides.
  std::int64_t estimate_ps(const Arrangement& plan) const {
    if (plan.shape.discipline == Discipline::kGroups)
      return group_makespan_ps(plan.hops, plan.chunks, fabric_);
    std::vector<std::int64_t> operations(fabric_.port_rate.size(), 0);
    for (const Hop& hop : plan.hops)
      for (const std::int32_t port : {hop.out_port, hop.in_port})
        if (fabric_.port_network[static_cast<std::size_t>(port)] != kNone)
          ++operations[static_cast<std::size_t>(port)];
    const std::int64_t most =
        operations.empty() ? 0 : *std::max_element(operations.begin(), operations.end());
    return plan.makespan_ps + most * fabric_.network_overhead_ps / plan.shape.window;
  }

  // The chunk, larger where there would be too many transfers. Where the largest gives too many as
  // well, issue groups take one that staging is likely to have room for: each smaller one to try
  // would take as long as all the rest of planning.
  std::int64_t within_transfers(const EmitOptions& shape) const {
    const std::uint64_t most = most_transfers(fabric_);
    std::int64_t chunk = shape.chunk_bytes;
    if (chunk >= kMaxChunk || !exceeds_transfers(routes_, trees_, chunk, most)) return chunk;
    std::int64_t largest = kMaxChunk;
    if (shape.discipline == Discipline::kGroups &&
        exceeds_transfers(routes_, trees_, kMaxChunk, most))
      largest = std::clamp(shape.staging_bytes / likely_slots(fabric_, routes_, shape.colours),
                           chunk, kMaxChunk);
    while (chunk < largest && exceeds_transfers(routes_, trees_, chunk, most))
      chunk = std::min(largest, chunk * 5 / 4);
    return chunk;
  }

  // Makes the chunk larger where there would be too many transfers, smaller where staging has no
  // room; then the window or the colours fewer.
  Arrangement fit(EmitOptions shape) const {
    const bool grouped = shape.discipline == Discipline::kGroups;
    bool counted = options_.chunk_bytes > 0;
    while (true) {
      if (!counted) shape.chunk_bytes = within_transfers(shape);
      counted = true;
      Arrangement result{
          shape, cut_chunks(routes_, trees_, shape.chunk_bytes, borders_), {}, {}, 0};
      OrderedHops ordered = order_hops(runs_, fabric_, routes_, trees_, result.chunks, shape);
      result.hops = std::move(ordered.hops);
      result.makespan_ps = ordered.makespan_ps;
      std::uint32_t& width = grouped ? shape.colours : shape.window;
      if (grouped && width > 1 &&
          most_operations_per_group(result.hops, fabric_.ranks.size()) >
              shape.operations_per_group) {
        width = std::max<std::uint32_t>(1, width / 2);
        continue;
      }
      result.need = assign_slots(result.hops, result.chunks, fabric_, shape);
      if (result.need.most_bytes <= shape.staging_bytes) return result;
      if (shape.chunk_bytes > kMinChunk) {
        // One step to the size that fits if the number of slots stays as it is.
        const auto fitting =
            static_cast<std::int64_t>(static_cast<__int128>(shape.chunk_bytes) *
                                      shape.staging_bytes / result.need.most_bytes);
        shape.chunk_bytes = std::clamp(std::min(fitting, shape.chunk_bytes * 15 / 16), kMinChunk,
                                       shape.chunk_bytes - 1);
      } else if (width > 2) {
        width = std::max<std::uint32_t>(2, width / 2);
      } else {
        throw InputError(fmt::format(
            "options.staging_bytes: rank {} needs at least {} of staging (chunks of {}, {} {}), "
            "the limit is {}",
            result.need.most_rank, format_bytes(static_cast<double>(result.need.most_bytes)),
            format_bytes(static_cast<double>(shape.chunk_bytes)), grouped ? "colours" : "window",
            width, format_bytes(static_cast<double>(shape.staging_bytes))));
      }
    }
  }

  ClassRuns& runs_;
  const Fabric& fabric_;
  const RouteSet& routes_;
  const RouteTrees& trees_;
  const BlockBorders& borders_;
  const EmitOptions& options_;
};

}  // namespace

Arrangement arrange(ClassRuns& runs, const Fabric& fabric, const RouteSet& routes,
                    const RouteTrees& trees, const BlockBorders& borders,
                    const EmitOptions& options) {
  EmitOptions shape = options;
  if (options.auto_window && deeper_window_pays(fabric, routes, trees, options))
    shape.window = std::max(shape.window, kForwardingWindow);
  return Arranger(runs, fabric, routes, trees, borders, shape).best();
}

}  // namespace transload
