#include "planner/schedule/scale_groups.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "common/dtype.h"
#include "planner/schedule/access.h"
#include "planner/schedule/scale_fills.h"

namespace transload {
namespace {

// Union-find with path halving; the root is the least member.
class Unions {
 public:
  explicit Unions(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::uint32_t{0});
  }
  std::uint32_t root(std::uint32_t at) {
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = root(a);
    b = root(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }
  // Numbers the classes in order of their least members.
  std::vector<std::uint32_t> number(std::size_t& classes) {
    std::vector<std::uint32_t> numbers(parent_.size());
    classes = 0;
    for (std::uint32_t i = 0; i < parent_.size(); ++i)
      numbers[i] = root(i) == i ? static_cast<std::uint32_t>(classes++) : numbers[root(i)];
    return numbers;
  }

 private:
  std::vector<std::uint32_t> parent_;
};

struct BoxUse {
  std::uint32_t tensor_first;
  std::uint32_t tensor_count;
  std::uint32_t tensor_step;
  std::uint64_t box;
  friend bool operator==(const BoxUse&, const BoxUse&) = default;
  friend bool operator<(const BoxUse& a, const BoxUse& b) {
    return std::tie(a.tensor_first, a.tensor_count, a.tensor_step, a.box) <
           std::tie(b.tensor_first, b.tensor_count, b.tensor_step, b.box);
  }
};

// Every range with its box, once: ranks and bundles repeat them.
std::vector<BoxUse> box_uses(const Plan& plan) {
  std::vector<BoxUse> uses;
  uses.reserve(plan.shard_box.size() + plan.slice_box.size());
  for (std::size_t i = 0; i < plan.shard_box.size(); ++i)
    uses.push_back({plan.shard_tensor_first[i], plan.shard_tensor_count[i], 1, plan.shard_box[i]});
  for (std::size_t i = 0; i < plan.slice_box.size(); ++i)
    uses.push_back({plan.slice_tensor_first[i], plan.slice_tensor_count[i],
                    plan.slice_tensor_step[i], plan.slice_box[i]});
  std::sort(uses.begin(), uses.end());
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  return uses;
}

class GroupFinder {
 public:
  explicit GroupFinder(const Plan& plan) : plan_(plan), uses_(box_uses(plan)) {}

  ScaleGroups find() {
    find_components();
    lay_out_rows();
    find_buffer_sets();
    join_groups();
    add_bounds();
    lay_out_fills();
    add_memory();
    for (std::vector<std::int64_t>& steps : groups_.divisible)
      for (std::int64_t& step : steps) step = std::max<std::int64_t>(step, 1);
    return std::move(groups_);
  }

 private:
  void find_components() {
    Unions unions(plan_.tensors());
    std::array<std::uint32_t, 3> last{};
    for (const BoxUse& use : uses_) {
      const std::array<std::uint32_t, 3> range = {use.tensor_first, use.tensor_count,
                                                  use.tensor_step};
      if (range == last) continue;
      last = range;
      for (std::uint32_t i = 1; i < use.tensor_count; ++i)
        unions.join(use.tensor_first, use.tensor_first + i * use.tensor_step);
    }
    for (std::uint32_t t = 0; t < plan_.tensors(); ++t) unions.join(plan_.tensor_source[t], t);
    std::size_t components = 0;
    groups_.component_of_tensor = unions.number(components);
    groups_.dims_of_component.assign(components, 0);
    for (std::size_t t = 0; t < plan_.tensors(); ++t)
      groups_.dims_of_component[groups_.component_of_tensor[t]] = plan_.tensor_dims[t];
  }

  void lay_out_rows() {
    for (std::size_t rank = 0; rank < plan_.ranks(); ++rank)
      for (std::uint64_t row = plan_.rank_shard_first[rank]; row < plan_.rank_shard_first[rank + 1];
           ++row)
        groups_.rows.push_back(lay_out_row(rank, row));
  }

  ScaledRow lay_out_row(std::size_t rank, std::uint64_t row) const {
    const std::uint32_t tensor = plan_.shard_tensor_first[row];
    ScaledRow view;
    view.rank = rank;
    view.row = row;
    view.component = groups_.component_of_tensor[tensor];
    view.element_bits = dtype_bits(static_cast<DType>(plan_.tensor_dtype[tensor]));
    view.offset_bits = static_cast<std::int64_t>(plan_.shard_bit_offset[row]);
    view.loops.push_back({kTensorLoop,
                          std::min(plan_.shard_inner_count[row], plan_.shard_tensor_count[row]),
                          static_cast<std::int64_t>(plan_.shard_inner_bits[row])});
    for (std::size_t l = 0; l < plan_.shard_loops[row]; ++l) {
      const std::size_t loop = plan_.shard_loop_first[row] + l;
      view.loops.push_back(
          {plan_.loop_dim[loop], plan_.loop_length[loop], plan_.loop_stride_bits[loop]});
      view.empty |= plan_.loop_length[loop] == 0;
    }
    return view;
  }

