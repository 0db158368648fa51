#include "cli/shard_listing.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "planner/demand/transfers.h"
#include "planner/schedule/text.h"

namespace transload {
namespace {

using BoxesOfRanks = std::map<Rank, std::vector<Box>>;

BoxesOfRanks by_rank(const Layout& layout) {
  BoxesOfRanks boxes;
  for (RankBox& shard : maximal_boxes(layout)) boxes[shard.rank].push_back(std::move(shard.box));
  return boxes;
}

std::uint64_t count_boxes(const BoxesOfRanks& ranks) {
  std::uint64_t count = 0;
  for (const auto& [rank, boxes] : ranks) count += boxes.size();
  return count;
}

nlohmann::json side_json(const BoxesOfRanks& ranks) {
  nlohmann::json side = nlohmann::json::object();
  for (const auto& [rank, boxes] : ranks)
    for (const Box& box : boxes) side[std::to_string(rank)].push_back(box_json(box));
  return side;
}

}  // namespace

std::string json_line(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json box_json(const Box& box) {
  nlohmann::json bounds = nlohmann::json::array();
  for (std::size_t d = 0; d < box.dims(); ++d)
    bounds.push_back(nlohmann::json::array({box.lo(d), box.hi(d)}));
  return bounds;
}

ShardListing::ShardListing(const ReshardProblem& problem, const std::vector<std::uint32_t>& tensors,
                           std::uint64_t limit)
    : problem_(problem), tensors_(tensors) {
  std::uint64_t left = limit;
  for (; listed_ < tensors.size(); ++listed_) {
    const TensorGroup& group = problem.groups[group_of(problem, tensors[listed_])];
    std::uint64_t boxes = 0;
    for (const std::uint32_t layout : {group.source, group.destination}) {
      const auto [entry, added] = layouts_.try_emplace(layout);
      if (added) entry->second = by_rank(problem.layouts[layout]);
      boxes += count_boxes(entry->second);
    }
    if (boxes > left) return;
    left -= boxes;
  }
}

void ShardListing::write_shards(std::ostream& out) const {
  out << '{';
  for (std::size_t i = 0; i < listed_; ++i) {
    const TensorGroup& group = problem_.groups[group_of(problem_, tensors_[i])];
    out << (i > 0 ? ",\n    " : "\n    ") << json_quoted(problem_.names[tensors_[i]]) << ": "
        << json_line({{"source", side_json(boxes_of(group.source))},
                      {"destination", side_json(boxes_of(group.destination))}});
  }
  out << (listed_ > 0 ? "\n  }" : "}");
}

std::map<std::string, std::int64_t> ShardListing::buffers_of(Rank rank, bool source) const {
  std::map<std::string, std::int64_t> buffers;
  for (std::size_t i = 0; i < listed_; ++i) {
    const TensorGroup& group = problem_.groups[group_of(problem_, tensors_[i])];
    const Layout& layout = problem_.layouts[source ? group.source : group.destination];
    const auto [first, last] = std::equal_range(
        layout.storage.begin(), layout.storage.end(), RankStorage{.rank = rank},
        [](const RankStorage& a, const RankStorage& b) { return a.rank < b.rank; });
    for (auto storage = first; storage != last; ++storage) {
      if (storage->bytes == 0) continue;
      const SideBuffers& side = side_buffers(problem_, source, storage->pool);
      const BufferRef ref = side.of_tensor.empty() ? BufferRef{} : side.of_tensor[tensors_[i]];
      if (ref.buffer == BufferRef::kOwnBuffer) {
        buffers[valid_utf8(problem_.names[tensors_[i]])] = storage->bytes;
        continue;
      }
      const std::string& name = side.buffers[ref.buffer].name;
      std::int64_t& bytes = buffers[valid_utf8(name)];
      bytes = std::max(bytes, ref.slot * storage->slot_bytes + storage->bytes);
      if (const auto declared = problem_.declared_buffers.find(name);
          declared != problem_.declared_buffers.end())
        bytes = bytes_on(declared->second, rank);
    }
  }
  return buffers;
}

void ShardListing::write_buffers(std::ostream& out) const {
  std::vector<Rank> ranks;
  std::set_union(problem_.source_ranks.begin(), problem_.source_ranks.end(),
                 problem_.destination_ranks.begin(), problem_.destination_ranks.end(),
                 std::back_inserter(ranks));
  out << '{';
  bool first = true;
  for (const Rank rank : ranks) {
    nlohmann::json buffers = nlohmann::json::object();
    for (const auto& [name, bytes] : buffers_of(rank, true)) buffers[name] = bytes;
    for (const auto& [name, bytes] : buffers_of(rank, false))
      buffers[buffers.contains(name) ? name + " (destination)" : name] = bytes;
    if (buffers.empty()) continue;
    out << (first ? "\n    \"" : ",\n    \"") << rank << "\": " << json_line(buffers);
    first = false;
  }
  out << (first ? "}" : "\n  }");
}

}  // namespace transload
