#include "simulator/calibration/host_work.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "common/dtype.h"
#include "planner/schedule/access.h"

namespace transload {
namespace {

constexpr std::array<std::string_view, kWorkUnits> kNames = {
    "refit",     "tensor",   "call",         "rest-tensor",   "bucket",
    "stage",     "byte",     "stage-tensor", "stage-byte",    "landed-byte",
    "held-byte", "scale",    "turn-byte",    "crossing-byte", "transposed-byte",
    "call-rank", "transport"};

// Below this M2N's inner runs are transposed away (NVIDIA/nccl-extensions 5e56f56,
// CROSS_DIM_TRANSPOSE_THRESHOLD).
constexpr double kNarrowRun = 256 * 1024;

constexpr std::array<std::string_view, 5> kProjections = {
    "gate_proj.weight", "up_proj.weight", "down_proj.weight", "experts.gate_up_proj",
    "experts.down_proj"};

bool is_projection(std::string_view name) {
  if (name.find("shared_expert") != std::string_view::npos || name.starts_with("mtp."))
    return false;
  return std::any_of(kProjections.begin(), kProjections.end(),
                     [&](std::string_view end) { return name.ends_with(end); });
}

// The name without the number of its expert.
std::string stacked(std::string_view name) {
  constexpr std::string_view kExperts = "experts.";
  const auto at = name.find(kExperts);
  if (at == std::string_view::npos) return std::string(name);
  auto end = at + kExperts.size();
  while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
  return std::string(name.substr(0, at + kExperts.size())) + std::string(name.substr(end));
}

double tensor_bytes(const Plan& plan, std::size_t tensor) {
  double elements = 1;
  for (std::size_t d = 0; d < plan.tensor_dims[tensor]; ++d)
    elements *= static_cast<double>(plan.extents[plan.tensor_shape[tensor] + d]);
  return elements * dtype_bits(static_cast<DType>(plan.tensor_dtype[tensor])) / 8;
}

// Ranks that hold parts of one tensor belong together.
class RankSets {
 public:
  explicit RankSets(std::size_t ranks) : parent_(ranks) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t of(std::size_t rank) {
    while (parent_[rank] != rank) rank = parent_[rank] = parent_[parent_[rank]];
    return rank;
  }
  void join(std::size_t a, std::size_t b) { parent_[of(a)] = of(b); }

