// The resharding problem: every tensor with its layout on both sides, in plan order.
//
// Tens of thousands of tensors share few layouts, so tensors of equal shape, dtype and layouts form
// a *group* and stand together: everything downstream works on ranges of tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/dtype.h"
#include "models/sharding.h"
#include "planner/layout/layout.h"

namespace transload {

// One tensor of a job as its readers (planner/job) hand it over. Sharding numbers index the tables
// of `ProblemInput`; a destination may consist of several pools.
struct TensorInput {
  std::string name;
  std::vector<std::int64_t> shape;
  DType dtype = DType::kBF16;
  std::int32_t layer = -1;
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
};

struct ProblemInput {
  std::vector<TensorInput> tensors;
  std::vector<Sharding> source_shardings;
  std::vector<std::vector<Sharding>>
      destination_shardings;  // one entry: the pools' shardings together
};

struct TensorGroup {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::vector<std::int64_t> shape;
  DType dtype = DType::kBF16;
  std::uint32_t source = 0;       // index into `layouts`
  std::uint32_t destination = 0;  // index into `layouts`
};

struct ReshardProblem {
  std::vector<std::string> names;             // by tensor, in plan order
  std::vector<std::int32_t> layers;           // by tensor; -1: none
  std::vector<std::uint32_t> input_position;  // by tensor: its place in the job's own order
  std::vector<TensorGroup> groups;
  std::vector<Layout> layouts;
  RankSets sets;
  std::vector<Rank> source_ranks;  // ascending; ranks that hold anything
  std::vector<Rank> destination_ranks;
};

std::int64_t element_bytes(DType dtype);

// InputError: duplicate names, negative extents, more than 2^50 elements, sub-byte totals, and
// whatever make_layout refuses, naming tensor, side and rank.
ReshardProblem make_problem(const ProblemInput& input);

}  // namespace transload
