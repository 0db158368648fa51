// Tensors whose destination stores another type than their source: which tensors a problem has in
// their place, and where the conversion happens.
//
// One tensor NAME of the job becomes up to three of the problem: the *original* NAME@TYPE in the
// source's type, the values NAME in the destination's type, and, for blockwise types, the scales
// NAME.scale. Values and scales are *made* from the original. They are made on the ranks that hold
// the source, before the wire, wherever that is possible: then the original is held only, and
// values and scales are what moves. It is not possible where a source shard cuts a block (nobody
// there sees all that shares a scale), and not wanted where the source's type is the narrower one:
// then the original moves to raw buffers of the destination, and the receivers make values and
// scales.
#pragma once

#include "planner/layout/problem.h"

namespace transload {

struct ExpandedInput {
  ProblemInput input;  // no tensor has a destination type of its own
  std::vector<ConvertedTensors> conversions;
};

// True if some tensor is to be converted.
bool has_conversions(const ProblemInput& input);

// InputError naming tensor and rank: a destination shard that cuts a block; a blockwise type for a
// tensor with less than two dimensions; groups of MX formats that do not divide the last one.
ExpandedInput expand_conversions(const ProblemInput& input);

}  // namespace transload
