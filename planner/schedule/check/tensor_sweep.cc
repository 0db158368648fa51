#include "planner/schedule/check/tensor_sweep.h"

#include <algorithm>
#include <numeric>

namespace transload {
namespace {

constexpr std::size_t kTensorsPerCut = 4;

bool is_stepped(const SweepItem& item) { return item.tensor_step != 1 && item.tensor_count > 1; }

std::uint32_t hull_end(const SweepItem& item) {
  return item.tensor_first + (item.tensor_count - 1) * item.tensor_step + 1;
}

std::vector<std::uint32_t> cuts_of(const std::vector<SweepItem>& items, bool stepped_too) {
  std::vector<std::uint32_t> cuts;
  cuts.reserve(2 * items.size());
  for (const SweepItem& item : items) {
    if (is_stepped(item) && !stepped_too) continue;
    cuts.push_back(item.tensor_first);
    cuts.push_back(hull_end(item));
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

// A stepped range that other ranges cut often is cheaper as single tensors.
void expand_cut_up(std::vector<SweepItem>& items) {
  if (std::none_of(items.begin(), items.end(), is_stepped)) return;
  const std::vector<std::uint32_t> cuts = cuts_of(items, false);
  const std::size_t given = items.size();
  for (std::size_t i = 0; i < given; ++i) {
    if (!is_stepped(items[i])) continue;
    const SweepItem item = items[i];
    const auto inside = std::upper_bound(cuts.begin(), cuts.end(), hull_end(item)) -
                        std::lower_bound(cuts.begin(), cuts.end(), item.tensor_first);
    if (static_cast<std::size_t>(inside) * kTensorsPerCut < item.tensor_count) continue;
    items[i].tensor_count = 1;
    for (std::uint32_t k = 1; k < item.tensor_count; ++k) {
      SweepItem single = item;
      single.tensor_first = item.tensor_first + k * item.tensor_step;
      single.tensor_count = 1;
      items.push_back(single);
    }
  }
}

// Tensors [lo, hi) where stepped items are active: like tensors are those with equal residues.
void visit_residues(const std::vector<SweepItem>& items, std::uint32_t lo, std::uint32_t hi,
                    std::span<const std::uint32_t> active, const SweepVisitor& visit) {
  const std::uint64_t length = hi - lo;
  std::uint64_t period = 1;
  std::vector<std::uint32_t> plain;
  for (const std::uint32_t index : active) {
    if (!is_stepped(items[index]))
      plain.push_back(index);
    else if (period < length)
      period = std::lcm(period, std::uint64_t{items[index].tensor_step});
  }
  period = std::min(period, length);
  struct Hit {
    std::uint64_t place;
    std::uint32_t index;
  };
  std::vector<Hit> hits;
  for (const std::uint32_t index : active) {
    if (!is_stepped(items[index])) continue;
    const std::uint64_t step = items[index].tensor_step;
    const std::uint64_t past = (lo - items[index].tensor_first) % step;  // lo is inside the hull
    for (std::uint64_t place = past == 0 ? 0 : step - past; place < period; place += step)
      hits.push_back({place, index});
  }
  std::stable_sort(hits.begin(), hits.end(),
                   [](const Hit& a, const Hit& b) { return a.place < b.place; });
  std::vector<std::uint32_t> here;
  std::size_t next = 0;
  for (std::uint64_t place = 0; place < period; ++place) {
    here = plain;
    for (; next < hits.size() && hits[next].place == place; ++next)
      here.push_back(hits[next].index);
    if (!here.empty())
      visit(lo + static_cast<std::uint32_t>(place), (length - place + period - 1) / period, here);
    else if (next == hits.size())
      break;
    else
      place = hits[next].place - 1;
  }
}

}  // namespace

void sweep_tensors(std::vector<SweepItem>& items, const SweepVisitor& visit) {
  expand_cut_up(items);
  const std::vector<std::uint32_t> cuts = cuts_of(items, true);
  std::sort(items.begin(), items.end(),
            [](const SweepItem& a, const SweepItem& b) { return a.tensor_first < b.tensor_first; });
  std::vector<std::uint32_t> active;
  std::size_t next = 0;
  std::size_t stepped = 0;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const std::uint32_t lo = cuts[i];
    std::erase_if(active, [&](std::uint32_t index) {
      const bool ended = hull_end(items[index]) <= lo;
      if (ended && is_stepped(items[index])) --stepped;
      return ended;
    });
    for (; next < items.size() && items[next].tensor_first <= lo; ++next) {
      if (is_stepped(items[next])) ++stepped;
      active.push_back(static_cast<std::uint32_t>(next));
    }
    if (active.empty()) continue;
    if (stepped > 0)
      visit_residues(items, lo, cuts[i + 1], active, visit);
    else
      visit(lo, cuts[i + 1] - lo, active);
  }
}

}  // namespace transload