 private:
  std::vector<std::size_t> parent_;
};

template <class Visit>
void for_each_shard(const Plan& plan, Side side, Visit&& visit) {
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank)
    for (std::uint64_t row = plan.rank_shard_first[rank]; row < plan.rank_shard_first[rank + 1];
         ++row)
      if (plan.shard_side[row] == static_cast<std::uint8_t>(side)) visit(rank, row);
}

double shard_bytes(const Plan& plan, std::uint64_t row) {
  const std::size_t tensor = plan.shard_tensor_first[row];
  double elements = plan.shard_tensor_count[row];
  for (std::size_t d = 0; d < plan.tensor_dims[tensor]; ++d) {
    const std::uint64_t at = plan.shard_box[row] + 2 * d;
    elements *= static_cast<double>(plan.bounds[at + 1] - plan.bounds[at]);
  }
  return elements * dtype_bits(static_cast<DType>(plan.tensor_dtype[tensor])) / 8;
}

double largest_rank(const Plan& plan, Side side) {
  std::vector<double> bytes(plan.ranks(), 0);
  for_each_shard(plan, side, [&](std::size_t rank, std::uint64_t row) {
    bytes[rank] += shard_bytes(plan, row);
  });
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

void count_tensors(const Plan& plan, HostWork& work) {
  std::set<std::string> calls;
  for (std::size_t tensor = 0; tensor < plan.tensors(); ++tensor) {
    const std::string_view name(&plan.names[plan.tensor_name[tensor]]);
    work[WorkUnit::kByte] += tensor_bytes(plan, tensor);
    if (dtype_bits(static_cast<DType>(plan.tensor_dtype[tensor])) == 8 &&
        plan.tensor_dims[tensor] == 2)
      ++work[WorkUnit::kScale];
    if (is_projection(name))
      calls.insert(stacked(name));
    else
      ++work[WorkUnit::kRestTensor];
  }
  work[WorkUnit::kTensor] = static_cast<double>(plan.tensors());
  work[WorkUnit::kCall] = static_cast<double>(calls.size());
}

struct Stage {
  double tensors = 0;
  double bytes = 0;
  double ranks = 0;             // of the trainer
  std::set<std::string> calls;  // one per name, the experts of a layer together
};

std::vector<bool> ranks_of(const Plan& plan, Side side) {
  std::vector<bool> holds(plan.ranks(), false);
  for_each_shard(plan, side, [&](std::size_t rank, std::uint64_t) { holds[rank] = true; });
  return holds;
}

void count_stages(const Plan& plan, HostWork& work) {
  constexpr std::size_t kNobody = SIZE_MAX;
  RankSets sets(plan.ranks());
  std::vector<std::size_t> holder(plan.tensors(), kNobody);
  for_each_shard(plan, Side::kSource, [&](std::size_t rank, std::uint64_t row) {
    for (std::uint32_t i = 0; i < plan.shard_tensor_count[row]; ++i) {
      std::size_t& first = holder[plan.shard_tensor_first[row] + i];
      if (first == kNobody)
        first = rank;
      else
        sets.join(first, rank);
    }
  });
  std::vector<Stage> stages(plan.ranks());
  for (std::size_t tensor = 0; tensor < plan.tensors(); ++tensor) {
    if (holder[tensor] == kNobody) continue;
    Stage& stage = stages[sets.of(holder[tensor])];
    ++stage.tensors;
    stage.bytes += tensor_bytes(plan, tensor);
    stage.calls.insert(stacked(std::string_view(&plan.names[plan.tensor_name[tensor]])));
  }
  const std::vector<bool> sources = ranks_of(plan, Side::kSource);
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank)
    if (sources[rank]) ++stages[sets.of(rank)].ranks;
  const std::vector<bool> destinations = ranks_of(plan, Side::kDestination);
  const auto receivers =
      static_cast<double>(std::count(destinations.begin(), destinations.end(), true));
  for (const Stage& stage : stages) {
    if (stage.tensors > 0) ++work[WorkUnit::kStage];
    const auto raise = [&](WorkUnit unit, double count) {
      work[unit] = std::max(work[unit], count);
    };
    raise(WorkUnit::kStageTensor, stage.tensors);
    raise(WorkUnit::kStageByte, stage.bytes);
    raise(WorkUnit::kCallRank, static_cast<double>(stage.calls.size()) * (stage.ranks + receivers));
  }
}

double extent_along(const Plan& plan, std::uint64_t row, std::size_t dimension) {
  const std::uint64_t at = plan.shard_box[row] + 2 * dimension;
  return static_cast<double>(plan.bounds[at + 1] - plan.bounds[at]);
}

// Whether a shard holds only a part of its tensors' last dimension, of at least two.
bool cuts_last(const Plan& plan, std::uint64_t row) {
  const std::size_t tensor = plan.shard_tensor_first[row];
  const std::size_t dims = plan.tensor_dims[tensor];
  return dims >= 2 && extent_along(plan, row, dims - 1) <
                          static_cast<double>(plan.extents[plan.tensor_shape[tensor] + dims - 1]);
}

bool narrow(const Plan& plan, std::uint64_t row) {
  const std::size_t tensor = plan.shard_tensor_first[row];
  return cuts_last(plan, row) && extent_along(plan, row, plan.tensor_dims[tensor] - 1) *
                                         dtype_bits(static_cast<DType>(plan.tensor_dtype[tensor])) /
                                         8 <
                                     kNarrowRun;
}

// Both sides transpose: senders what they hold, receivers what has landed.
void count_transposes(const Plan& plan, HostWork& work) {
  std::vector<bool> transposed(plan.tensors(), false);
  const auto each = [&](Side side, auto&& visit) {
    for_each_shard(plan, side, [&](std::size_t rank, std::uint64_t row) {
      for (std::uint32_t i = 0; i < plan.shard_tensor_count[row]; ++i)
        visit(rank, row, plan.shard_tensor_first[row] + i);
    });
  };
  each(Side::kDestination, [&](std::size_t, std::uint64_t row, std::size_t tensor) {
    if (narrow(plan, row)) transposed[tensor] = true;
  });
  each(Side::kSource, [&](std::size_t, std::uint64_t row, std::size_t tensor) {
    if (cuts_last(plan, row)) transposed[tensor] = false;
  });
  for (const Side side : {Side::kSource, Side::kDestination}) {
    std::vector<double> bytes(plan.ranks(), 0);
    each(side, [&](std::size_t rank, std::uint64_t row, std::size_t tensor) {
      if (transposed[tensor]) bytes[rank] += shard_bytes(plan, row) / plan.shard_tensor_count[row];
    });
    if (!bytes.empty())
      work[WorkUnit::kTransposedByte] += *std::max_element(bytes.begin(), bytes.end());
  }
}

// Whether some node's ranks hold as many bytes as the job has: then full tensors are gathered
// inside nodes.
bool one_node_holds_all(const Plan& plan, double payload) {
  std::map<std::int32_t, double> bytes;
  for_each_shard(plan, Side::kSource, [&](std::size_t rank, std::uint64_t row) {
    bytes[plan.rank_node[rank]] += shard_bytes(plan, row);
  });
  return std::any_of(bytes.begin(), bytes.end(),
                     [&](const auto& node) { return node.second >= payload * (1 - 1e-9); });
}

void count_buckets(const Plan& plan, HostWork& work) {
  std::set<std::int32_t> bundles;
  for (OpId op = 0; op < plan.operations(); ++op)
    if (op_role(plan, op) == OpRole::kCollective) bundles.insert(plan.op_bundle[op]);
  work[WorkUnit::kBucket] = static_cast<double>(bundles.size());
}

}  // namespace

std::string_view name_of(WorkUnit unit) { return kNames[static_cast<std::size_t>(unit)]; }

HostWork host_work(const Plan& plan) {
  HostWork work;
  work[WorkUnit::kRefit] = 1;
  count_tensors(plan, work);
  count_stages(plan, work);
  count_buckets(plan, work);
  count_transposes(plan, work);
  work[WorkUnit::kLandedByte] = largest_rank(plan, Side::kDestination);
  work[WorkUnit::kHeldByte] = largest_rank(plan, Side::kSource);
  work[WorkUnit::kTurnByte] = work[WorkUnit::kHeldByte] * work[WorkUnit::kStage];
  if (!one_node_holds_all(plan, work[WorkUnit::kByte]))
    work[WorkUnit::kCrossingByte] = work[WorkUnit::kByte];
  return work;
}

}  // namespace transload
