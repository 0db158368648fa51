// Padding of a rank's local shard as byte spans that must be zero.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/layout/segments.h"
#include "planner/layout/shards.h"

namespace transload {

// The spans of the local shard that `map` lays out from bit `base` and that no element of the
// tensor takes. `dims` are the elements (clipped segments). InputError where padding does not fall
// on whole bytes, or in more than a million spans.
std::vector<PaddingSpan> padding_spans(const std::vector<Segments>& dims, const StorageMap& map,
                                       std::int64_t base, std::int64_t element_bits,
                                       const std::string& what);

}  // namespace transload
