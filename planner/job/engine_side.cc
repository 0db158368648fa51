#include "planner/job/engine_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "planner/job/expert_table.h"

namespace transload {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 20;

using SizeFields = std::vector<std::pair<const char*, std::int64_t*>>;

void parse_parallel(YamlMap& side, const SizeFields& fields) {
  const auto value = side.optional("parallel");
  if (!value) return;
  YamlMap map = value->map();
  for (const auto& [key, field] : fields)
    if (const auto size = map.optional(key)) *field = size->integer_in(1, kMaxSize);
  map.finish();
}

PipelineLayout parse_layer_list(const YamlValue& value, std::int64_t layers) {
  PipelineLayout layout;
  for (const YamlValue& item : value.list()) layout.push_back(item.integer_in(0, layers));
  return layout;
}

bool parse_flag(YamlMap& map, const char* key) {
  const auto value = map.optional(key);
  return value && value->boolean();
}

// A map: {first, last} or {account_for_embedding, account_for_loss}.
PipelineStages parse_stage_map(const YamlValue& value, const Model& model, std::int64_t stages,
                               std::int64_t virtual_stages, std::string_view side) {
  YamlMap map = value.map();
  const auto count = [&](const char* key) {
    const auto entry = map.optional(key);
    return entry ? entry->integer_in(0, model.layers) : 0;
  };
  const std::int64_t first = count("first");
  const std::int64_t last = count("last");
  const bool embedding = parse_flag(map, "account_for_embedding");
  const bool loss = parse_flag(map, "account_for_loss");
  map.finish();
  if (!embedding && !loss)
    return stages_of_counts(pipeline_layout(model.layers, stages, first, last, side), stages,
                            model.layers, virtual_stages, side);
  if (first != 0 || last != 0)
    value.fail("expected either first / last or account_for_embedding / account_for_loss");
  return stages_counting_ends(model.layers, stages, virtual_stages, embedding, loss, side);
}

// Complaints of the engines' rules know the field but not the file: they get the line of `value`.
template <class Action>
auto with_line(const YamlValue& value, const Action& action) {
  try {
    return action();
  } catch (const InputError& error) {
    const InputPlace place = value.place();
    if (!place.file.empty() && std::string_view(error.what()).starts_with(place.file)) throw;
    throw InputError({place.file, place.line, ""}, error.what());
  }
}

// Megatron's forms. `virtual_stages` 0: not given.
PipelineStages parse_stages(YamlMap& side, const Model& model, std::int64_t stages,
                            std::int64_t virtual_stages) {
  const std::string& name = side.value().field();
  const std::int64_t chunks = std::max<std::int64_t>(1, virtual_stages);
  const auto value = side.optional("pp_layout");
  if (value)
    return with_line(*value, [&] {
      if (value->is_scalar())
        return stages_of_text(value->text(), stages, model.layers, model.mtp_layers, virtual_stages,
                              name);
      if (value->is_map()) return parse_stage_map(*value, model, stages, chunks, name);
      return stages_of_counts(parse_layer_list(*value, model.layers), stages, model.layers, chunks,
                              name);
    });
  if (model.layers % stages != 0)
    side.fail(fmt::format(
        "{} layers do not divide over pp {}: give pp_layout, as {{first: , last: }}, as a list of "
        "layers per stage, or as Megatron's string",
        model.layers, stages));
  return stages_of_counts(PipelineLayout(static_cast<std::size_t>(stages), model.layers / stages),
                          stages, model.layers, chunks, name);
}

ShardedModel parse_megatron(YamlMap& side, const EngineSideInput& input) {
  MegatronOptions options;
  ParallelSizes& sizes = options.sizes;
  std::int64_t virtual_stages = 0;
  parse_parallel(side, {{"tp", &sizes.tp},
                        {"pp", &sizes.pp},
                        {"ep", &sizes.ep},
                        {"etp", &sizes.etp},
                        {"cp", &sizes.cp},
                        {"dp", &sizes.dp},
                        {"vpp", &virtual_stages}});
  if (const auto divisor = side.optional("vocab_divisor"))
    options.vocabulary_divisor = divisor->text() == "off" ? 0 : divisor->integer_in(1, kMaxSize);
  options.stages = parse_stages(side, input.model, sizes.pp, virtual_stages);
  options.virtual_stages = std::max<std::int64_t>(1, virtual_stages);
  side.finish();
  return shard_megatron(input.model, input.tensors, options, input.ranks, side.value().field());
}

ShardedModel parse_fsdp(YamlMap& side, const EngineSideInput& input) {
  FsdpSizes sizes;
  sizes.shard = 0;
  parse_parallel(side, {{"shard", &sizes.shard},
                        {"replicate", &sizes.replicate},
                        {"tp", &sizes.tp},
                        {"ep", &sizes.ep}});
  if (sizes.shard == 0)
    sizes.shard = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(input.ranks.size()) / (sizes.replicate * sizes.tp));
  side.finish();
  return shard_fsdp(input.model, input.tensors, sizes, input.ranks, side.value().field());
}

