#include "planner/strategy/m2n/moves.h"

#include <algorithm>
#include <map>

namespace transload {
namespace {

// The host-put path's own tables (facts: PACK single-domain host-RMA path).
constexpr std::size_t kHostPutRanks = 64;
constexpr std::int32_t kHostPutSourceShards = 32;
constexpr std::int32_t kHostPutDestinationShards = 64;

// A run of source shards that one leader took in, and where it has got to in its chain.
struct Part {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::size_t place = 0;  // of its present leader among the replicas of the domain
};

class MovePlanner {
 public:
  MovePlanner(const M2nTensor& tensor, M2nMode mode, std::span<const std::int32_t> domain_of_rank)
      : tensor_(tensor), mode_(mode), domain_of_rank_(domain_of_rank) {
    result_.receipts = m2n_receipts(tensor);
  }

  M2nMoves plan() {
    const M2nMesh& source = tensor_.source;
    const M2nMesh& destination = tensor_.destination;
    if (source.ranks == destination.ranks) {  // one rank: a copy, no move
      result_.path = M2nPath::kHostPut;
      return std::move(result_);
    }
    const bool node_aware = balances_by_node();
    const auto parent_groups = [&] {
      return node_aware ? balance_node_aware(source, destination, domain_of_rank_)
                        : balance_uniform(source, destination);
    };
    if (mode_ == M2nMode::kDirect) {
      put_pairs(M2nPath::kDirect, balance_uniform(source, destination));
    } else if (host_puts()) {
      put_pairs(M2nPath::kHostPut, parent_groups());
    } else {
      const auto split = mode_ == M2nMode::kDefault && node_aware
                             ? balance_split(source, destination, domain_of_rank_)
                             : std::vector<ReplicaGroup>{};
      // A hop of a chain that would leave its rail is the end of the split.
      if (split.empty() || !chains(M2nPath::kSplit, split))
        chains(M2nPath::kParent, parent_groups());
    }
    return std::move(result_);
  }

 private:
  // Tensors that both sides replicate are balanced uniformly, except on many ranks.
  bool balances_by_node() const {
    if (mode_ == M2nMode::kParentUniform || mode_ == M2nMode::kDirect) return false;
    const std::size_t ranks = tensor_.source.ranks.size() + tensor_.destination.ranks.size();
    const bool replicated = tensor_.source.shards == 1 && tensor_.destination.shards == 1;
    return !replicated || ranks > kM2nManyRanks;
  }

  std::int32_t domain(Rank rank) const { return domain_of_rank_[static_cast<std::size_t>(rank)]; }

  bool host_puts() const {
    const M2nMesh& source = tensor_.source;
    const M2nMesh& destination = tensor_.destination;
    const auto elsewhere = [&](Rank rank) { return domain(rank) != domain(source.ranks.front()); };
    return source.ranks.front() < destination.ranks.front() &&
           source.ranks.size() + destination.ranks.size() <= kHostPutRanks &&
           source.shards <= kHostPutSourceShards &&
           destination.shards <= kHostPutDestinationShards &&
           std::none_of(source.ranks.begin(), source.ranks.end(), elsewhere) &&
           std::none_of(destination.ranks.begin(), destination.ranks.end(), elsewhere);
  }

  void add(M2nRole role, Rank from, Rank to, std::int32_t shard, std::int64_t begin,
           std::int64_t end, std::uint32_t hop) {
    result_.moves.push_back({role, from, to, shard, begin, end, hop});
  }

  const M2nReceipt& receipt(std::int32_t shard) const {
    return result_.receipts[static_cast<std::size_t>(shard)];
  }

  void inject(std::int32_t source_replica, std::int32_t shard, std::size_t number, Rank to) {
    const M2nReceipt& its = receipt(shard);
    add(M2nRole::kInject, tensor_.source.rank(source_replica, its.source_shards[number]), to, shard,
        its.begin[number], its.begin[number + 1], 1);
  }

  // Every source shard to every destination replica of the group.
  void put_pairs(M2nPath path, const std::vector<ReplicaGroup>& groups) {
    result_.path = path;
    for (const ReplicaGroup& group : groups)
      for (std::int32_t shard = 0; shard < tensor_.destination.shards; ++shard)
        for (std::size_t number = 0; number < receipt(shard).source_shards.size(); ++number)
          for (const std::int32_t replica : group.destinations)
            inject(group.source, shard, number, tensor_.destination.rank(replica, shard));
  }

  // False, and no moves, where the path is the split one and a hop would change its rail.
  bool chains(M2nPath path, const std::vector<ReplicaGroup>& groups) {
    result_.path = path;
    for (const ReplicaGroup& group : groups)
      for (std::int32_t shard = 0; shard < tensor_.destination.shards; ++shard)
        if (!chain(group, shard)) {
          result_.moves.clear();
          return false;
        }
    return true;
  }

