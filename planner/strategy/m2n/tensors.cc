#include "planner/strategy/m2n/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "planner/demand/transfers.h"
#include "planner/schedule/plan.h"

namespace transload {
namespace {

// M2N's descriptors: tensors of one to three dimensions.
constexpr std::size_t kMostDims = 3;
// A stack takes one dimension more than its experts have.
constexpr std::size_t kMostStackedDims = kMostDims - 1;

struct Member {
  std::int64_t expert = 0;
  std::uint32_t tensor = 0;
};

struct Candidate {
  std::string name;
  std::uint32_t input = 0;  // place of the first member in the job's order
  bool stacked = false;
  std::vector<Member> members;
};

class TensorMaker {
 public:
  TensorMaker(const ReshardProblem& problem, RefusalList& refused)
      : problem_(problem), refused_(refused), strided_(problem.layouts.size()) {}

  std::vector<M2nTensor> make() {
    std::vector<M2nTensor> tensors;
    for (Candidate& candidate : candidates()) {
      M2nTensor tensor;
      tensor.name = candidate.name;
      tensor.stacked = candidate.stacked;
      std::sort(candidate.members.begin(), candidate.members.end(),
                [](const Member& a, const Member& b) { return a.expert < b.expert; });
      for (const Member& member : candidate.members) tensor.members.push_back(member.tensor);
      if (complete(tensor)) tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

 private:
  const TensorGroup& group(std::uint32_t tensor) const {
    return problem_.groups[group_of(problem_, tensor)];
  }

  // Stacks and single tensors, in the job's order.
  std::vector<Candidate> candidates() const {
    std::vector<std::uint32_t> by_input(problem_.names.size());
    for (std::uint32_t tensor = 0; tensor < by_input.size(); ++tensor)
      by_input[problem_.input_position[tensor]] = tensor;
    std::vector<Candidate> list;
    using StackKey = std::tuple<std::string, std::vector<std::int64_t>, DType>;
    std::map<StackKey, std::size_t> stacks;
    for (std::uint32_t input = 0; input < by_input.size(); ++input) {
      const std::uint32_t tensor = by_input[input];
      const TensorGroup& its = group(tensor);
      if (volume(whole_box(its.shape)) == 0) continue;
      const std::string& name = problem_.names[tensor];
      const auto expert =
          its.shape.size() <= kMostStackedDims ? expert_name(name) : std::optional<ExpertName>{};
      if (!expert) {
        list.push_back({name, input, false, {{0, tensor}}});
        continue;
      }
      const auto [entry, added] =
          stacks.try_emplace({expert->stack, its.shape, its.dtype}, list.size());
      if (added) list.push_back({expert->stack, input, true, {}});
      list[entry->second].members.push_back({expert->expert, tensor});
    }
    return list;
  }

  // Fills in shape and meshes; false where M2N cannot express the tensor.
  bool complete(M2nTensor& tensor) {
    const TensorGroup& first = group(tensor.members.front());
    tensor.element_bytes = element_bytes(first.dtype);
    tensor.shape = first.shape;
    if (tensor.stacked)
      tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(tensor.members.size()));
    if (tensor.shape.empty() || tensor.shape.size() > kMostDims) {
      refused_.add("tensors of 1 to 3 dimensions", fmt::format("{}", tensor.shape.size()),
                   tensor.name);
      return false;
    }
    const bool dense = dense_rows(tensor, Side::kSource) && dense_rows(tensor, Side::kDestination);
    const auto source = side_mesh(tensor, Side::kSource);
    const auto destination = side_mesh(tensor, Side::kDestination);
    if (!dense || !source || !destination) return false;
    tensor.source = *source;
    tensor.destination = *destination;
    return disjoint(tensor);
  }

  const Layout& layout(std::uint32_t tensor, Side side) const {
    const TensorGroup& its = group(tensor);
    return problem_.layouts[side == Side::kSource ? its.source : its.destination];
  }

  static std::string word(Side side) { return side == Side::kSource ? "source" : "destination"; }

  std::optional<M2nMesh> side_mesh(const M2nTensor& tensor, Side side) {
    std::vector<HolderGrid> grids;
    for (const std::uint32_t member : tensor.members) {
      const Layout& its = layout(member, side);
      if (empty_shards(its)) {
        refused_.add("shards of equal length", fmt::format("empty shards on the {}", word(side)),
                     tensor.name);
        return std::nullopt;
      }
      grids.push_back(holder_grid(its, problem_.sets));
      if (!tensor.stacked) return mesh_of(grids.front(), word(side), tensor.name, refused_);
    }
    const auto grid = stacked_grid(grids);
    if (grid) return mesh_of(*grid, word(side), tensor.name, refused_);
    refused_.add("one sharding for all experts of a layer",
                 fmt::format("several on the {}", word(side)), tensor.name);
    return std::nullopt;
  }

  // A rank of a cut tensor that holds nothing of it: the rest of a ceil rule. (Of an expert, ranks
  // without it are the other members of its expert-parallel group.)
  static bool empty_shards(const Layout& layout) {
    if (layout.cells.size() < 2) return false;
    return std::any_of(layout.storage.begin(), layout.storage.end(), [&](const RankStorage& of) {
      const auto shard =
          std::lower_bound(layout.shards.begin(), layout.shards.end(), of.rank,
                           [](const RankBox& box, Rank rank) { return box.rank < rank; });
      return shard == layout.shards.end() || shard->rank != of.rank;
    });
  }

  // M2N has no strides: rows of a shard must be rows in memory.
  bool dense_rows(const M2nTensor& tensor, Side side) {
    for (const std::uint32_t member : tensor.members) {
      const std::optional<Rank> rank = first_strided(group(member), side);
      if (!rank) continue;
      refused_.add("dense row-major shards",
                   fmt::format("rank {} stores another order on the {}", *rank, word(side)),
                   tensor.name);
      return false;
    }
    return true;
  }

  // The first rank whose rows are not contiguous; asked once per layout.
  std::optional<Rank> first_strided(const TensorGroup& its, Side side) {
    const std::uint32_t index = side == Side::kSource ? its.source : its.destination;
    std::optional<std::optional<Rank>>& answer = strided_[index];
    if (answer) return *answer;
    answer = std::optional<Rank>{};
    const Layout& layout = problem_.layouts[index];
    for (const RankBox& shard : layout.shards)
      if (contiguous_run(layout, shard, shard.box, dtype_bits(its.dtype)) <
          shard.box.extent(shard.box.dims() - 1)) {
        answer = shard.rank;
        break;
      }
    return *answer;
  }

  bool disjoint(const M2nTensor& tensor) {
    std::vector<Rank> both;
    std::set_intersection(tensor.source.ranks.begin(), tensor.source.ranks.end(),
                          tensor.destination.ranks.begin(), tensor.destination.ranks.end(),
                          std::back_inserter(both));
    // A communicator of one rank copies to itself.
    const bool alone = tensor.source.ranks.size() == 1 && tensor.destination.ranks.size() == 1;
    if (both.empty() || alone) return true;
    refused_.add("disjoint ranks on the two sides",
                 fmt::format("{} in both, the first is {}", both.size(), both.front()),
                 tensor.name);
    return false;
  }

  const ReshardProblem& problem_;
  RefusalList& refused_;
  std::vector<std::optional<std::optional<Rank>>> strided_;  // by layout
};

}  // namespace

std::vector<M2nTensor> m2n_tensors(const ReshardProblem& problem, RefusalList& refused) {
  return TensorMaker(problem, refused).make();
}

Box shard_box(const M2nTensor& tensor, const M2nMesh& mesh, std::int32_t shard) {
  Box box = whole_box(tensor.shape);
  const auto d = static_cast<std::size_t>(mesh.shard_dim);
  const std::int64_t length = tensor.shape[d] / mesh.shards;
  box.bounds[2 * d] = shard * length;
  box.bounds[2 * d + 1] = (shard + 1) * length;
  return box;
}

std::optional<ExpertName> expert_name(const std::string& name) {
  static constexpr std::string_view kWord = ".experts.";
  static constexpr std::size_t kMostDigits = 9;
  const std::size_t word = name.rfind(kWord);
  if (word == std::string::npos) return std::nullopt;
  const std::size_t begin = word + kWord.size();
  const std::size_t end = name.find('.', begin);
  if (end == std::string::npos || end == begin || end - begin > kMostDigits) return std::nullopt;
  ExpertName result;
  for (std::size_t i = begin; i < end; ++i) {
    if (name[i] < '0' || name[i] > '9') return std::nullopt;
    result.expert = 10 * result.expert + (name[i] - '0');
  }
  result.stack = name.substr(0, begin) + "*" + name.substr(end);
  return result;
}

}  // namespace transload
