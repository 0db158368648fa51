// The resharding problem: every tensor with its layout on both sides, in plan order.
//
// Tens of thousands of tensors share few layouts, so tensors of equal shape, dtype and layouts form
// a *group* and stand together: everything downstream works on ranges of tensors.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/dtype.h"
#include "common/recipe.h"
#include "models/sharding.h"
#include "planner/layout/layout.h"

namespace transload {

// How a tensor comes from another one of the input, by position.
struct MadeInput {
  Making making = Making::kNotMade;
  Recipe recipe = Recipe::kAsIs;
  std::uint32_t from = 0;
};

// One tensor of a job as its readers (planner/job) hand it over. Sharding numbers index the tables
// of `ProblemInput`; a destination may consist of several pools.
struct TensorInput {
  static constexpr std::uint32_t kNotTied = UINT32_MAX;
  std::string name;
  std::vector<std::int64_t> shape;
  DType dtype = DType::kBF16;
  std::int32_t layer = -1;
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  // Another name of the same source data: the input position of the tensor that it is, with equal
  // shape, dtype and source.
  std::uint32_t tied_to = kNotTied;
  // The destination's type, where it is another one (planner/layout/conversion.h).
  std::optional<StoredType> destination_type = {};
  MadeInput made = {};
};

// What a job says about a shared buffer beyond the tensors in it.
struct DeclaredBuffer {
  std::int64_t bytes = 0;
  std::map<Rank, std::int64_t> rank_bytes;                     // instead of `bytes`
  std::vector<std::pair<std::int64_t, std::int64_t>> padding;  // byte ranges that no tensor takes
  PaddingFill fill = PaddingFill::kKeep;
};

std::int64_t bytes_on(const DeclaredBuffer& buffer, Rank rank);

struct ProblemInput {
  std::vector<TensorInput> tensors;
  std::vector<Sharding> source_shardings;
  // One entry: the pools' shardings together.
  std::vector<std::vector<PoolSharding>> destination_shardings;
  // By tensor; empty where every tensor has a buffer of its own.
  std::vector<BufferRef> source_buffer_of;
  std::vector<SharedBuffer> source_buffers;
  // By pool, then as above.
  std::vector<std::vector<BufferRef>> destination_buffer_of;
  std::vector<std::vector<SharedBuffer>> destination_buffers;
  std::map<std::string, DeclaredBuffer> declared_buffers;  // by name, of either side
  // Ranks whose shards are taken out of the layouts, ascending; of destinations by pool.
  std::vector<Rank> absent_sources;
  std::vector<std::vector<Rank>> absent_destinations;
  // Prove that tensors in one buffer neither overlap nor leave gaps that nobody named.
  bool validate_memory = false;
};

// The shared buffers of one side or pool. `of_tensor` is in plan order and empty where all tensors
// have buffers of their own; buffers are numbered by first appearance in plan order.
struct SideBuffers {
  std::vector<BufferRef> of_tensor;
  std::vector<SharedBuffer> buffers;
};

struct TensorGroup {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::vector<std::int64_t> shape;
  DType dtype = DType::kBF16;
  std::uint32_t source = 0;       // index into `layouts`
  std::uint32_t destination = 0;  // index into `layouts`
  // Made tensors have no source shards. Their source layout says who can make what (kAtSource), or
  // is empty (kAtDestination).
  Making making = Making::kNotMade;
  Recipe recipe = Recipe::kAsIs;
};

// A block that a shard of the source cuts.
struct SplitBlock {
  Rank rank = 0;
  int dim = 0;
  std::int64_t at = 0;     // where the shard begins or ends
  std::int64_t block = 1;  // extent along `dim`
};

// Tensors of equal shape and layouts that are converted alike.
struct ConvertedTensors {
  std::string tensor;  // the first
  std::int64_t tensors = 0;
  DType from = DType::kBF16;
  std::string to;  // name of the destination's type
  Making making = Making::kAtSource;
  std::optional<SplitBlock> split = {};  // why it is not made at the source
};

struct ReshardProblem {
  std::vector<std::string> names;             // by tensor, in plan order
  std::vector<std::int32_t> layers;           // by tensor; -1: none
  std::vector<std::uint32_t> input_position;  // by tensor: its place in the job's own order
  std::vector<TensorGroup> groups;
  std::vector<Layout> layouts;
  RankSets sets;
  // By tensor: the first tensor in plan order whose source data it shares; mostly itself.
  std::vector<std::uint32_t> source_tensor;
  std::vector<std::uint32_t> made_from;  // by tensor: what it is made from; mostly itself
  std::vector<ConvertedTensors> conversions;
  SideBuffers source_buffers;
  std::vector<SideBuffers> destination_buffers;  // by pool
  std::map<std::string, DeclaredBuffer> declared_buffers;
  std::vector<Rank> source_ranks;  // ascending; ranks that hold anything
  std::vector<Rank> destination_ranks;
};

std::int64_t element_bytes(DType dtype);

// The buffers of one side; of a destination, those of one pool.
const SideBuffers& side_buffers(const ReshardProblem& problem, bool source, std::uint32_t pool);

// InputError: duplicate names, negative extents, more than 2^50 elements, sub-byte totals, and
// whatever make_layout and expand_conversions refuse, naming tensor, side and rank.
ReshardProblem make_problem(const ProblemInput& input);

}  // namespace transload
