#include "planner/schedule/check/box_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "planner/schedule/check/tensor_sweep.h"

// Held against element sets.

namespace transload::testing {
namespace {

using Elements = std::set<std::vector<std::int64_t>>;

Elements elements_of(Bounds box) {
  Elements elements;
  std::vector<std::int64_t> at;
  const std::function<void(std::size_t)> fill = [&](std::size_t dim) {
    if (2 * dim == box.size()) {
      elements.insert(at);
      return;
    }
    for (std::int64_t i = box[2 * dim]; i < box[2 * dim + 1]; ++i) {
      at.push_back(i);
      fill(dim + 1);
      at.pop_back();
    }
  };
  fill(0);
  return elements;
}

OwnedBounds random_box(std::mt19937_64& random, std::size_t dims, std::int64_t extent) {
  OwnedBounds box;
  for (std::size_t d = 0; d < dims; ++d) {
    const auto a = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extent + 1));
    const auto b = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extent + 1));
    box.insert(box.end(), {std::min(a, b), std::max(a, b)});
  }
  return box;
}

TEST(BoxMath, VolumeIntersectionAndContainment) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 500; ++i) {
    const std::size_t dims = 1 + random() % 3;
    const OwnedBounds a = random_box(random, dims, 4);
    const OwnedBounds b = random_box(random, dims, 4);
    Elements common;
    const Elements of_a = elements_of(a);
    const Elements of_b = elements_of(b);
    std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                          std::inserter(common, common.end()));
    EXPECT_EQ(static_cast<std::size_t>(box_volume(a)), of_a.size());
    EXPECT_EQ(elements_of(box_intersection(a, b)), common);
    EXPECT_EQ(boxes_intersect(a, b), !common.empty());
    if (box_contains(a, b)) {
      EXPECT_EQ(common, of_b);
    }
  }
}

TEST(BoxMath, ScalarsHaveOneElement) {
  EXPECT_EQ(static_cast<int>(box_volume({})), 1);
  EXPECT_TRUE(boxes_intersect({}, {}));
  EXPECT_TRUE(box_contains({}, {}));
}

TEST(BoxMath, HugeVolumesSaturate) {
  const OwnedBounds box = {0, std::int64_t{1} << 50, 0, std::int64_t{1} << 50,
                           0, std::int64_t{1} << 50, 0, 0};
  EXPECT_EQ(static_cast<int>(box_volume(box)), 0);
  EXPECT_EQ(box_volume(Bounds(box).first(6)), static_cast<__int128>(1) << 76);
}

TEST(BoxMath, CoveredByAUnion) {
  std::mt19937_64 random(2);
  int covered = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::size_t dims = 1 + random() % 3;
    const OwnedBounds box = random_box(random, dims, 3);
    std::vector<OwnedBounds> cover;
    for (std::size_t k = random() % 6; k > 0; --k) cover.push_back(random_box(random, dims, 4));
    const std::vector<Bounds> views(cover.begin(), cover.end());
    Elements left = elements_of(box);
    for (const OwnedBounds& part : cover)
      for (const auto& element : elements_of(part)) left.erase(element);
    EXPECT_EQ(box_covered(box, views), left.empty());
    covered += left.empty() ? 1 : 0;
  }
  EXPECT_GT(covered, 200);
  EXPECT_LT(covered, 1800);
}

TEST(BoxMath, OverlapsAreFoundInSmallAndLargeSets) {
  std::mt19937_64 random(3);
  int found = 0;
  for (int i = 0; i < 500; ++i) {
    // Cells of a grid, some of them left out, now and then one grown by one.
    std::vector<OwnedBounds> boxes;
    for (std::int64_t x = 0; x < 6; ++x)
      for (std::int64_t y = 0; y < 4; ++y)
        if (random() % 3 != 0) boxes.push_back({2 * x, 2 * x + 2, 3 * y, 3 * y + 3});
    if (boxes.empty()) continue;
    if (random() % 2 == 0) ++boxes[random() % boxes.size()][1];
    std::shuffle(boxes.begin(), boxes.end(), random);
    const std::vector<Bounds> views(boxes.begin(), boxes.end());
    bool overlap = false;
    for (std::size_t a = 0; a < boxes.size(); ++a)
      for (std::size_t b = a + 1; b < boxes.size(); ++b)
        overlap |= boxes_intersect(boxes[a], boxes[b]);
    const BoxPair pair = find_overlap(views);
    EXPECT_EQ(pair.first >= 0, overlap);
    if (pair.first < 0) continue;
    ++found;
    EXPECT_LT(pair.first, pair.second);
    EXPECT_TRUE(boxes_intersect(boxes[static_cast<std::size_t>(pair.first)],
                                boxes[static_cast<std::size_t>(pair.second)]));
  }
  EXPECT_GT(found, 50);
}

TEST(BoxMath, RangesOfRowMajorOrderAsBoxes) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 1000; ++i) {
    const std::size_t dims = 1 + random() % 3;
    const OwnedBounds box = random_box(random, dims, 4);
    const auto volume = static_cast<std::uint64_t>(box_volume(box));
    if (volume == 0) continue;
    const std::uint64_t a = random() % (volume + 1);
    const std::uint64_t b = random() % (volume + 1);
    // A set of coordinate vectors is in row-major order.
    const Elements all = elements_of(box);
    const Elements wanted(std::next(all.begin(), static_cast<std::ptrdiff_t>(std::min(a, b))),
                          std::next(all.begin(), static_cast<std::ptrdiff_t>(std::max(a, b))));
    Elements found;
    std::size_t count = 0;
    std::size_t parts = 0;
    for_each_box_of_range(box, std::min(a, b), std::max(a, b), [&](Bounds part) {
      const Elements elements = elements_of(part);
      count += elements.size();
      ++parts;
      found.insert(elements.begin(), elements.end());
    });
    EXPECT_EQ(found, wanted);
    EXPECT_EQ(count, wanted.size());  // disjoint
    EXPECT_LE(parts, 2 * dims - 1);
  }
}

// Every tensor is visited once with exactly the items that name it; like tensors together.
TEST(TensorSweep, AgreesWithTensorByTensor) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 500; ++i) {
    std::vector<SweepItem> items;
    for (std::uint32_t k = 0; k < 1 + random() % 8; ++k) {
      SweepItem item;
      item.tensor_first = static_cast<std::uint32_t>(random() % 20);
      item.tensor_count = 1 + static_cast<std::uint32_t>(random() % 12);
      item.tensor_step = random() % 2 == 0 ? 1 : 1 + static_cast<std::uint32_t>(random() % 4);
      item.tag = k;
      items.push_back(item);
    }
    std::map<std::uint32_t, std::multiset<std::uint32_t>> wanted;
    for (const SweepItem& item : items)
      for (std::uint32_t t = 0; t < item.tensor_count; ++t)
        wanted[item.tensor_first + t * item.tensor_step].insert(item.tag);
    std::uint64_t visited = 0;
    sweep_tensors(items, [&](std::uint32_t tensor, std::uint64_t tensors,
                             std::span<const std::uint32_t> active) {
      visited += tensors;
      std::multiset<std::uint32_t> tags;
      for (const std::uint32_t index : active) tags.insert(items[index].tag);
      EXPECT_EQ(tags, wanted[tensor]) << "tensor " << tensor;
    });
    std::erase_if(wanted, [](const auto& entry) { return entry.second.empty(); });
    EXPECT_EQ(visited, wanted.size());
  }
}

}  // namespace
}  // namespace transload::testing
