#include "planner/schedule/check/memory_layout.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace transload {
namespace {

constexpr std::uint64_t kMaxRuns = std::uint64_t{1} << 24;

// Bytes from the first to past the last, leaving out the outermost `skip` loops.
std::uint64_t span_bytes(const MemoryLayout& layout, std::size_t skip = 0) {
  std::uint64_t bytes = layout.run;
  for (std::size_t l = skip; l < layout.loops.size(); ++l)
    bytes += (layout.loops[l].length - 1) * layout.loops[l].stride;
  return bytes;
}

// Every loop steps over all that is inside it: no byte twice. (Sufficient; others are expanded.)
bool is_nested(const MemoryLayout& layout) {
  for (std::size_t l = 0; l < layout.loops.size(); ++l)
    if (layout.loops[l].stride < span_bytes(layout, l + 1)) return false;
  return true;
}

struct Placed {
  MemoryLayout layout;
  std::size_t index;
};

struct ByteRun {
  std::uint64_t begin;
  std::uint64_t end;
  std::size_t index;
};

void expand(const Placed& placed, std::size_t loop, std::uint64_t offset,
            std::vector<ByteRun>& runs) {
  if (loop == placed.layout.loops.size()) {
    runs.push_back({offset, offset + placed.layout.run, placed.index});
    return;
  }
  const StrideLoop& at = placed.layout.loops[loop];
  for (std::uint64_t i = 0; i < at.length; ++i)
    expand(placed, loop + 1, offset + i * at.stride, runs);
}

OverlapResult compare_runs(std::span<const Placed> cluster) {
  std::uint64_t count = 0;
  for (const Placed& placed : cluster) {
    std::uint64_t runs = 1;
    for (const StrideLoop& loop : placed.layout.loops) {
      if (loop.length > kMaxRuns) return {Overlap::kUndecided, placed.index, placed.index};
      runs = std::min(runs * loop.length, kMaxRuns + 1);
    }
    count += runs;
    if (count > kMaxRuns) return {Overlap::kUndecided, cluster[0].index, placed.index};
  }
  std::vector<ByteRun> runs;
  runs.reserve(count);
  for (const Placed& placed : cluster) expand(placed, 0, placed.layout.offset, runs);
  std::sort(runs.begin(), runs.end(), [](const ByteRun& a, const ByteRun& b) {
    return std::tuple(a.begin, a.end, a.index) < std::tuple(b.begin, b.end, b.index);
  });
  for (std::size_t i = 1; i < runs.size(); ++i)
    if (runs[i].begin < runs[i - 1].end) return {Overlap::kFound, runs[i - 1].index, runs[i].index};
  return {};
}

OverlapResult find_in(std::vector<Placed> layouts);

// What the layout takes of one period of `stride`, as bytes from the period's beginning: all of
// its bytes modulo the stride, or more. False if that is no nested layout inside one period.
bool fold(MemoryLayout& layout, std::uint64_t base, std::uint64_t stride) {
  layout.offset -= base;
  if (!layout.loops.empty() && layout.loops[0].stride == stride) {
    layout.loops.erase(layout.loops.begin());
  } else if (!layout.loops.empty() && span_bytes(layout) > stride &&
             stride % layout.loops[0].stride == 0) {
    // Its own periods fill the longer one, whichever it begins with.
    layout.loops[0].length = stride / layout.loops[0].stride;
    layout.offset %= layout.loops[0].stride;
  }
  layout.offset %= stride;
  return layout.offset + span_bytes(layout) <= stride;
}

// Modulo the largest stride. Nothing found: disjoint.
bool disjoint_modulo_stride(std::span<const Placed> cluster) {
  std::uint64_t stride = 0;
  for (const Placed& placed : cluster)
    if (!placed.layout.loops.empty()) stride = std::max(stride, placed.layout.loops[0].stride);
  if (stride == 0) return false;
  const std::uint64_t base = cluster[0].layout.offset;  // the least: clusters are sorted
  std::vector<Placed> inner(cluster.begin(), cluster.end());
  for (Placed& placed : inner)
    if (!fold(placed.layout, base, stride)) return false;
  return find_in(std::move(inner)).overlap == Overlap::kDisjoint;
}

OverlapResult find_in_cluster(std::span<const Placed> cluster) {
  if (cluster.size() == 1 && is_nested(cluster[0].layout)) return {};
  const bool nested = std::all_of(cluster.begin(), cluster.end(),
                                  [](const Placed& placed) { return is_nested(placed.layout); });
  if (nested && disjoint_modulo_stride(cluster)) return {};
  return compare_runs(cluster);
}

// Splits into clusters of overlapping hulls.
OverlapResult find_in(std::vector<Placed> layouts) {
  std::sort(layouts.begin(), layouts.end(), [](const Placed& a, const Placed& b) {
    return std::pair(a.layout.offset, a.index) < std::pair(b.layout.offset, b.index);
  });
  for (std::size_t begin = 0; begin < layouts.size();) {
    std::uint64_t hull_end = layouts[begin].layout.offset + span_bytes(layouts[begin].layout);
    std::size_t end = begin + 1;
    for (; end < layouts.size() && layouts[end].layout.offset < hull_end; ++end)
      hull_end = std::max(hull_end, layouts[end].layout.offset + span_bytes(layouts[end].layout));
    const OverlapResult result = find_in_cluster(std::span(layouts).subspan(begin, end - begin));
    if (result.overlap != Overlap::kDisjoint) return result;
    begin = end;
  }
  return {};
}

}  // namespace

void normalise(MemoryLayout& layout) {
  std::erase_if(layout.loops, [](const StrideLoop& loop) { return loop.length == 1; });
  std::sort(layout.loops.begin(), layout.loops.end(), [](const StrideLoop& a, const StrideLoop& b) {
    return std::tuple(b.stride, b.length) < std::tuple(a.stride, a.length);
  });
  while (!layout.loops.empty() && layout.loops.back().stride == layout.run) {
    layout.run *= layout.loops.back().length;
    layout.loops.pop_back();
  }
  for (std::size_t l = layout.loops.size(); l-- > 1;) {
    const StrideLoop inner = layout.loops[l];
    if (layout.loops[l - 1].stride != inner.stride * inner.length) continue;
    layout.loops[l - 1] = {layout.loops[l - 1].length * inner.length, inner.stride};
    layout.loops.erase(layout.loops.begin() + static_cast<std::ptrdiff_t>(l));
  }
}

OverlapResult find_memory_overlap(std::span<const MemoryLayout> layouts) {
  std::vector<Placed> placed;
  placed.reserve(layouts.size());
  for (std::size_t i = 0; i < layouts.size(); ++i) placed.push_back({layouts[i], i});
  return find_in(std::move(placed));
}

}  // namespace transload