// The keys that all inference engines have.
void parse_inference(YamlMap& side, const EngineSideInput& input, InferenceOptions& options) {
  if (const auto layers = side.optional("pp_layout"))
    options.layers = parse_layer_list(*layers, input.model.layers);
  if (const auto table = side.optional("expert_table"))
    options.experts = parse_expert_table(*table, input.tensors, input.base_folder);
}

ShardedModel parse_vllm(YamlMap& side, const EngineSideInput& input) {
  VllmOptions options;
  ParallelSizes& sizes = options.sizes;
  parse_parallel(side,
                 {{"tp", &sizes.tp}, {"pp", &sizes.pp}, {"ep", &sizes.ep}, {"dp", &sizes.dp}});
  parse_inference(side, input, options);
  if (const auto placement = side.optional("expert_placement")) {
    options.round_robin = placement->word_of({"linear", "round_robin"}) == "round_robin";
    if (!options.experts.empty())
      placement->fail("expected either expert_placement or expert_table, found both");
  }
  options.sequence_parallel_moe = parse_flag(side, "sequence_parallel_moe");
  side.finish();
  return shard_vllm(input.model, input.tensors, options, input.ranks, side.value().field());
}

ShardedModel parse_sglang(YamlMap& side, const EngineSideInput& input) {
  SglangOptions options;
  ParallelSizes& sizes = options.sizes;
  parse_parallel(side, {{"tp", &sizes.tp},
                        {"pp", &sizes.pp},
                        {"ep", &sizes.ep},
                        {"dp", &sizes.dp},
                        {"moe_dense_tp", &options.moe_dense_tp}});
  parse_inference(side, input, options);
  options.dp_lm_head = parse_flag(side, "dp_lm_head");
  options.fused_shared_expert = parse_flag(side, "fused_shared_expert");
  if (const auto order = side.optional("w13"))
    options.up_first = order->word_of({"gate-first", "up-first"}) == "up-first";
  side.finish();
  return shard_sglang(input.model, input.tensors, options, input.ranks, side.value().field());
}

ShardedModel parse_trtllm(YamlMap& side, const EngineSideInput& input) {
  InferenceOptions options;
  ParallelSizes& sizes = options.sizes;
  parse_parallel(side,
                 {{"tp", &sizes.tp}, {"pp", &sizes.pp}, {"ep", &sizes.ep}, {"dp", &sizes.dp}});
  parse_inference(side, input, options);
  side.finish();
  return shard_trtllm(input.model, input.tensors, options, input.ranks, side.value().field());
}

struct EngineRow {
  std::string_view name;
  bool source;
  bool destination;
  ShardedModel (*parse)(YamlMap& side, const EngineSideInput& input);
};

constexpr EngineRow kEngines[] = {
    {"megatron", true, true, parse_megatron}, {"fsdp", true, false, parse_fsdp},
    {"vllm", false, true, parse_vllm},        {"sglang", false, true, parse_sglang},
    {"trtllm", false, true, parse_trtllm},
};

}  // namespace

ShardedModel parse_engine_side(YamlMap& side, const EngineSideInput& input, bool is_source) {
  std::vector<std::string_view> names;
  for (const EngineRow& row : kEngines)
    if (is_source ? row.source : row.destination) names.push_back(row.name);
  const std::string name = side.required("engine").word_of(names);
  const auto row = std::find_if(std::begin(kEngines), std::end(kEngines),
                                [&](const EngineRow& engine) { return engine.name == name; });
  return with_line(side.value(), [&] { return row->parse(side, input); });
}

}  // namespace transload
