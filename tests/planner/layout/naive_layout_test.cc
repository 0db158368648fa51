// The box engine against the element-by-element reading, for random layouts of every placement
// form.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "common/error.h"
#include "planner/layout/layout.h"
#include "tests/testing/naive_layout.h"
#include "tests/testing/random_job.h"

namespace transload::testing {
namespace {

constexpr std::int64_t kBits = 16;

struct RandomLayout {
  std::vector<std::int64_t> shape;
  Sharding sharding;
};

using Random = std::mt19937_64;

std::vector<std::int64_t> random_shape(Random& random, std::int64_t least_dims = 1) {
  std::vector<std::int64_t> shape;
  const std::int64_t dims = pick(random, least_dims, 4);
  for (std::int64_t d = 0; d < dims; ++d) shape.push_back(pick(random, d == 0 ? 1 : 0, 7));
  return shape;
}

void random_mesh(Random& random, RandomLayout& layout, std::int64_t axes) {
  std::int64_t ranks = 1;
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    const std::int64_t size = pick(random, 1, ranks > 16 ? 1 : 4);
    ranks *= size;
    layout.sharding.mesh.push_back({"axis" + std::to_string(axis), size});
    AxisPlacement placement;
    placement.dim =
        static_cast<int>(pick(random, -1, static_cast<std::int64_t>(layout.shape.size()) - 1));
    layout.sharding.placements.push_back(placement);
  }
  // Any rank list, in any order.
  layout.sharding.ranks.resize(static_cast<std::size_t>(ranks + 3));
  std::iota(layout.sharding.ranks.begin(), layout.sharding.ranks.end(), 0);
  std::shuffle(layout.sharding.ranks.begin(), layout.sharding.ranks.end(), random);
  layout.sharding.ranks.resize(static_cast<std::size_t>(ranks));
}

RandomLayout on_mesh(Random& random) {
  RandomLayout layout;
  layout.shape = random_shape(random);
  random_mesh(random, layout, pick(random, 1, 5));
  layout.sharding.split = pick(random, 0, 1) == 0 ? SplitRule::kChunk : SplitRule::kBalanced;
  if (pick(random, 0, 1) == 0)
    layout.sharding.split_of_dim[static_cast<int>(layout.shape.size()) - 1] = SplitRule::kBalanced;
  return layout;
}

RandomLayout strided(Random& random) {
  RandomLayout layout = on_mesh(random);
  for (AxisPlacement& placement : layout.sharding.placements) {
    if (!placement.shards() || pick(random, 0, 2) == 0) continue;
    placement.split_factor = pick(random, 2, 4);
    placement.reading =
        pick(random, 0, 1) == 0 ? StridedReading::kFactorFirst : StridedReading::kUnflatten;
  }
  return layout;
}

RandomLayout ordered(Random& random) {
  RandomLayout layout = on_mesh(random);
  std::vector<int> order(layout.sharding.mesh.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  order.resize(static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(order.size()))));
  layout.sharding.order = order;
  return layout;
}

RandomLayout with_sizes(Random& random) {
  RandomLayout layout = on_mesh(random);
  for (std::size_t axis = 0; axis < layout.sharding.mesh.size(); ++axis) {
    const int dim = layout.sharding.placements[axis].dim;
    const auto cuts_it = [&](const AxisPlacement& placement) { return placement.dim == dim; };
    const auto& placements = layout.sharding.placements;
    if (dim < 0 || std::count_if(placements.begin(), placements.end(), cuts_it) != 1) continue;
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(layout.sharding.mesh[axis].size), 0);
    for (std::int64_t i = 0; i < layout.shape[static_cast<std::size_t>(dim)]; ++i)
      ++sizes[static_cast<std::size_t>(
          pick(random, 0, static_cast<std::int64_t>(sizes.size()) - 1))];
    layout.sharding.sizes[dim] = sizes;
  }
  return layout;
}

RandomLayout padded(Random& random) {
  RandomLayout layout = on_mesh(random);
  for (std::size_t d = 0; d < layout.shape.size(); ++d)
    if (pick(random, 0, 1) == 0)
      layout.sharding.padded[static_cast<int>(d)] = {
          layout.shape[d] + pick(random, 0, 4),
          pick(random, 0, 1) == 0 ? PaddingFill::kKeep : PaddingFill::kZero};
  return layout;
}

