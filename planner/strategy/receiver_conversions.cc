#include "planner/strategy/receiver_conversions.h"

#include <algorithm>
#include <map>

#include "common/check.h"
#include "planner/demand/transfers.h"

namespace transload {
namespace {

constexpr std::uint32_t kNoTensor = UINT32_MAX;

// Tensors values .. values + count - 1 are made from consecutive originals of one group, their
// scales (if any) are consecutive too.
struct MadeRun {
  std::uint32_t values = 0;
  std::uint32_t scales = kNoTensor;
  std::uint32_t original = 0;
  std::uint32_t count = 0;
};

// An operation that writes a box of originals first .. last on a rank.
struct Writer {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  const Box* box = nullptr;
  OpId op = 0;
};

class ReceiverConversions {
 public:
  ReceiverConversions(PlanBuilder& builder, const ReshardProblem& problem, const Demand& demand,
                      const SliceOffsets& offsets, const Fabric& fabric, std::int64_t read_bytes)
      : builder_(builder),
        problem_(problem),
        demand_(demand),
        offsets_(offsets),
        fabric_(fabric),
        read_bytes_(read_bytes),
        scales_of_(problem.names.size(), kNoTensor),
        raw_(problem.groups.size(), false) {}

  void emit() {
    for (const TensorGroup& group : problem_.groups) {
      if (group.making != Making::kAtDestination) continue;
      for (std::uint32_t t = group.first; t < group.first + group.count; ++t) {
        const std::uint32_t original = problem_.made_from[t];
        raw_[group_of(problem_, original)] = true;
        if (recipe_info(group.recipe).scale) scales_of_[original] = t;
      }
    }
    list_writers();
    next_key_ = builder_.next_key();
    for (const TensorGroup& group : problem_.groups)
      if (group.making == Making::kAtDestination && !recipe_info(group.recipe).scale)
        emit_group(group);
  }

 private:
  void list_writers() {
    const auto operations = static_cast<OpId>(builder_.operations());
    for (OpId number = 0; number < operations; ++number) {
      const OpSpec op = builder_.operation(number);
      if (op.bundle < 0 || op.destination_slot != kNone || op.bytes == 0) continue;
      TRANSLOAD_CHECK(static_cast<std::size_t>(op.bundle) < demand_.classes.size(),
                      "bundles are numbered as classes");
      list_slices(op, number);
    }
  }

  void list_slices(const OpSpec& op, OpId number) {
    const auto begin = static_cast<std::int64_t>(op.begin);
    const auto end = static_cast<std::int64_t>(op.begin + op.bytes);
    const auto c = static_cast<std::uint32_t>(op.bundle);
    const std::vector<DemandSlice>& slices = demand_.classes[c].slices;
    const std::span<const std::int64_t> slice_begin = offsets_.of(c);
    for (std::size_t s = offsets_.slice_at(c, begin); s < slices.size() && slice_begin[s] < end;
         ++s) {
      const DemandSlice& slice = slices[s];
      const std::int64_t bytes = slice_begin[s + 1] - slice_begin[s];
      if (!raw_[slice.group] || bytes == 0 || slice_begin[s] + bytes <= begin) continue;
      const TensorGroup& group = problem_.groups[slice.group];
      const std::int64_t tensor_bytes = bytes / group.count;
      const std::int64_t from = std::max(begin - slice_begin[s], std::int64_t{0}) / tensor_bytes;
      const std::int64_t to = (std::min(end - slice_begin[s], bytes) - 1) / tensor_bytes;
      writers_[{op.destination, slice.group}].push_back(
          {group.first + static_cast<std::uint32_t>(from),
           group.first + static_cast<std::uint32_t>(to), &slice.box, number});
    }
  }

  void emit_group(const TensorGroup& group) {
    std::map<Box, std::vector<Rank>> ranks_of;
    for (const RankBox& shard : problem_.layouts[group.destination].shards)
      ranks_of[shard.box].push_back(shard.rank);
    for (const MadeRun& run : runs_of(group))
      for (const auto& [box, ranks] : ranks_of) emit_run(run, box, ranks);
  }

