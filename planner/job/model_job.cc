#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/library.h"
#include "models/quantised.h"
#include "planner/job/coverage.h"
#include "planner/job/engine_side.h"
#include "planner/job/sections.h"
#include "planner/job/side.h"

namespace transload {
namespace {

// Hands out GPUs node by node; a side without `nodes` takes the first nodes that no earlier side
// took.
class NodeAllocator {
 public:
  explicit NodeAllocator(const Topology& topology)
      : topology_(topology), taken_(topology.nodes.size(), false) {}

  std::vector<Rank> allocate(YamlMap& side) {
    const YamlValue gpus = side.required("gpus");
    const auto wanted = static_cast<std::size_t>(
        gpus.integer_in(1, static_cast<std::int64_t>(topology_.gpus.size())));
    std::vector<std::int32_t> nodes;
    if (const auto list = side.optional("nodes")) {
      nodes = list->is_map()
                  ? free_blocks(*list)
                  : list->index_list(static_cast<std::int64_t>(topology_.nodes.size()) - 1);
    } else {
      for (std::size_t node = 0; node < taken_.size(); ++node)
        if (!taken_[node]) nodes.push_back(static_cast<std::int32_t>(node));
    }
    std::vector<Rank> ranks;
    for (std::int32_t index : nodes) {
      if (ranks.size() == wanted) break;
      const Node& node = topology_.nodes[static_cast<std::size_t>(index)];
      for (std::int32_t gpu = 0; gpu < node.gpu_count && ranks.size() < wanted; ++gpu)
        ranks.push_back(node.first_gpu + gpu);
      taken_[static_cast<std::size_t>(index)] = true;
    }
    if (ranks.size() < wanted)
      gpus.fail(fmt::format("the nodes of this side have only {} free GPUs, {} are wanted",
                            ranks.size(), wanted));
    return ranks;
  }

  // Tensor- and expert-parallel groups of a side, read after its engine has accepted them.
  void note_groups(const YamlValue& side, std::span<const Rank> ranks) {
    YamlMap keys = side.map();
    const auto parallel = keys.optional("parallel");
    if (!parallel) return;
    YamlMap sizes = parallel->map();
    const auto size = [&](const char* key) {
      const auto value = sizes.optional(key);
      return value ? value->integer() : std::int64_t{1};
    };
    const bool megatron = keys.required("engine").text() == "megatron";
    const std::int64_t expert_parts = megatron ? size("etp") : 1;
    for (const auto& [axis, ways] :
         {std::pair("tp", size("tp")), std::pair("ep", size("ep") * expert_parts)})
      for (SpanningGroups& found : spanning_groups(side.field(), axis, ways, ranks, topology_))
        spanning_.push_back(std::move(found));
  }
  std::vector<SpanningGroups> take_spanning() { return std::move(spanning_); }

 private:
  // The nodes of the first blocks (racks, scalable units) of which no node is taken.
  std::vector<std::int32_t> free_blocks(const YamlValue& value) const {
    YamlMap map = value.map();
    const YamlValue blocks = map.required("blocks");
    map.finish();
    const std::int64_t wanted =
        blocks.integer_in(1, static_cast<std::int64_t>(topology_.nodes.size()));
    std::vector<std::int32_t> nodes;
    std::int64_t found = 0;
    for (std::size_t begin = 0; begin < topology_.nodes.size() && found < wanted;) {
      std::size_t end = begin;
      bool free = true;
      for (; end < topology_.nodes.size() &&
             topology_.nodes[end].block == topology_.nodes[begin].block;
           ++end)
        free &= !taken_[end];
      if (free) {
        ++found;
        for (std::size_t node = begin; node < end; ++node)
          nodes.push_back(static_cast<std::int32_t>(node));
      }
      begin = end;
    }
    if (found < wanted)
      blocks.fail(fmt::format("the topology has {} blocks without a taken node, {} are wanted",
                              found, wanted));
    return nodes;
  }

