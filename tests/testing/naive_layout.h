// The slow, obvious reading of a sharding: for every rank, which element of the tensor lies at
// which bit of its buffer, element by element. Written from the definitions in models/sharding.h,
// without boxes, segments or loops.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "models/sharding.h"

namespace transload::testing {

struct NaiveElement {
  std::int64_t element = 0;  // row-major in the whole tensor
  std::int64_t bit = 0;      // in the rank's buffer
  friend auto operator<=>(const NaiveElement&, const NaiveElement&) = default;
};

// Elements of each rank in the row-major order of its local shard; ranks that hold none included.
std::map<Rank, std::vector<NaiveElement>> naive_layout(const Sharding& sharding,
                                                       std::span<const std::int64_t> shape,
                                                       std::int64_t element_bits);

}  // namespace transload::testing