  std::vector<MadeRun> runs_of(const TensorGroup& group) const {
    std::vector<MadeRun> runs;
    for (std::uint32_t t = group.first; t < group.first + group.count; ++t) {
      const std::uint32_t original = problem_.made_from[t];
      const std::uint32_t scales = scales_of_[original];
      if (!runs.empty()) {
        MadeRun& run = runs.back();
        const bool scales_follow =
            run.scales == kNoTensor ? scales == kNoTensor : scales == run.scales + run.count;
        if (original == run.original + run.count && scales_follow &&
            group_of(problem_, original) == group_of(problem_, run.original)) {
          ++run.count;
          continue;
        }
      }
      runs.push_back({t, scales, original, 1});
    }
    return runs;
  }

  void emit_run(const MadeRun& run, const Box& box, const std::vector<Rank>& ranks) {
    const std::size_t originals = group_of(problem_, run.original);
    const std::int64_t bytes = volume(box) * element_bytes(problem_.groups[originals].dtype);
    if (bytes == 0) return;
    const std::int64_t wanted = std::clamp<std::int64_t>(read_bytes_ / bytes, 1, run.count);
    const auto step = static_cast<std::uint32_t>(wanted);
    for (std::uint32_t at = 0; at < run.count; at += step) {
      const std::uint32_t count = std::min(step, run.count - at);
      std::vector<SliceSpec> slices = {{run.values + at, count, 1, builder_.add_box(box.bounds)}};
      if (run.scales != kNoTensor)
        slices.push_back(
            {run.scales + at, count, 1, builder_.add_box(scale_box(box, run.scales).bounds)});
      const std::int32_t bundle = builder_.add_bundle(slices);
      for (const Rank rank : ranks)
        emit_convert(bundle, rank, {run.original + at, run.original + at + count - 1, &box, 0},
                     static_cast<std::uint32_t>(originals), at / step);
    }
  }

  Box scale_box(const Box& box, std::uint32_t scales) const {
    const RecipeInfo& recipe = recipe_info(problem_.groups[group_of(problem_, scales)].recipe);
    Box made = box;
    const std::size_t dims = box.dims();
    for (std::size_t d = dims - 2; d < dims; ++d) {
      const std::int64_t cell = d + 1 == dims ? recipe.cell_columns : recipe.cell_rows;
      made.bounds[2 * d] = box.lo(d) / cell;
      made.bounds[2 * d + 1] = (box.hi(d) + cell - 1) / cell;
    }
    return made;
  }

  void emit_convert(std::int32_t bundle, Rank rank, const Writer& reads, std::uint32_t group,
                    std::uint32_t chunk) {
    OpSpec op;
    op.key = next_key_++;
    op.kind = OpKind::kConvert;
    op.role = OpRole::kConvert;
    op.source = op.destination = rank;
    op.out_port = fabric_.ranks[static_cast<std::size_t>(rank)].unpack;
    op.bundle = bundle;
    op.bytes = builder_.bundle_bytes(bundle);
    op.chunk = chunk;
    const OpId convert = builder_.add_op(op);
    const auto found = writers_.find({rank, group});
    TRANSLOAD_CHECK(found != writers_.end(), "what is converted has arrived");
    for (const Writer& writer : found->second)
      if (writer.first <= reads.last && reads.first <= writer.last &&
          volume(intersection(*writer.box, *reads.box)) > 0)
        builder_.add_after(convert, writer.op);
  }

  PlanBuilder& builder_;
  const ReshardProblem& problem_;
  const Demand& demand_;
  const SliceOffsets& offsets_;
  const Fabric& fabric_;
  std::int64_t read_bytes_;
  std::vector<std::uint32_t> scales_of_;  // by original
  std::vector<bool> raw_;                 // by group: originals that receivers convert
  std::map<std::pair<Rank, std::uint32_t>, std::vector<Writer>> writers_;  // by rank and group
  std::uint64_t next_key_ = 0;
};

}  // namespace

void emit_receiver_conversions(PlanBuilder& builder, const ReshardProblem& problem,
                               const Demand& demand, const SliceOffsets& offsets,
                               const Fabric& fabric, std::int64_t read_bytes) {
  const bool any =
      std::any_of(problem.groups.begin(), problem.groups.end(),
                  [](const TensorGroup& group) { return group.making == Making::kAtDestination; });
  if (any) ReceiverConversions(builder, problem, demand, offsets, fabric, read_bytes).emit();
}

}  // namespace transload
