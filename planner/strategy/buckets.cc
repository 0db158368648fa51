#include "planner/strategy/buckets.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "planner/demand/demand.h"

namespace transload {
namespace {

struct Cell {
  Box box;
  std::uint32_t holders = 0;
  std::int64_t bytes = 0;
};

// A box of consecutive tensors of one group, contributed by one rank.
struct Piece {
  Rank owner = 0;
  std::uint32_t tensor = 0;
  std::uint32_t count = 0;
  std::size_t group = 0;
  std::size_t cell = 0;
};

class BucketMaker {
 public:
  BucketMaker(PlanBuilder& builder, const ReshardProblem& problem,
              const std::function<std::int64_t(Rank)>& place_of)
      : builder_(builder), problem_(problem), place_of_(place_of) {
    group_of_.resize(problem.names.size());
    for (std::size_t g = 0; g < problem.groups.size(); ++g) {
      const TensorGroup& group = problem.groups[g];
      for (std::uint32_t i = 0; i < group.count; ++i)
        group_of_[group.first + i] = static_cast<std::uint32_t>(g);
      const Layout& layout = problem.layouts[group.source];
      std::vector<Cell>& cells = cells_.emplace_back();
      for_each_common_cell(
          layout, layout, [&](const Box& box, std::uint32_t holders, std::uint32_t) {
            if (holders != 0)
              cells.push_back({box, holders, volume(box) * element_bytes(group.dtype)});
          });
      load_run_.push_back(shortest_load_run(problem, group));
    }
  }

  std::vector<Bucket> make(std::int64_t bucket_bytes, const TensorFilter& packed) {
    std::vector<Bucket> buckets;
    std::vector<Piece> pieces;
    std::int64_t bytes = 0;
    std::uint32_t tensors = 0;
    const auto close = [&] {
      if (bytes > 0) buckets.push_back(seal(pieces, tensors));
      pieces.clear();
      bytes = 0;
      tensors = 0;
    };
    for (std::uint32_t tensor : export_order(problem_)) {
      if (packed && !packed(tensor)) continue;
      bytes += add_tensor(tensor, pieces);
      ++tensors;
      if (bytes >= bucket_bytes) close();
    }
    close();
    return buckets;
  }

 private:
  std::int64_t add_tensor(std::uint32_t tensor, std::vector<Piece>& pieces) {
    const std::size_t g = group_of_[tensor];
    std::int64_t bytes = 0;
    for (std::size_t c = 0; c < cells_[g].size(); ++c) {
      const Cell& cell = cells_[g][c];
      const Rank owner = least_loaded(problem_.sets.of(cell.holders));
      load_[owner] += cell.bytes;
      bytes += cell.bytes;
      pieces.push_back({owner, tensor, 1, g, c});
    }
    return bytes;
  }

  Rank least_loaded(std::span<const Rank> holders) {
    Rank best = holders.front();
    for (Rank rank : holders)
      if (load_[rank] < load_[best]) best = rank;
    return best;
  }

  // Sorts pieces by the owner's place, joins neighbouring tensors, and adds the bundle.
  Bucket seal(std::vector<Piece>& pieces, std::uint32_t tensors) {
    std::sort(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) {
      const std::int64_t place_a = place_of_(a.owner);
      const std::int64_t place_b = place_of_(b.owner);
      return std::tie(place_a, a.group, a.cell, a.tensor) <
             std::tie(place_b, b.group, b.cell, b.tensor);
    });
    Bucket bucket;
    bucket.tensors = tensors;
    std::vector<SliceSpec> slices;
    std::int64_t at = 0;
    for (std::size_t i = 0; i < pieces.size();) {
      Piece run = pieces[i++];
      while (i < pieces.size() && pieces[i].owner == run.owner && pieces[i].group == run.group &&
             pieces[i].cell == run.cell && pieces[i].tensor == run.tensor + run.count) {
        ++run.count;
        ++i;
      }
      const Cell& cell = cells_[run.group][run.cell];
      slices.push_back({run.tensor, run.count, 1, builder_.add_box(cell.box.bounds)});
      if (bucket.parts.empty() || bucket.parts.back().owner != run.owner)
        bucket.parts.push_back({run.owner, {at, at}});
      at += cell.bytes * run.count;
      bucket.parts.back().range.end = at;
      const std::int64_t load_run = load_run_[run.group];
      if (load_run > 0 && (bucket.load_run == 0 || load_run < bucket.load_run))
        bucket.load_run = load_run;
    }
    bucket.bytes = at;
    bucket.bundle = builder_.add_bundle(slices);
    return bucket;
  }

  PlanBuilder& builder_;
  const ReshardProblem& problem_;
  const std::function<std::int64_t(Rank)>& place_of_;
  std::vector<std::uint32_t> group_of_;   // by tensor
  std::vector<std::vector<Cell>> cells_;  // by group: cells of the source layout
  std::vector<std::int64_t> load_run_;    // by group
  std::map<Rank, std::int64_t> load_;     // bytes exported by each rank so far
};

}  // namespace

std::vector<std::uint32_t> export_order(const ReshardProblem& problem) {
  const std::size_t tensors = problem.names.size();
  std::vector<std::uint32_t> by_input(tensors);
  for (std::uint32_t tensor = 0; tensor < tensors; ++tensor)
    by_input[problem.input_position[tensor]] = tensor;
  std::vector<std::uint32_t> group_of(tensors);
  for (std::size_t g = 0; g < problem.groups.size(); ++g)
    for (std::uint32_t i = 0; i < problem.groups[g].count; ++i)
      group_of[problem.groups[g].first + i] = static_cast<std::uint32_t>(g);

  struct Place {
    std::uint32_t segment;     // run of consecutive tensors of one layer
    std::uint32_t occurrence;  // among the segment's tensors of the same group
    std::uint32_t input;
  };
  std::vector<Place> place(tensors);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> seen(problem.groups.size(), {UINT32_MAX, 0});
  std::uint32_t segment = 0;
  for (std::uint32_t i = 0; i < tensors; ++i) {
    const std::uint32_t tensor = by_input[i];
    if (i > 0 && problem.layers[tensor] != problem.layers[by_input[i - 1]]) ++segment;
    auto& [last_segment, count] = seen[group_of[tensor]];
    if (last_segment != segment) {
      last_segment = segment;
      count = 0;
    }
    place[tensor] = {segment, count++, i};
  }
  std::vector<std::uint32_t> order(tensors);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(place[a].segment, place[a].occurrence, place[a].input) <
           std::tie(place[b].segment, place[b].occurrence, place[b].input);
  });
  return order;
}

std::int64_t shortest_load_run(const ReshardProblem& problem, const TensorGroup& group) {
  std::int64_t run = 0;
  const Box whole = whole_box(group.shape);
  const Layout& layout = problem.layouts[group.destination];
  for (const RankBox& shard : layout.shards) {
    // As long as both the bucket (whole tensors, row-major) and the shard's own storage allow.
    const std::int64_t bytes =
        std::min(contiguous_run(whole, shard.box),
                 contiguous_run(layout, shard, shard.box, dtype_bits(group.dtype))) *
        element_bytes(group.dtype);
    if (run == 0 || bytes < run) run = bytes;
  }
  return run;
}

std::vector<Bucket> make_buckets(PlanBuilder& builder, const ReshardProblem& problem,
                                 std::int64_t bucket_bytes,
                                 const std::function<std::int64_t(Rank)>& place_of,
                                 const TensorFilter& packed) {
  return BucketMaker(builder, problem, place_of).make(bucket_bytes, packed);
}

}  // namespace transload
