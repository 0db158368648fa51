// Elements that PyTorch's DTensor puts on each rank, as measured (tests/data/dtensor_layouts.txt).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>

#include "common/error.h"
#include "planner/layout/layout.h"

namespace transload {
namespace {

struct Recorded {
  std::string line;
  std::vector<std::int64_t> shape;
  Sharding sharding;
  std::vector<std::vector<std::int64_t>> elements;  // by rank, in local order
};

std::vector<std::int64_t> numbers(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::int64_t>(stream), {}};
}

// "S(0)", "S(1:4)" with a split factor, "R".
AxisPlacement placement(const std::string& word) {
  AxisPlacement result;
  if (word == "R") return result;
  result.dim = std::stoi(word.substr(2));
  if (const std::size_t colon = word.find(':'); colon != std::string::npos)
    result.split_factor = std::stoll(word.substr(colon + 1));
  return result;
}

// "0-3,7" or "-" for none.
std::vector<std::int64_t> elements(const std::string& text) {
  std::vector<std::int64_t> list;
  std::istringstream stream(text);
  for (std::string range; std::getline(stream, range, ',');) {
    std::erase(range, ' ');
    if (range == "-") continue;
    const std::size_t dash = range.find('-');
    const std::int64_t first = std::stoll(range);
    const std::int64_t last =
        dash == std::string::npos ? first : std::stoll(range.substr(dash + 1));
    for (std::int64_t i = first; i <= last; ++i) list.push_back(i);
  }
  return list;
}

std::vector<Recorded> recorded_layouts() {
  std::ifstream file(TRANSLOAD_SOURCE_DIR "/tests/data/dtensor_layouts.txt");
  std::vector<Recorded> layouts;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    Recorded& layout = layouts.emplace_back();
    layout.line = line;
    std::istringstream fields(line);
    std::string shape, mesh, placements, ranks;
    std::getline(fields, shape, '|');
    std::getline(fields, mesh, '|');
    std::getline(fields, placements, '|');
    std::getline(fields, ranks);
    layout.shape = numbers(shape);
    for (const std::int64_t size : numbers(mesh)) layout.sharding.mesh.push_back({"axis", size});
    std::istringstream words(placements);
    for (std::string word; words >> word;) layout.sharding.placements.push_back(placement(word));
    std::istringstream lists(ranks);
    for (std::string list; std::getline(lists, list, ';');)
      layout.elements.push_back(elements(list));
    layout.sharding.ranks.resize(layout.elements.size());
    std::iota(layout.sharding.ranks.begin(), layout.sharding.ranks.end(), 0);
  }
  return layouts;
}

bool is_uneven_strided(const Recorded& layout) {
  for (std::size_t axis = 0; axis < layout.sharding.mesh.size(); ++axis) {
    const AxisPlacement& placement = layout.sharding.placements[axis];
    if (placement.split_factor > 1 &&
        layout.shape[static_cast<std::size_t>(placement.dim)] %
                (placement.split_factor * layout.sharding.mesh[axis].size) !=
            0)
      return true;
  }
  return false;
}

Layout made(const Recorded& recorded) {
  RankSets sets;
  const PoolSharding pool{0, recorded.sharding};
  const PoolSharding* one = &pool;
  return make_layout({&one, 1}, recorded.shape, 8, sets, "tensor w, source");
}

// Elements of a rank by their address: one byte each, so local order is address order.
std::vector<std::int64_t> by_address(const Layout& layout, Rank rank,
                                     const std::vector<std::int64_t>& shape) {
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (const RankBox& shard : layout.shards) {
    if (shard.rank != rank) continue;
    for (std::int64_t i = 0; i < volume(shard.box); ++i) {
      std::int64_t rest = i;
      std::int64_t element = 0;
      std::int64_t address = shard.offset_bits / 8;
      std::int64_t scale = 1;
      for (std::size_t d = shape.size(); d-- > 0;) {
        const std::int64_t local = rest % shard.box.extent(d);
        rest /= shard.box.extent(d);
        element += (shard.box.lo(d) + local) * scale;
        scale *= shape[d];
        for (const PlaceLoop& loop : layout.loops[shard.loops])
          if (loop.dim == d) address += local * loop.stride_bits / 8;
      }
      found.emplace_back(address, element);
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<std::int64_t> elements;
  for (const auto& [address, element] : found) elements.push_back(element);
  return elements;
}

TEST(DTensor, EveryRecordedLayoutComesOutElementForElement) {
  std::vector<Recorded> layouts = recorded_layouts();
  ASSERT_EQ(layouts.size(), 340u);
  for (Recorded& recorded : layouts) {
    for (AxisPlacement& placement : recorded.sharding.placements)
      if (placement.split_factor > 1) placement.reading = StridedReading::kFactorFirst;
    const Layout layout = made(recorded);
    for (std::size_t rank = 0; rank < recorded.elements.size(); ++rank)
      EXPECT_EQ(by_address(layout, static_cast<Rank>(rank), recorded.shape),
                recorded.elements[rank])
          << recorded.line << ", rank " << rank;
  }
}

TEST(DTensor, UnevenStridedShardsWithoutAReadingAreRefusedWithBothNamed) {
  int refused = 0;
  for (const Recorded& recorded : recorded_layouts()) {
    if (!is_uneven_strided(recorded)) {
      EXPECT_NO_THROW(made(recorded)) << recorded.line;
      continue;
    }
    ++refused;
    try {
      made(recorded);
      ADD_FAILURE() << recorded.line;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), ::testing::AllOf(::testing::HasSubstr("factor-first"),
                                                 ::testing::HasSubstr("unflatten")));
    }
  }
  EXPECT_EQ(refused, 99);
}

}  // namespace
}  // namespace transload