  // A row or a fill of one rank, with the buffers that it uses.
  struct Use {
    std::uint64_t first;
    std::uint64_t past;
    bool fill;
    std::size_t index;
  };

  void find_buffer_sets() {
    groups_.patterns = find_fill_patterns(plan_);
    std::size_t row = 0;
    std::size_t fill = 0;
    for (std::size_t rank = 0; rank < plan_.ranks(); ++rank) {
      std::vector<Use> uses;
      for (; row < groups_.rows.size() && groups_.rows[row].rank == rank; ++row) {
        if (groups_.rows[row].empty) continue;
        const std::uint64_t at = groups_.rows[row].row;
        const std::uint64_t first = plan_.shard_buffer[at];
        const std::uint64_t more = (plan_.shard_tensor_count[at] - 1) / plan_.shard_inner_count[at];
        uses.push_back({first, first + more + 1, false, row});
      }
      for (; fill < groups_.patterns.size() && groups_.patterns[fill].rank == rank; ++fill) {
        const std::uint64_t first = groups_.patterns[fill].buffer;
        uses.push_back({first, first + groups_.patterns[fill].count, true, fill});
      }
      std::stable_sort(uses.begin(), uses.end(),
                       [](const Use& a, const Use& b) { return a.first < b.first; });
      for (std::size_t i = 0; i < uses.size(); ++i) add_use(rank, uses[i], i == 0);
    }
  }

  void add_use(std::size_t rank, const Use& use, bool first_of_rank) {
    if (first_of_rank || use.first >= groups_.sets.back().end_buffer)
      groups_.sets.push_back({rank, use.first, use.past, {}, {}});
    BufferSet& set = groups_.sets.back();
    set.end_buffer = std::max(set.end_buffer, use.past);
    (use.fill ? set.fills : set.rows).push_back(use.index);
    if (!use.fill) groups_.rows[use.index].buffer_set = groups_.sets.size() - 1;
  }

  // Fills are cut into digits by the periods of the first shard of their buffers.
  void lay_out_fills() {
    groups_.fills.resize(groups_.patterns.size());
    for (std::size_t s = 0; s < groups_.sets.size(); ++s) {
      const BufferSet& set = groups_.sets[s];
      std::vector<ScaledLoop> periods;
      if (!set.rows.empty()) {
        const ScaledRow& leader = groups_.rows[set.rows[0]];
        for (std::size_t step = 0; step < steps_of(leader.component); ++step) {
          const ScaledLoop* digit = digit_of(leader, groups_.dim_of_step(leader.component, step));
          if (digit->length > 1) periods.push_back(*digit);
        }
      }
      for (const std::size_t fill : set.fills) {
        groups_.fills[fill] = lay_out_fill(groups_.patterns[fill], periods);
        groups_.fills[fill].buffer_set = s;
        if (!set.rows.empty()) groups_.fills[fill].component = groups_.rows[set.rows[0]].component;
      }
    }
  }

  void join_groups() {
    Unions unions(groups_.dims_of_component.size());
    for (const BufferSet& set : groups_.sets)
      for (const std::size_t row : set.rows)
        unions.join(groups_.rows[set.rows[0]].component, groups_.rows[row].component);
    std::size_t count = 0;
    groups_.group_of_component = unions.number(count);
    groups_.divisible.resize(count);
    groups_.unsharded.resize(count);
    // As many steps as the component with the fewest dimensions has: all take every step.
    std::vector<int> steps(count, 255);
    for (std::size_t c = 0; c < groups_.dims_of_component.size(); ++c)
      steps[groups_.group_of_component[c]] =
          std::min(steps[groups_.group_of_component[c]], groups_.dims_of_component[c]);
    for (std::size_t g = 0; g < count; ++g) {
      groups_.divisible[g].assign(static_cast<std::size_t>(steps[g]), 0);
      groups_.unsharded[g].assign(static_cast<std::size_t>(steps[g]), true);
    }
  }

  void divide(std::uint32_t component, std::size_t step, std::int64_t value) {
    std::int64_t& divisible = groups_.divisible[groups_.group_of_component[component]][step];
    divisible = std::gcd(divisible, value);
  }

  std::size_t steps_of(std::uint32_t component) const {
    return groups_.divisible[groups_.group_of_component[component]].size();
  }

