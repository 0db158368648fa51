#include "planner/layout/layout.h"

#include <gtest/gtest.h>

#include <random>

#include "common/error.h"
#include "tests/testing/random_job.h"

namespace transload {
namespace {

Sharding mesh_sharding(std::vector<MeshAxis> mesh, std::vector<Rank> ranks, std::vector<int> dims) {
  Sharding sharding;
  sharding.mesh = std::move(mesh);
  sharding.ranks = std::move(ranks);
  for (int dim : dims) sharding.placements.push_back({dim});
  return sharding;
}

Layout layout_of(const Sharding& sharding, const std::vector<std::int64_t>& shape, RankSets& sets) {
  const PoolSharding pool{0, sharding};
  const PoolSharding* one = &pool;
  return make_layout({&one, 1}, shape, 16, sets, "tensor w, source");
}

TEST(SplitRange, ChunkGivesCeilingPartsThenShortOnesThenEmptyOnes) {
  // 10 over 4: ceil(10 / 4) = 3, so 3, 3, 3, 1.
  EXPECT_EQ(split_range(10, 4, 2, SplitRule::kChunk),
            (std::pair<std::int64_t, std::int64_t>(6, 9)));
  EXPECT_EQ(split_range(10, 4, 3, SplitRule::kChunk),
            (std::pair<std::int64_t, std::int64_t>(9, 10)));
  // 5 over 4: ceil = 2, so 2, 2, 1, 0; the empty part starts at the length.
  EXPECT_EQ(split_range(5, 4, 3, SplitRule::kChunk), (std::pair<std::int64_t, std::int64_t>(5, 5)));
  // 512 over 30 (pytorch#150862): 18 rows each up to rank 27, rank 28 has 8, rank 29 none.
  EXPECT_EQ(split_range(512, 30, 27, SplitRule::kChunk),
            (std::pair<std::int64_t, std::int64_t>(486, 504)));
  EXPECT_EQ(split_range(512, 30, 28, SplitRule::kChunk),
            (std::pair<std::int64_t, std::int64_t>(504, 512)));
  EXPECT_EQ(split_range(512, 30, 29, SplitRule::kChunk),
            (std::pair<std::int64_t, std::int64_t>(512, 512)));
}

TEST(SplitRange, BalancedMakesTheFirstPartsOneLonger) {
  // 10 over 4: 3, 3, 2, 2.
  EXPECT_EQ(split_range(10, 4, 1, SplitRule::kBalanced),
            (std::pair<std::int64_t, std::int64_t>(3, 6)));
  EXPECT_EQ(split_range(10, 4, 2, SplitRule::kBalanced),
            (std::pair<std::int64_t, std::int64_t>(6, 8)));
}

TEST(Layout, LastMeshAxisIsFastestAndPlacementsApplyLeftToRight) {
  RankSets sets;
  // Both axes cut dimension 0 of 8 rows: axis x halves it (4, 4), axis y cuts each half in two.
  const Sharding sharding = mesh_sharding({{"x", 2}, {"y", 2}}, {10, 11, 12, 13}, {0, 0});
  const Layout layout = layout_of(sharding, {8, 3}, sets);
  ASSERT_EQ(layout.shards.size(), 4u);
  EXPECT_EQ(layout.shards[1].rank, 11);
  EXPECT_EQ(layout.shards[1].box.bounds, (std::vector<std::int64_t>{2, 4, 0, 3}));
  EXPECT_EQ(layout.shards[2].box.bounds, (std::vector<std::int64_t>{4, 6, 0, 3}));
}

TEST(Layout, ReplicasShareACell) {
  RankSets sets;
  const Sharding sharding =
      mesh_sharding({{"dp", 2}, {"tp", 2}}, {0, 1, 2, 3}, {AxisPlacement::kReplicate, 1});
  const Layout layout = layout_of(sharding, {4, 6}, sets);
  ASSERT_EQ(layout.cells.size(), 2u);
  EXPECT_EQ(std::vector<Rank>(sets.of(layout.cells[0]).begin(), sets.of(layout.cells[0]).end()),
            (std::vector<Rank>{0, 2}));
}

TEST(Layout, PaddedRowsBelongToNoTensor) {
  RankSets sets;
  // Qwen3-30B-A3B's vocabulary over Megatron tp 2: 151,936 rows padded to 152,064, so 76,032 and
  // 75,904.
  Sharding sharding = mesh_sharding({{"tp", 2}}, {0, 1}, {0});
  sharding.padded[0] = {152064, PaddingFill::kKeep};
  const Layout layout = layout_of(sharding, {151936, 8}, sets);
  EXPECT_EQ(layout.shards[0].box.extent(0), 76032);
  EXPECT_EQ(layout.shards[1].box.extent(0), 75904);
}

// The slow oracle: the rank of an element by following every axis' split for that one element.
TEST(Layout, AgreesWithAnElementByElementOracleOnRandomMeshes) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    const auto dims = static_cast<int>(testing::pick(random, 1, 4));
    std::vector<std::int64_t> shape;
    for (int d = 0; d < dims; ++d) shape.push_back(testing::pick(random, 1, 6));
    Sharding sharding;
    std::int64_t count = 1;
    for (std::int64_t axis = testing::pick(random, 1, 3); axis > 0; --axis) {
      const std::int64_t size = testing::pick(random, 1, 4);
      sharding.mesh.push_back({"a", size});
      sharding.placements.push_back({static_cast<int>(testing::pick(random, -1, dims - 1))});
      count *= size;
    }
    sharding.split = testing::pick(random, 0, 1) == 0 ? SplitRule::kChunk : SplitRule::kBalanced;
    for (Rank rank = 0; rank < count; ++rank) sharding.ranks.push_back(rank);
    RankSets sets;
    const Layout layout = layout_of(sharding, shape, sets);

