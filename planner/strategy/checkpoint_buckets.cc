#include "planner/strategy/checkpoint_buckets.h"

#include <algorithm>
#include <map>

#include "common/check.h"
#include "planner/demand/demand.h"
#include "planner/strategy/constants.h"

namespace transload {
namespace {

constexpr std::int64_t kAlignment = 256;  // sizes are rounded down to it

std::int64_t tensor_bytes(const TensorGroup& group) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : group.shape) elements *= extent;
  return elements * element_bytes(group.dtype);
}

// Bytes of weights on each engine's GPU. The owners' parts lie in host memory.
std::map<Rank, std::int64_t> weights(const ReshardProblem& problem) {
  std::map<Rank, std::int64_t> bytes;
  for (const TensorGroup& group : problem.groups)
    for (const RankBox& shard : problem.layouts[group.destination].shards)
      bytes[shard.rank] += volume(shard.box) * element_bytes(group.dtype) * group.count;
  return bytes;
}

// The least memory that its weights leave on a rank; nothing where some GPU's memory is unknown.
std::optional<std::int64_t> least_free(const Job& job) {
  std::optional<std::int64_t> least;
  for (const auto& [rank, bytes] : weights(job.problem)) {
    const auto model =
        static_cast<std::size_t>(job.topology.gpus[static_cast<std::size_t>(rank)].model);
    const std::int64_t memory = job.topology.gpu_models[model].memory_bytes;
    if (memory == 0) return std::nullopt;
    const std::int64_t free = std::max<std::int64_t>(0, memory - bytes);
    least = least ? std::min(*least, free) : free;
  }
  return least;
}

// Fills one owner's buckets tensor by tensor.
class BucketFiller {
 public:
  BucketFiller(PlanBuilder& builder, const ReshardProblem& problem, std::int64_t bucket_bytes)
      : builder_(builder), problem_(problem), bucket_bytes_(bucket_bytes) {}

  void add(const TensorGroup& group, std::uint32_t tensor) {
    const std::int64_t bytes = tensor_bytes(group);
    if (bucket_.bytes > 0 && bucket_.bytes + bytes > bucket_bytes_) close();
    if (!slices_.empty() && group.first == group_first_ &&
        slices_.back().tensor_first + slices_.back().tensor_count == tensor) {
      ++slices_.back().tensor_count;
    } else {
      slices_.push_back({tensor, 1, 1, builder_.add_box(whole_box(group.shape).bounds)});
      group_first_ = group.first;
    }
    bucket_.bytes += bytes;
    ++bucket_.tensors;
    const std::int64_t run = shortest_load_run(problem_, group);
    if (run > 0 && (bucket_.load_run == 0 || run < bucket_.load_run)) bucket_.load_run = run;
  }

  OwnerBuckets take(Rank owner) {
    close();
    for (Bucket& bucket : done_) bucket.parts.push_back({owner, {0, bucket.bytes}});
    return {owner, std::move(done_)};
  }

 private:
  void close() {
    if (bucket_.bytes > 0) {
      bucket_.bundle = builder_.add_bundle(slices_);
      done_.push_back(std::move(bucket_));
    }
    bucket_ = {};
    slices_.clear();
  }

  PlanBuilder& builder_;
  const ReshardProblem& problem_;
  std::int64_t bucket_bytes_;
  Bucket bucket_;
  std::vector<SliceSpec> slices_;
  std::uint32_t group_first_ = 0;
  std::vector<Bucket> done_;
};

}  // namespace

CheckpointConstants load_checkpoint_constants() {
  ConstantFile file("checkpoint-engine");
  CheckpointConstants constants;
  constants.memory_fraction_ppm =
      static_cast<std::int64_t>(file.read("memory_fraction").number() * 1e6);
  constants.bucket_limit = file.read("bucket_limit").bytes();
  constants.h2d_rate = file.read("h2d_rate").rate();
  constants.broadcast_rails = file.read("broadcast_rails").integer_in(1, 64);
  constants.load_per_tensor_ps = file.read("load_per_tensor").duration_ps();
  constants.piece = file.read("piece").bytes();
  constants.assumptions = file.finish();
  return constants;
}

LargestTensor largest_tensor(const ReshardProblem& problem) {
  LargestTensor largest;
  for (const TensorGroup& group : problem.groups)
    if (tensor_bytes(group) > largest.bytes) largest = {tensor_bytes(group), group.first};
  return largest;
}

std::optional<BucketShape> bucket_shape(const Job& job, const CheckpointConstants& constants,
                                        std::optional<std::int64_t> asked) {
  const std::int64_t largest = largest_tensor(job.problem).bytes;
  const std::int64_t wanted = std::max(asked.value_or(constants.bucket_limit), largest);
  const std::optional<std::int64_t> memory = least_free(job);
  if (!memory) return BucketShape{wanted, true};
  const auto free = static_cast<std::int64_t>(static_cast<__int128>(*memory) *
                                              constants.memory_fraction_ppm / 1'000'000);
  const auto cap = [&](std::int64_t buffers) { return free / buffers / kAlignment * kAlignment; };
  if (largest <= cap(3)) return BucketShape{std::min(wanted, cap(3)), true};
  if (largest <= cap(2)) return BucketShape{std::min(wanted, cap(2)), false};
  return std::nullopt;
}

std::vector<Rank> whole_holders(const ReshardProblem& problem, const TensorGroup& group) {
  // A rank that holds every cell of the source's grid holds the tensor.
  const Layout& layout = problem.layouts[group.source];
  std::vector<Rank> common;
  for (std::size_t cell = 0; cell < layout.cells.size(); ++cell) {
    const std::span<const Rank> holders = problem.sets.of(layout.cells[cell]);
    if (cell == 0) {
      common.assign(holders.begin(), holders.end());
      continue;
    }
    std::erase_if(common, [&](Rank rank) {
      return !std::binary_search(holders.begin(), holders.end(), rank);
    });
  }
  return common;
}

std::vector<OwnerBuckets> make_owner_buckets(PlanBuilder& builder, const ReshardProblem& problem,
                                             std::int64_t bucket_bytes) {
  std::map<Rank, std::int64_t> load;
  std::map<Rank, std::vector<std::pair<const TensorGroup*, std::uint32_t>>> tensors_of;
  for (const TensorGroup& group : problem.groups) {
    const std::vector<Rank> holders = whole_holders(problem, group);
    const std::int64_t bytes = tensor_bytes(group);
    for (std::uint32_t i = 0; i < group.count && bytes > 0; ++i) {
      TRANSLOAD_CHECK(!holders.empty(), "tensors without an owner are refused");
      const Rank owner = *std::min_element(holders.begin(), holders.end(),
                                           [&](Rank a, Rank b) { return load[a] < load[b]; });
      load[owner] += bytes;
      tensors_of[owner].emplace_back(&group, group.first + i);
    }
  }
  std::vector<OwnerBuckets> owners;
  for (const auto& [owner, tensors] : tensors_of) {
    BucketFiller filler(builder, problem, bucket_bytes);
    for (const auto& [group, tensor] : tensors) filler.add(*group, tensor);
    owners.push_back(filler.take(owner));
  }
  return owners;
}

}  // namespace transload