  bool chain(const ReplicaGroup& group, std::int32_t shard) {
    std::map<std::int32_t, std::vector<Rank>> by_domain;
    for (const std::int32_t replica : group.destinations) {
      const Rank rank = tensor_.destination.rank(replica, shard);
      by_domain[domain(rank)].push_back(rank);
    }
    std::vector<Part> parts = first_leaders(group, shard, by_domain.begin()->second);
    std::uint32_t hop = 1;
    const std::vector<Rank>* before = nullptr;
    for (const auto& [number, ranks] : by_domain) {
      if (before != nullptr && !forward(*before, ranks, shard, ++hop, parts)) return false;
      fan_out(ranks, shard, hop + 1, parts);
      before = &ranks;
    }
    return true;
  }

  // The replicas of the first domain share the source shards in contiguous runs; with fewer shards
  // than replicas only the first ones receive.
  std::vector<Part> first_leaders(const ReplicaGroup& group, std::int32_t shard,
                                  const std::vector<Rank>& ranks) {
    const M2nReceipt& its = receipt(shard);
    const auto bounds = contiguous_split(static_cast<std::int32_t>(its.source_shards.size()),
                                         static_cast<std::int32_t>(ranks.size()));
    std::vector<Part> parts;
    for (std::size_t place = 0; place < ranks.size(); ++place) {
      const auto from = static_cast<std::size_t>(bounds[place]);
      const auto to = static_cast<std::size_t>(bounds[place + 1]);
      if (from == to) continue;
      for (std::size_t number = from; number < to; ++number)
        inject(group.source, shard, number, ranks[place]);
      parts.push_back({its.begin[from], its.begin[to], place});
    }
    return parts;
  }

  // To the replica at the same place of the next domain, or to its last one; parts that met stay
  // together.
  bool forward(const std::vector<Rank>& from, const std::vector<Rank>& to, std::int32_t shard,
               std::uint32_t hop, std::vector<Part>& parts) {
    for (Part& part : parts) {
      const Rank source = from[part.place];
      part.place = std::min(part.place, to.size() - 1);
      const Rank destination = to[part.place];
      if (result_.path == M2nPath::kSplit && rail(source) != rail(destination)) return false;
      add(M2nRole::kForward, source, destination, shard, part.begin, part.end, hop);
    }
    return true;
  }

  void fan_out(const std::vector<Rank>& ranks, std::int32_t shard, std::uint32_t hop,
               const std::vector<Part>& parts) {
    for (const Part& part : parts)
      for (std::size_t place = 0; place < ranks.size(); ++place)
        if (place != part.place)
          add(M2nRole::kFanOut, ranks[part.place], ranks[place], shard, part.begin, part.end, hop);
  }

  // Place of a destination rank among the destination ranks of its domain.
  std::int32_t rail(Rank rank) const {
    const std::vector<Rank>& ranks = tensor_.destination.ranks;
    const auto first = std::find_if(ranks.begin(), ranks.end(),
                                    [&](Rank other) { return domain(other) == domain(rank); });
    return static_cast<std::int32_t>(std::lower_bound(first, ranks.end(), rank) - first);
  }

  const M2nTensor& tensor_;
  const M2nMode mode_;
  const std::span<const std::int32_t> domain_of_rank_;
  M2nMoves result_;
};

}  // namespace

std::string_view name_of(M2nRole role) {
  switch (role) {
    case M2nRole::kInject:
      return "inject";
    case M2nRole::kForward:
      return "forward";
    case M2nRole::kFanOut:
      return "fan-out";
  }
  return "";
}

std::vector<M2nReceipt> m2n_receipts(const M2nTensor& tensor) {
  std::vector<M2nReceipt> receipts;
  for (std::int32_t shard = 0; shard < tensor.destination.shards; ++shard) {
    M2nReceipt receipt;
    receipt.begin.push_back(0);
    const Box wanted = shard_box(tensor, tensor.destination, shard);
    for (std::int32_t from = 0; from < tensor.source.shards; ++from) {
      Box common = intersection(wanted, shard_box(tensor, tensor.source, from));
      const std::int64_t bytes = volume(common) * tensor.element_bytes;
      if (bytes == 0) continue;
      receipt.source_shards.push_back(from);
      receipt.boxes.push_back(std::move(common));
      receipt.begin.push_back(receipt.begin.back() + bytes);
    }
    receipts.push_back(std::move(receipt));
  }
  return receipts;
}

M2nMoves m2n_moves(const M2nTensor& tensor, M2nMode mode,
                   std::span<const std::int32_t> domain_of_rank) {
  return MovePlanner(tensor, mode, domain_of_rank).plan();
}

}  // namespace transload