  // Extents of all tensors, bounds of all boxes.
  void add_bounds() {
    for (std::uint32_t t = 0; t < plan_.tensors(); ++t) {
      const std::uint32_t component = groups_.component_of_tensor[t];
      for (std::size_t step = 0; step < steps_of(component); ++step)
        divide(
            component, step,
            tensor_shape(plan_, t)[static_cast<std::size_t>(groups_.dim_of_step(component, step))]);
    }
    for (const BoxUse& use : uses_) {
      const std::uint32_t component = groups_.component_of_tensor[use.tensor_first];
      for (std::size_t step = 0; step < steps_of(component); ++step) {
        const auto dim = static_cast<std::size_t>(groups_.dim_of_step(component, step));
        const std::int64_t lo = plan_.bounds[use.box + 2 * dim];
        const std::int64_t hi = plan_.bounds[use.box + 2 * dim + 1];
        divide(component, step, lo);
        divide(component, step, hi);
        if (lo != 0 || hi != tensor_shape(plan_, use.tensor_first)[dim])
          groups_.unsharded[groups_.group_of_component[component]][step] = false;
      }
    }
  }

  void add_memory() {
    for (const ScaledRow& row : groups_.rows)
      for (std::size_t step = 0; step < steps_of(row.component); ++step) add_view(row, step);
    for (const ScaledRow& fill : groups_.fills)
      if (!groups_.sets[fill.buffer_set].rows.empty())
        for (std::size_t step = 0; step < steps_of(fill.component); ++step) add_view(fill, step);
  }

  void add_view(const ScaledRow& row, std::size_t step) {
    const ScaledLoop* digit = digit_of(row, groups_.dim_of_step(row.component, step));
    divide(row.component, step, digit == nullptr ? 1 : digit->length);
    if (row.empty || digit == nullptr) return;
    const std::int64_t period = digit->stride_bits;
    const ScaledRow& leader = groups_.rows[groups_.sets[row.buffer_set].rows[0]];
    const ScaledLoop* leading = digit_of(leader, groups_.dim_of_step(leader.component, step));
    bool divides = period > 0 && leading->stride_bits == period;
    std::int64_t inside = row.element_bits;
    for (const ScaledLoop& loop : row.loops) {
      if (&loop == digit || loop.length == 1 || !divides) continue;
      if (loop.stride_bits < period) {
        inside += (loop.length - 1) * loop.stride_bits;
      } else if (loop.stride_bits == period || loop.stride_bits % period != 0) {
        divides = false;
      } else {
        divide(row.component, step, loop.stride_bits / period);
      }
    }
    if (!divides || row.offset_bits % period + inside > period) divide(row.component, step, 1);
  }

  const Plan& plan_;
  std::vector<BoxUse> uses_;
  ScaleGroups groups_;
};

std::vector<std::int64_t> divisors(std::int64_t value) {
  std::vector<std::int64_t> found;
  for (std::int64_t d = 1; d <= value / d; ++d) {
    if (value % d != 0) continue;
    found.push_back(d);
    if (d != value / d) found.push_back(value / d);
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

// The largest product not above `limit` with one divisor per step in `steps`, from `at` on; of
// equal products the one with the larger earlier divisors.
std::uint64_t best_product(const std::vector<std::vector<std::int64_t>>& choices, std::size_t at,
                           std::uint64_t limit, std::vector<std::int64_t>& picked) {
  picked.assign(choices.size() - at, 1);
  if (at == choices.size()) return 1;
  std::uint64_t best = 0;
  std::vector<std::int64_t> rest;
  for (const std::int64_t divisor : choices[at]) {
    if (static_cast<std::uint64_t>(divisor) > limit) continue;
    const std::uint64_t product =
        static_cast<std::uint64_t>(divisor) *
        best_product(choices, at + 1, limit / static_cast<std::uint64_t>(divisor), rest);
    if (product <= best) continue;
    best = product;
    picked[0] = divisor;
    std::copy(rest.begin(), rest.end(), picked.begin() + 1);
    if (best == limit) break;
  }
  return best;
}

}  // namespace

ScaleGroups find_scale_groups(const Plan& plan) { return GroupFinder(plan).find(); }

ScaledLoop* digit_of(ScaledRow& row, int dim) {
  for (std::size_t l = row.loops.size(); l-- > 0;)
    if (row.loops[l].dim == dim) return &row.loops[l];
  return nullptr;
}

std::vector<std::int64_t> choose_factors(const std::vector<std::int64_t>& divisible,
                                         const std::vector<bool>& unsharded, std::uint64_t target) {
  std::vector<std::int64_t> factors(divisible.size(), 1);
  for (const bool free : {true, false}) {
    std::vector<std::size_t> steps;
    std::vector<std::vector<std::int64_t>> choices;
    for (std::size_t step = 0; step < divisible.size(); ++step) {
      if (unsharded[step] != free) continue;
      steps.push_back(step);
      choices.push_back(divisors(divisible[step]));
    }
    std::vector<std::int64_t> picked;
    target /= best_product(choices, 0, target, picked);
    for (std::size_t i = 0; i < steps.size(); ++i) factors[steps[i]] = picked[i];
  }
  return factors;
}

}  // namespace transload
