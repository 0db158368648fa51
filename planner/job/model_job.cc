#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "models/engines/engines.h"
#include "models/library.h"
#include "planner/job/sections.h"

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
      nodes = list->index_list(static_cast<std::int64_t>(topology_.nodes.size()) - 1);
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

 private:
  const Topology& topology_;
  std::vector<bool> taken_;
};

ParallelSizes parse_parallel(YamlMap& side, const std::vector<std::string>& keys) {
  ParallelSizes sizes;
  const auto value = side.optional("parallel");
  if (!value) return sizes;
  const std::map<std::string, std::int64_t*> fields = {{"tp", &sizes.tp}, {"pp", &sizes.pp},
                                                       {"ep", &sizes.ep}, {"etp", &sizes.etp},
                                                       {"cp", &sizes.cp}, {"dp", &sizes.dp}};
  YamlMap map = value->map();
  for (const std::string& key : keys)
    if (const auto size = map.optional(key)) *fields.at(key) = size->integer_in(1, 1 << 20);
  map.finish();
  return sizes;
}

PipelineLayout parse_pipeline(YamlMap& side, const Model& model, std::int64_t stages) {
  const auto value = side.optional("pp_layout");
  if (!value) {
    if (model.layers % stages != 0)
      side.fail(
          fmt::format("{} layers do not divide over pp {}: give pp_layout, as {{first: , last: }} "
                      "or as a list of layers per stage",
                      model.layers, stages));
    return PipelineLayout(static_cast<std::size_t>(stages), model.layers / stages);
  }
  if (value->is_list()) {
    PipelineLayout layout;
    for (const YamlValue& item : value->list()) layout.push_back(item.integer_in(0, model.layers));
    if (static_cast<std::int64_t>(layout.size()) != stages)
      value->fail(
          fmt::format("expected {} entries, one per stage, found {}", stages, layout.size()));
    const std::int64_t sum = std::accumulate(layout.begin(), layout.end(), std::int64_t{0});
    if (sum != model.layers)
      value->fail(fmt::format("the stages have {} layers, the model has {}", sum, model.layers));
    return layout;
  }
  YamlMap map = value->map();
  const auto count = [&](const char* key) {
    const auto entry = map.optional(key);
    return entry ? entry->integer_in(0, model.layers) : 0;
  };
  const std::int64_t first = count("first");
  const std::int64_t last = count("last");
  map.finish();
  try {
    return pipeline_layout(model.layers, stages, first, last);
  } catch (const InputError& error) {
    value->fail(error.what());
  }
}

// Runs an engine's rules; their complaints get the side's file and line.
template <class Apply>
ShardedModel apply_rules(const YamlValue& side, Apply&& apply) {
  try {
    return apply();
  } catch (const InputError& error) {
    side.fail(error.what());
  }
}

ShardedModel parse_source(const YamlValue& value, const Model& model, NodeAllocator& nodes) {
  YamlMap side = value.map();
  side.required("engine").word_of({"megatron"});
  const std::vector<Rank> ranks = nodes.allocate(side);
  const ParallelSizes sizes = parse_parallel(side, {"tp", "pp", "ep", "etp", "cp"});
  const PipelineLayout layout = parse_pipeline(side, model, sizes.pp);
  side.finish();
  return apply_rules(value, [&] { return shard_megatron(model, sizes, layout, ranks); });
}

ShardedModel parse_destination(const YamlValue& value, const Model& model, DType source_dtype,
                               NodeAllocator& nodes) {
  YamlMap side = value.map();
  side.required("engine").word_of({"vllm"});
  const std::vector<Rank> ranks = nodes.allocate(side);
  const ParallelSizes sizes = parse_parallel(side, {"tp", "pp", "ep", "dp"});
  if (const auto dtype = side.optional("dtype"); dtype && dtype->dtype() != source_dtype)
    dtype->fail(
        fmt::format("the source is {}; conversions on the way are not planned by this version",
                    dtype_name(source_dtype)));
  if (const auto commit = side.optional("commit")) commit->word_of({"in-place"});
  side.finish();
  return apply_rules(value, [&] { return shard_vllm(model, sizes, ranks); });
}

// Half precision is what a job's `dtype` changes; buffers that the model keeps in fp32 stay so.
void set_dtype(Model& model, DType dtype) {
  for (Parameter& parameter : model.parameters)
    if (parameter.dtype != DType::kF32) parameter.dtype = dtype;
}

// Interns tuples of pool shardings.
class PoolTable {
 public:
  explicit PoolTable(const std::vector<ShardedModel>& pools) : pools_(pools) {}

  std::uint32_t intern(std::size_t parameter, std::vector<std::vector<Sharding>>& table) {
    std::vector<std::uint32_t> key;
    for (const ShardedModel& pool : pools_) key.push_back(pool.sharding_of[parameter]);
    const auto [entry, added] = ids_.try_emplace(key, static_cast<std::uint32_t>(table.size()));
    if (added) {
      std::vector<Sharding>& shardings = table.emplace_back();
      for (std::size_t i = 0; i < pools_.size(); ++i)
        if (key[i] != ShardedModel::kNotHeld) shardings.push_back(pools_[i].shardings[key[i]]);
    }
    return entry->second;
  }

 private:
  const std::vector<ShardedModel>& pools_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> ids_;
};

}  // namespace

ModelJobPart parse_model_job(YamlMap& job, const Topology& topology,
                             const std::string& base_folder) {
  Model model = load_model(job.required("model"), base_folder);
  const auto mtp = job.optional("mtp");
  if (!mtp || !mtp->boolean()) model = without_mtp(std::move(model));
  DType dtype = DType::kBF16;
  if (const auto value = job.optional("dtype")) {
    dtype = value->dtype();
    set_dtype(model, dtype);
  }
  NodeAllocator nodes(topology);
  ModelJobPart part;
  part.parameters = parameter_count(model);
  ShardedModel source = parse_source(job.required("source"), model, nodes);
  std::vector<ShardedModel> pools;
  const YamlValue destination = job.required("destination");
  if (destination.is_list()) {
    for (const YamlValue& pool : destination.list())
      pools.push_back(parse_destination(pool, model, dtype, nodes));
    if (pools.empty()) destination.fail("expected at least one pool");
  } else {
    pools.push_back(parse_destination(destination, model, dtype, nodes));
  }

  part.input.source_shardings = std::move(source.shardings);
  PoolTable table(pools);
  part.input.tensors.reserve(model.parameters.size());
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    Parameter& parameter = model.parameters[i];
    if (source.sharding_of[i] == ShardedModel::kNotHeld)
      job.fail(fmt::format("parameter {} is held by no source rank", parameter.name));
    part.input.tensors.push_back({std::move(parameter.name), std::move(parameter.shape),
                                  parameter.dtype, parameter.layer, source.sharding_of[i],
                                  table.intern(i, part.input.destination_shardings)});
  }
  return part;
}

}  // namespace transload