    const auto holds = [&](Rank rank, const std::vector<std::int64_t>& element) {
      std::vector<std::int64_t> low(shape.size(), 0);
      std::vector<std::int64_t> high = shape;
      std::int64_t stride = count;
      for (std::size_t axis = 0; axis < sharding.mesh.size(); ++axis) {
        stride /= sharding.mesh[axis].size;
        const std::int64_t coordinate = rank / stride % sharding.mesh[axis].size;
        if (!sharding.placements[axis].shards()) continue;
        const auto d = static_cast<std::size_t>(sharding.placements[axis].dim);
        const std::int64_t n = high[d] - low[d];
        const std::int64_t k = sharding.mesh[axis].size;
        std::vector<std::int64_t> starts = {0};
        for (std::int64_t part = 0; part < k; ++part)
          starts.push_back(sharding.split == SplitRule::kChunk
                               ? std::min(n, starts.back() + (n + k - 1) / k)
                               : starts.back() + n / k + (part < n % k ? 1 : 0));
        high[d] = low[d] + starts[static_cast<std::size_t>(coordinate) + 1];
        low[d] += starts[static_cast<std::size_t>(coordinate)];
      }
      for (std::size_t d = 0; d < shape.size(); ++d)
        if (element[d] < low[d] || element[d] >= high[d]) return false;
      return true;
    };
    std::vector<std::int64_t> element(shape.size(), 0);
    while (true) {
      std::vector<Rank> expected;
      for (Rank rank = 0; rank < count; ++rank)
        if (holds(rank, element)) expected.push_back(rank);
      std::size_t cell = 0;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        std::size_t segment = 0;
        while (layout.cuts[d][segment + 1] <= element[d]) ++segment;
        cell = cell * (layout.cuts[d].size() - 1) + segment;
      }
      const auto found = sets.of(layout.cells[cell]);
      ASSERT_EQ(std::vector<Rank>(found.begin(), found.end()), expected) << "round " << round;
      std::size_t d = shape.size();
      while (d-- > 0) {
        if (++element[d] < shape[d]) break;
        element[d] = 0;
      }
      if (d == static_cast<std::size_t>(-1)) break;
    }
  }
}

TEST(Layout, OverlappingExplicitBoxesOfTwoRanksAreCutIntoCells) {
  RankSets sets;
  Sharding sharding;
  sharding.boxes[0] = {{{{0, 6}}, {}}};
  sharding.boxes[1] = {{{{3, 8}}, {}}};
  const Layout layout = layout_of(sharding, {10}, sets);
  EXPECT_EQ(layout.cuts[0], (std::vector<std::int64_t>{0, 3, 6, 8, 10}));
  EXPECT_EQ(sets.of(layout.cells[1]).size(), 2u);
  EXPECT_EQ(layout.cells[3], 0u) << "nobody holds [8, 10)";
}

TEST(Layout, RefusesWhatDoesNotFit) {
  RankSets sets;
  const auto message = [&](const Sharding& sharding, const std::vector<std::int64_t>& shape) {
    try {
      layout_of(sharding, shape, sets);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(mesh_sharding({{"x", 3}}, {0, 1, 2, 3}, {0}), {8}),
            "tensor w, source: the mesh has 3 coordinates but there are 4 ranks");
  EXPECT_EQ(message(mesh_sharding({{"x", 2}}, {0, 1}, {1}), {8}),
            "tensor w, source: S(1) on a tensor of 1 dimensions");
  EXPECT_EQ(message(mesh_sharding({{"x", 2}, {"y", 1}}, {0, 1}, {0}), {8}),
            "tensor w, source: 1 placements for 2 mesh axes; expected one per axis");
  Sharding twice;
  twice.boxes[3] = {{{{0, 4}}, {}}, {{{3, 6}}, {}}};
  EXPECT_EQ(message(twice, {8}), "tensor w, source: rank 3 holds elements of box [3:6] twice");
  Sharding outside;
  outside.boxes[3] = {{{{0, 9}}, {}}};
  EXPECT_EQ(
      message(outside, {8}),
      "tensor w, source: rank 3: bounds [0, 9] of dimension 0 lie outside the tensor's length 8");
}

TEST(ContiguousRun, EndsAtTheFirstDimensionThatIsNotWhole) {
  const Box shard{{0, 4, 0, 6, 0, 5}};
  EXPECT_EQ(contiguous_run(shard, shard), 4 * 6 * 5);
  EXPECT_EQ(contiguous_run(shard, Box{{1, 3, 0, 6, 0, 5}}), 2 * 6 * 5);
  EXPECT_EQ(contiguous_run(shard, Box{{1, 3, 2, 4, 0, 5}}), 2 * 5);
  EXPECT_EQ(contiguous_run(shard, Box{{1, 3, 2, 4, 1, 5}}), 4);
}

}  // namespace
}  // namespace transload