RandomLayout in_boxes(Random& random) {
  RandomLayout layout;
  layout.shape = random_shape(random);
  for (Rank rank = 0; rank < 4; ++rank) {
    // Disjoint boxes along dimension 0, any part of the others.
    std::int64_t at = 0;
    std::int64_t offset = pick(random, 0, 5);
    const bool placed = pick(random, 0, 1) == 0;
    while (at < layout.shape[0]) {
      const std::int64_t low = pick(random, at, layout.shape[0]);
      const std::int64_t high = pick(random, low, layout.shape[0]);
      ExplicitBox box = {{low, high}};
      std::int64_t elements = high - low;
      for (std::size_t d = 1; d < layout.shape.size(); ++d) {
        const std::int64_t begin = pick(random, 0, layout.shape[d]);
        box.push_back({begin, pick(random, begin, layout.shape[d])});
        elements *= box.back()[1] - begin;
      }
      layout.sharding.boxes[rank].push_back({box, placed ? std::optional(offset) : std::nullopt});
      offset += elements * kBits / 8 + pick(random, 0, 3);
      at = std::max(high, at + 1);
    }
  }
  return layout;
}

RandomLayout in_slots(Random& random) {
  RandomLayout layout = on_mesh(random);
  layout.sharding.slots.resize(static_cast<std::size_t>(layout.shape[0]));
  std::iota(layout.sharding.slots.begin(), layout.sharding.slots.end(), 0);
  std::shuffle(layout.sharding.slots.begin(), layout.sharding.slots.end(), random);
  return layout;
}

RandomLayout in_rank_slots(Random& random) {
  RandomLayout layout;
  layout.shape = random_shape(random);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(layout.shape[0]));
  std::iota(ids.begin(), ids.end(), 0);
  for (Rank rank = 0; rank < 4; ++rank) {
    std::shuffle(ids.begin(), ids.end(), random);
    const auto count = pick(random, 0, layout.shape[0]);
    layout.sharding.rank_slots[rank].assign(ids.begin(), ids.begin() + count);
  }
  return layout;
}

RandomLayout reordered(Random& random) {
  RandomLayout layout = strided(random);
  layout.sharding.stored_order.resize(layout.shape.size());
  std::iota(layout.sharding.stored_order.begin(), layout.sharding.stored_order.end(), 0);
  std::shuffle(layout.sharding.stored_order.begin(), layout.sharding.stored_order.end(), random);
  return layout;
}

// Factors need equal local extents: even meshes, sharding by chunks of whole factors or of parts.
RandomLayout viewed(Random& random) {
  RandomLayout layout;
  const std::int64_t dims = pick(random, 1, 3);
  std::vector<std::vector<std::int64_t>> factors;
  std::vector<std::int64_t> local;
  for (std::int64_t d = 0; d < dims; ++d) {
    std::vector<std::int64_t>& parts = factors.emplace_back();
    for (std::int64_t i = pick(random, 1, 3); i > 0; --i) parts.push_back(pick(random, 1, 3));
    local.push_back(
        std::accumulate(parts.begin(), parts.end(), std::int64_t{1}, std::multiplies<>()));
  }
  layout.shape = local;
  const std::int64_t split = pick(random, 0, dims - 1);
  const std::int64_t ranks = pick(random, 1, 3);
  layout.shape[static_cast<std::size_t>(split)] *= ranks;
  layout.sharding.mesh = {{"x", ranks}};
  for (Rank rank = 0; rank < ranks; ++rank) layout.sharding.ranks.push_back(rank);
  AxisPlacement placement{static_cast<int>(split)};
  if (pick(random, 0, 1) == 0) {
    placement.split_factor = 2;
    placement.reading = StridedReading::kFactorFirst;
    // Only an even strided cut leaves every rank the extents that the factors make.
    if (local[static_cast<std::size_t>(split)] % 2 != 0) placement.split_factor = 1;
  }
  if (placement.split_factor == 1) placement.reading = StridedReading::kUnstated;
  layout.sharding.placements = {placement};
  // A random order of all digits, dense, with a gap at every step.
  std::vector<std::pair<std::size_t, std::size_t>> digits;
  for (std::size_t d = 0; d < factors.size(); ++d)
    for (std::size_t f = 0; f < factors[d].size(); ++f) digits.emplace_back(d, f);
  std::vector<std::pair<std::size_t, std::size_t>> order = digits;
  std::shuffle(order.begin(), order.end(), random);
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> strides;
  std::int64_t stride = 1;
  for (const auto& digit : order) {
    strides[digit] = stride;
    stride = stride * factors[digit.first][digit.second] + pick(random, 0, 1);
  }
  for (const auto& digit : digits) layout.sharding.memory.strides.push_back(strides[digit]);
  for (std::size_t d = 0; d < factors.size(); ++d)
    layout.sharding.memory.factors[static_cast<int>(d)] = factors[d];
  layout.sharding.memory.offset_bytes = pick(random, 0, 9);
  layout.sharding.memory.rank_offsets[0] = pick(random, 0, 9);
  return layout;
}