  const Topology& topology_;
  std::vector<bool> taken_;
  std::vector<SpanningGroups> spanning_;
};

// Engines keep an indexer's wk in one bf16 buffer with its weights_proj, though checkpoints
// quantise it.
bool stays_whole(const Parameter& parameter) {
  return parameter.kind == ParameterKind::kIndexer && parameter.name.ends_with(".wk.weight");
}

// What the pools store, by tensor; nullopt: the source's type. A blockwise type is for the weights
// that published checkpoints store so, a plain one for all whose type the model does not fix.
using PoolTypes = std::vector<std::optional<StoredType>>;

PoolTypes pool_types(const YamlValue& value, const Model& model,
                     std::span<const LogicalTensor> tensors) {
  const StoredType type = parse_side_type(value);
  const bool blockwise = type.scales != Recipe::kAsIs;
  const QuantisedFormat* format = blockwise ? &quantised_format(type.name) : nullptr;
  PoolTypes types(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Parameter& parameter = model.parameters[tensors[i].parameter];
    const bool converts = blockwise
                              ? encoding_of(model, parameter, *format) != WeightEncoding::kPlain &&
                                    !stays_whole(parameter)
                              : !parameter.fixed_dtype && tensors[i].dtype != type.dtype;
    if (converts) types[i] = type;
  }
  return types;
}

// The tensors as the pools store them: engines' buffers are laid out in these types.
std::vector<LogicalTensor> stored_tensors(std::span<const LogicalTensor> tensors,
                                          const PoolTypes& types) {
  std::vector<LogicalTensor> stored(tensors.begin(), tensors.end());
  for (std::size_t i = 0; i < types.size(); ++i)
    if (types[i]) stored[i].dtype = types[i]->dtype;
  return stored;
}

JobSide parse_engine(const YamlValue& value, const Model& model,
                     std::span<const LogicalTensor> tensors, NodeAllocator& nodes,
                     const std::string& base_folder, bool is_source) {
  YamlMap side = value.map();
  const std::vector<Rank> ranks = nodes.allocate(side);
  if (!is_source) {
    side.optional("dtype");  // read by pool_types
    if (const auto commit = side.optional("commit"))
      if (commit->word_of({"in-place", "shadow"}) == "shadow")
        commit->fail("shadow commits are planned in a later version; expected in-place");
  }
  JobSide parsed{value.field(), ranks,
                 parse_engine_side(side, {model, tensors, ranks, base_folder}, is_source)};
  nodes.note_groups(value, ranks);
  return parsed;
}

struct Pools {
  std::vector<JobSide> sides;
  PoolTypes types;
};

Pools parse_pools(const YamlValue& value, const Model& model,
                  std::span<const LogicalTensor> tensors, NodeAllocator& nodes,
                  const std::string& base_folder) {
  Pools pools;
  const std::vector<YamlValue> items =
      value.is_list() ? value.list() : std::vector<YamlValue>{value};
  for (const YamlValue& pool : items) {
    PoolTypes types(tensors.size());
    const auto dtype = pool.map().optional("dtype");
    if (dtype) types = pool_types(*dtype, model, tensors);
    if (pools.sides.empty())
      pools.types = types;
    else if (pools.types != types)
      (dtype ? *dtype : pool)
          .fail(
              "the pools of a job store one dtype; expected that of the first pool (pools of "
              "other types are a job of their own)");
    pools.sides.push_back(
        parse_engine(pool, model, stored_tensors(tensors, types), nodes, base_folder, false));
  }
  if (pools.sides.empty()) value.fail("expected at least one pool");
  return pools;
}

std::vector<SidePlacement> placements(const JobSide& source, const std::vector<JobSide>& pools) {
  std::vector<SidePlacement> sides = {{source.field, source.ranks, source.sharded.engine_ranks}};
  for (const JobSide& pool : pools)
    sides.push_back({pool.field, pool.ranks, pool.sharded.engine_ranks});
  return sides;
}

NameGlobs parse_globs(YamlMap& job, const char* key) {
  const auto value = job.optional(key);
  return value ? NameGlobs::parse(*value) : NameGlobs{};
}

// Which tensors the job is about: those that `include` names (all of them without it) and
// `exclude` does not.
std::vector<bool> included_tensors(YamlMap& job, std::span<const LogicalTensor> tensors) {
  NameGlobs include = parse_globs(job, "include");
  NameGlobs exclude = parse_globs(job, "exclude");
  std::vector<bool> included(tensors.size(), true);
  if (include.empty() && exclude.empty()) return included;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool in = include.empty() || include.match(tensors[i].name);
    const bool out = !exclude.empty() && exclude.match(tensors[i].name);
    included[i] = in && !out;
  }
  include.require_all_used();
  exclude.require_all_used();
  return included;
}

std::int64_t elements_of(const LogicalTensor& tensor) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : tensor.shape) elements *= extent;
  return elements;
}

