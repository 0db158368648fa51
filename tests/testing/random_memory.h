// Random places for shards in memory: padded rows, interleaved blocks, several tensors in one
// buffer, gaps, and zero fills in some of the gaps.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "planner/schedule/builder.h"

namespace transload::testing {

class RandomMemory {
 public:
  RandomMemory(PlanBuilder& builder, std::mt19937_64& random)
      : builder_(builder), random_(random) {}

  // A shard of `count` tensors from `tensor` on with the given box, laid out at random. Empty boxes
  // are dense.
  void add_shard(std::int32_t rank, Side side, std::uint32_t tensor, std::uint32_t count,
                 const std::vector<std::int64_t>& box, DType dtype);
  // Adds all buffers, the shards in them and the fills. Once, at the end.
  void finish();

 private:
  // `count` equal buffers that are not yet as long as they will be.
  struct OpenBuffer {
    std::uint32_t count = 1;
    std::vector<bool> used;  // per byte of each
    std::vector<ShardSpec> shards;
  };

  std::size_t draw(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  ShardSpec lay_out(std::uint32_t tensor, std::uint32_t count, std::uint32_t inner,
                    const std::vector<std::int64_t>& box, DType dtype);
  static void place(OpenBuffer& buffer, ShardSpec shard, std::int64_t element_bits);
  void fill_gaps(std::int32_t rank, std::uint32_t first, const OpenBuffer& buffer);

  PlanBuilder& builder_;
  std::mt19937_64& random_;
  std::map<std::pair<std::int32_t, Side>, std::vector<OpenBuffer>> open_;
};

}  // namespace transload::testing