std::vector<NaiveElement> elements_of(const Layout& layout, Rank rank,
                                      const std::vector<std::int64_t>& shape) {
  std::vector<NaiveElement> elements;
  for (const RankBox& shard : layout.shards) {
    if (shard.rank != rank) continue;
    const PlaceLoops& loops = layout.loops[shard.loops];
    std::vector<std::int64_t> at;
    for (std::size_t d = 0; d < shard.box.dims(); ++d) at.push_back(shard.box.lo(d));
    while (true) {
      NaiveElement element{0, shard.offset_bits};
      std::vector<std::int64_t> rest;
      for (std::size_t d = 0; d < at.size(); ++d) {
        element.element = element.element * shape[d] + at[d];
        rest.push_back(at[d] - shard.box.lo(d));
      }
      for (std::size_t i = loops.size(); i-- > 0;) {
        element.bit += rest[loops[i].dim] % loops[i].length * loops[i].stride_bits;
        rest[loops[i].dim] /= loops[i].length;
      }
      elements.push_back(element);
      std::size_t d = at.size();
      while (d-- > 0) {
        if (++at[d] < shard.box.hi(d)) break;
        at[d] = shard.box.lo(d);
      }
      if (d == static_cast<std::size_t>(-1)) break;
    }
  }
  std::sort(elements.begin(), elements.end());
  return elements;
}

struct Form {
  const char* name;
  RandomLayout (*make)(Random&);
};

constexpr Form kForms[] = {{"mesh", on_mesh},           {"strided", strided},
                           {"order", ordered},          {"sizes", with_sizes},
                           {"padded", padded},          {"boxes", in_boxes},
                           {"slots", in_slots},         {"rank_slots", in_rank_slots},
                           {"stored_order", reordered}, {"memory", viewed}};

void compare(const RandomLayout& random, const std::string& where) {
  RankSets sets;
  const PoolSharding pool{0, random.sharding};
  const PoolSharding* one = &pool;
  const Layout layout = make_layout({&one, 1}, random.shape, kBits, sets, where);
  auto expected = naive_layout(random.sharding, random.shape, kBits);
  std::map<std::int64_t, std::vector<Rank>> holders;
  for (auto& [rank, elements] : expected) {
    std::sort(elements.begin(), elements.end());
    ASSERT_EQ(elements_of(layout, rank, random.shape), elements) << where << ", rank " << rank;
    std::int64_t end = 0;
    for (const NaiveElement& element : elements) {
      holders[element.element].push_back(rank);
      end = std::max(end, (element.bit + kBits + 7) / 8);
    }
    for (const RankStorage& storage : layout.storage) {
      if (storage.rank != rank) continue;
      EXPECT_GE(storage.bytes, end) << where << ", rank " << rank;
      // Padding and elements are apart, and dense storage has nothing else.
      std::int64_t bytes = static_cast<std::int64_t>(elements.size()) * kBits / 8;
      for (const PaddingSpan& span : storage.padding) {
        bytes += span.bytes;
        for (const NaiveElement& element : elements)
          EXPECT_TRUE(element.bit / 8 + kBits / 8 <= span.offset_bytes ||
                      element.bit / 8 >= span.offset_bytes + span.bytes);
      }
      if (random.sharding.memory.strides.empty() && !random.sharding.mesh.empty()) {
        EXPECT_EQ(bytes, storage.bytes) << where << ", rank " << rank;
      }
    }
  }
  // The grid says of every element who holds it.
  std::int64_t cell_elements = 0;
  std::vector<std::size_t> cell(random.shape.size(), 0);
  for (const std::uint32_t set : layout.cells) {
    Box box;
    for (std::size_t d = 0; d < cell.size(); ++d) {
      box.bounds.push_back(layout.cuts[d][cell[d]]);
      box.bounds.push_back(layout.cuts[d][cell[d] + 1]);
    }
    std::int64_t first = 0;
    for (std::size_t d = 0; d < cell.size(); ++d) first = first * random.shape[d] + box.lo(d);
    const auto found = sets.of(set);
    ASSERT_EQ(std::vector<Rank>(found.begin(), found.end()), holders[first]) << where;
    cell_elements += volume(box);
    for (std::size_t d = cell.size(); d-- > 0;) {
      if (++cell[d] + 1 < layout.cuts[d].size()) break;
      cell[d] = 0;
    }
  }
  EXPECT_EQ(cell_elements, volume(whole_box(random.shape))) << where;
}

void compare_all(const Form& form, int rounds) {
  Random random(20261130);
  for (int round = 0; round < rounds && !::testing::Test::HasFatalFailure(); ++round)
    compare(form.make(random), std::string(form.name) + " " + std::to_string(round));
}

class NaiveLayout : public ::testing::TestWithParam<Form> {};
TEST_P(NaiveLayout, AgreesWithTheBoxEngine) { compare_all(GetParam(), 1000); }
INSTANTIATE_TEST_SUITE_P(Forms, NaiveLayout, ::testing::ValuesIn(kForms),
                         [](const auto& form) { return form.param.name; });

TEST(FullNaiveLayout, TenThousandLayoutsPerForm) {
  for (const Form& form : kForms) compare_all(form, 10000);
}

}  // namespace
}  // namespace transload::testing
