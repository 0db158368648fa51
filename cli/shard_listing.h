// Who holds which boxes of a job's tensors, and how large the buffers are in which they lie: the
// JSON of `transfers`, written piece by piece because a whole model has tens of millions of shards.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "planner/layout/problem.h"

namespace transload {

// One JSON value on one line; text that is not UTF-8 is mended.
std::string json_line(const nlohmann::json& json);

// [[low, high], ...] per dimension.
nlohmann::json box_json(const Box& box);

class ShardListing {
 public:
  // Lists the first of `tensors`, as many whole ones as have at most `limit` boxes together.
  // `problem` and `tensors` must outlive the listing.
  ShardListing(const ReshardProblem& problem, const std::vector<std::uint32_t>& tensors,
               std::uint64_t limit);

  bool truncated() const { return listed_ < tensors_.size(); }

  // {tensor: {source: {rank: boxes}, destination: {rank: boxes}}}
  void write_shards(std::ostream& out) const;
  // {rank: {buffer: bytes}}. A buffer that nobody shares is called like its tensor; where a rank
  // has buffers of one name on both sides, the second is called "NAME (destination)".
  void write_buffers(std::ostream& out) const;

 private:
  using BoxesOfRanks = std::map<Rank, std::vector<Box>>;
  std::map<std::string, std::int64_t> buffers_of(Rank rank, bool source) const;
  const BoxesOfRanks& boxes_of(std::uint32_t layout) const { return layouts_.at(layout); }

  const ReshardProblem& problem_;
  const std::vector<std::uint32_t>& tensors_;
  std::size_t listed_ = 0;
  std::map<std::uint32_t, BoxesOfRanks> layouts_;  // by layout: those of listed tensors
};

}  // namespace transload