// Interns tuples of pool shardings.
class PoolTable {
 public:
  explicit PoolTable(const std::vector<JobSide>& pools) : pools_(pools) {}

  std::uint32_t intern(std::uint32_t tensor, std::vector<std::vector<PoolSharding>>& table) {
    key_.clear();
    for (const JobSide& pool : pools_) key_.push_back(pool.sharded.sharding_of[tensor]);
    const auto [entry, added] = ids_.try_emplace(key_, static_cast<std::uint32_t>(table.size()));
    if (added) {
      std::vector<PoolSharding>& shardings = table.emplace_back();
      for (std::uint32_t pool = 0; pool < pools_.size(); ++pool)
        if (key_[pool] != ShardedModel::kNotHeld)
          shardings.push_back({pool, pools_[pool].sharded.shardings[key_[pool]]});
    }
    return entry->second;
  }

 private:
  const std::vector<JobSide>& pools_;
  std::vector<std::uint32_t> key_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> ids_;
};

// The buffers of the tensors that are moved, in their order.
std::vector<BufferRef> buffers_of(const ShardedModel& side,
                                  const std::vector<std::uint32_t>& moved) {
  std::vector<BufferRef> refs(moved.size());
  if (side.buffer_of.empty()) return refs;
  for (std::size_t i = 0; i < moved.size(); ++i) refs[i] = side.buffer_of[moved[i]];
  return refs;
}

ProblemInput problem_input(std::vector<LogicalTensor>& tensors, const Coverage& coverage,
                           JobSide& source, Pools& all_pools) {
  std::vector<JobSide>& pools = all_pools.sides;
  ProblemInput input;
  input.source_buffer_of = buffers_of(source.sharded, coverage.moved);
  input.source_buffers = std::move(source.sharded.buffers);
  for (JobSide& pool : pools) {
    input.destination_buffer_of.push_back(buffers_of(pool.sharded, coverage.moved));
    input.destination_buffers.push_back(std::move(pool.sharded.buffers));
  }
  PoolTable table(pools);
  input.tensors.reserve(coverage.moved.size());
  for (const std::uint32_t index : coverage.moved) {
    LogicalTensor& tensor = tensors[index];
    input.tensors.push_back({std::move(tensor.name), std::move(tensor.shape), tensor.dtype,
                             tensor.layer, source.sharded.sharding_of[index],
                             table.intern(index, input.destination_shardings),
                             TensorInput::kNotTied});
    input.tensors.back().destination_type = all_pools.types[index];
  }
  input.source_shardings = std::move(source.sharded.shardings);
  return input;
}

}  // namespace

ModelJobPart parse_model_job(YamlMap& job, const Topology& topology,
                             const std::string& base_folder) {
  Model model = load_model(job.required("model"), base_folder);
  const auto mtp = job.optional("mtp");
  if (!mtp || !mtp->boolean()) model = without_mtp(std::move(model));
  if (const auto dtype = job.optional("dtype"))
    model = with_dtype(std::move(model), dtype->dtype());
  NodeAllocator nodes(topology);
  std::vector<LogicalTensor> tensors = logical_tensors(model);
  const std::vector<bool> included = included_tensors(job, tensors);
  JobSide source = parse_engine(job.required("source"), model, tensors, nodes, base_folder, true);
  Pools pools = parse_pools(job.required("destination"), model, tensors, nodes, base_folder);

  NameGlobs allow_unplaced = parse_globs(job, "allow_unplaced");
  Coverage coverage;
  try {
    coverage = cover(tensors, included, source, pools.sides, allow_unplaced);
  } catch (const InputError& error) {
    job.fail(error.what());
  }
  if (coverage.moved.empty()) job.fail("the job's names leave no tensor to move");
  ModelJobPart part;
  for (const std::uint32_t index : coverage.moved) part.parameters += elements_of(tensors[index]);
  part.source_groups = std::move(source.sharded.rank_groups);
  part.unplaced = std::move(coverage.unplaced);
  part.needs_conversion = std::move(coverage.needs_conversion);
  part.spanning_groups = nodes.take_spanning();
  part.sides = placements(source, pools.sides);
  part.input = problem_input(tensors, coverage, source, pools);
  return part;
}

}  // namespace transload
