// NeMo-RL recipes: both sides of a job from `policy`, `policy.generation` and `cluster`.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>

#include "common/error.h"
#include "common/yaml.h"
#include "models/importers/readers.h"
#include "models/importers/side_text.h"

namespace transload::importing {
namespace {

namespace fs = std::filesystem;

constexpr int kMostDefaults = 8;

// A recipe and the files it inherits from, nearest first: the first layer that has a key wins.
class Recipe {
 public:
  Recipe(const Source& source, Imported& imported) : path_(source.path) {
    if (!source.options.set.empty()) add_answers(source.options.set);
    layers_.push_back(YamlValue::from_text(source.text, source.path));
    inherit(fs::path(source.path), imported);
  }

  const std::string& path() const { return path_; }
  bool complete() const { return missing_.empty(); }
  const std::string& missing() const { return missing_; }

  // The value at a dotted path; references such as ${policy.tp} are followed.
  std::optional<YamlValue> find(const std::string& dotted, int depth = 0) const {
    for (const YamlValue& layer : layers_) {
      auto value = at(layer, dotted);
      if (!value || value->is_null()) continue;
      if (!value->is_scalar()) return value;
      const std::string text = value->text();
      if (!text.starts_with("${")) return value;
      const std::string name = text.substr(2, text.size() - 3);
      const bool plain = text.ends_with("}") && name.find_first_of(":,{} ") == std::string::npos;
      if (!plain || depth > kMostDefaults)
        value->fail(fmt::format("{} is computed; write the value in its place", text));
      return find(name, depth + 1);
    }
    return std::nullopt;
  }

  bool has(const std::string& dotted) const { return find(dotted).has_value(); }

  std::optional<std::int64_t> integer(const std::string& dotted, std::int64_t low = 1) const {
    const auto value = find(dotted);
    if (!value) return std::nullopt;
    return value->integer_in(low, kMaxSize);
  }

  std::optional<bool> boolean(const std::string& dotted) const {
    const auto value = find(dotted);
    if (!value) return std::nullopt;
    return value->boolean();
  }

  std::optional<std::string> text(const std::string& dotted) const {
    const auto value = find(dotted);
    if (!value) return std::nullopt;
    return value->text();
  }

  [[noreturn]] void fail(const std::string& field, const std::string& problem) const {
    throw InputError({path_, 0, field}, problem);
  }

 private:
  // By recursion: assigning one YAML node to another would change the document.
  static std::optional<YamlValue> at(const YamlValue& layer, const std::string& dotted) {
    if (!layer.is_map()) return std::nullopt;
    const std::size_t dot = dotted.find('.');
    YamlMap map = layer.map();
    auto next = map.optional(dotted.substr(0, dot));
    if (!next || dot == std::string::npos) return next;
    return at(*next, dotted.substr(dot + 1));
  }

  // `--set policy.generation.colocated.enabled=false` as a layer above the recipe.
  void add_answers(const std::map<std::string, std::string>& answers) {
    for (const auto& [dotted, value] : answers) {
      std::string text;
      std::string indent;
      for (std::size_t start = 0; start <= dotted.size();) {
        const std::size_t dot = std::min(dotted.find('.', start), dotted.size());
        text += indent + dotted.substr(start, dot - start) + ":";
        text += dot == dotted.size() ? " " + value + "\n" : "\n";
        indent += ' ';
        start = dot + 1;
      }
      layers_.push_back(YamlValue::from_text(text, "--set " + dotted));
    }
  }

  void inherit(fs::path file, Imported& imported) {
    for (int depth = 0; depth < kMostDefaults; ++depth) {
      const auto defaults = at(layers_.back(), "defaults");
      if (!defaults) return;
      if (!defaults->is_scalar())
        defaults->fail("expected one file; a list of defaults is not followed");
      const std::string name = defaults->text();
      file = file.parent_path() / name;
      std::error_code error;
      if (!fs::is_regular_file(file, error)) {
        missing_ = name;
        imported.ignored.push_back(
            fmt::format("defaults {}: no such file beside the recipe, so what it inherits is not "
                        "known",
                        name));
        return;
      }
      layers_.push_back(YamlValue::from_file(file.string()));
      imported.understood.push_back(fmt::format("defaults {}: read", name));
    }
    fail("defaults", fmt::format("more than {} files inherit from each other", kMostDefaults));
  }

  std::string path_;
  std::vector<YamlValue> layers_;
  std::string missing_;
};

struct SizeKey {
  const char* recipe;
  const char* job;
};

constexpr SizeKey kMegatronSizes[] = {{"tensor_model_parallel_size", "tp"},
                                      {"pipeline_model_parallel_size", "pp"},
                                      {"context_parallel_size", "cp"},
                                      {"expert_model_parallel_size", "ep"},
                                      {"expert_tensor_parallel_size", "etp"}};

// Sizes below `section`; those that only a missing defaults file could give are asked for.
void read_sizes(const Recipe& recipe, const std::string& section, std::span<const SizeKey> keys,
                ImportedSide& side, Imported& imported) {
  std::vector<std::string> unsaid;
  for (const SizeKey& key : keys) {
    if (const auto size = recipe.integer(section + "." + key.recipe))
      side.parallel.emplace_back(key.job, *size);
    else
      unsaid.emplace_back(key.job);
  }
  if (!unsaid.empty() && !recipe.complete())
    imported.asked.push_back(fmt::format("{}.parallel: {}: not in this file; {} may set it",
                                         side.role, some_of(unsaid), recipe.missing()));
}

void read_megatron_pipeline(const Recipe& recipe, ImportedSide& side, Imported& imported) {
  const std::string section = "policy.megatron_cfg.";
  PipelineWords words;
  words.first = recipe.integer(section + "num_layers_in_first_pipeline_stage", 0);
  words.last = recipe.integer(section + "num_layers_in_last_pipeline_stage", 0);
  words.account_for_embedding =
      recipe.boolean(section + "account_for_embedding_in_pipeline_split").value_or(false);
  words.account_for_loss =
      recipe.boolean(section + "account_for_loss_in_pipeline_split").value_or(false);
  const auto layout = recipe.find(section + "pipeline_model_parallel_layout");
  if (layout && layout->is_scalar()) words.layout = layout->text();
  if (layout && !layout->is_scalar())
    imported.asked.push_back(
        "pp_layout: pipeline_model_parallel_layout is a list; write it as layers per stage");
  side.pp_layout = pp_layout_text(words, {recipe.path(), 0, "policy.megatron_cfg"});
}

struct Cluster {
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> gpus_per_node;
  std::optional<bool> colocated;
  std::optional<std::int64_t> train_gpus;
  std::optional<std::int64_t> generation_gpus;
};

std::string range_text(std::int64_t first, std::int64_t count) {
  return count == 1 ? std::to_string(first) : fmt::format("{}-{}", first, first + count - 1);
}

// NeMo-RL gives generation its nodes out of the cluster's; on a cluster of one node, GPUs of it.
void split_cluster(const Recipe& recipe, Cluster& cluster) {
  const std::string resources = "policy.generation.colocated.resources.";
  const auto nodes = recipe.integer(resources + "num_nodes");
  const auto per_node = recipe.integer(resources + "gpus_per_node");
  if (per_node && (nodes || cluster.nodes == 1))
    cluster.generation_gpus = *per_node * nodes.value_or(1);
  if (!cluster.nodes || !cluster.gpus_per_node) return;
  if (*cluster.nodes == 1) {
    if (!per_node) return;
    if (*per_node >= *cluster.gpus_per_node)
      recipe.fail(resources + "gpus_per_node",
                  fmt::format("{} of the {} GPUs of the only node leave none to train", *per_node,
                              *cluster.gpus_per_node));
    cluster.train_gpus = *cluster.gpus_per_node - *per_node;
    return;
  }
  if (!nodes) return;
  if (*nodes >= *cluster.nodes)
    recipe.fail(resources + "num_nodes", fmt::format("{} of the cluster's {} nodes leave none to "
                                                     "train",
                                                     *nodes, *cluster.nodes));
  cluster.train_gpus = (*cluster.nodes - *nodes) * *cluster.gpus_per_node;
  cluster.generation_gpus = *nodes * per_node.value_or(*cluster.gpus_per_node);
}

Cluster read_cluster(const Recipe& recipe, Imported& imported) {
  Cluster cluster;
  cluster.nodes = recipe.integer("cluster.num_nodes");
  cluster.gpus_per_node = recipe.integer("cluster.gpus_per_node");
  cluster.colocated = recipe.boolean("policy.generation.colocated.enabled");
  if (cluster.nodes && cluster.gpus_per_node)
    imported.understood.push_back(
        fmt::format("cluster: {} nodes of {} GPUs", *cluster.nodes, *cluster.gpus_per_node));
  else
    imported.asked.push_back("topology: cluster.num_nodes and gpus_per_node are not in this file");
  if (!cluster.colocated) {
    imported.asked.push_back(
        "colocated: policy.generation.colocated.enabled is not in this file, so neither side's "
        "gpus follow; --set policy.generation.colocated.enabled=true or false");
  } else if (!*cluster.colocated) {
    split_cluster(recipe, cluster);
    imported.understood.push_back("generation has GPUs of its own");
    if (!cluster.generation_gpus) imported.asked.push_back("destination.gpus");
    if (!cluster.train_gpus) imported.asked.push_back("source.gpus");
  } else if (cluster.nodes && cluster.gpus_per_node) {
    cluster.train_gpus = cluster.generation_gpus = *cluster.nodes * *cluster.gpus_per_node;
    imported.understood.push_back("trainer and generation share all GPUs");
  }
  if (const auto segment = recipe.integer("cluster.segment_size"))
    imported.ignored.push_back(fmt::format(
        "cluster.segment_size {}: how nodes are allotted; the job's topology says the same",
        *segment));
  return cluster;
}

ImportedSide read_source(const Recipe& recipe, const Cluster& cluster, Imported& imported) {
  ImportedSide side;
  side.role = "source";
  side.gpus = cluster.train_gpus;
  const auto megatron = recipe.boolean("policy.megatron_cfg.enabled");
  const auto dtensor = recipe.boolean("policy.dtensor_cfg.enabled");
  if (megatron.value_or(false) && dtensor.value_or(false))
    recipe.fail("policy", "both megatron_cfg and dtensor_cfg are enabled; one of them trains");
  if (megatron.value_or(false)) {
    side.engine = "megatron";
    read_sizes(recipe, "policy.megatron_cfg", kMegatronSizes, side, imported);
    read_megatron_pipeline(recipe, side, imported);
    const std::int64_t tp = size_of(side, "tp");
    require_divides(side, recipe.path(), tp * size_of(side, "pp") * size_of(side, "cp"),
                    "tp x pp x cp");
    require_divides(side, recipe.path(),
                    size_of(side, "ep") * size_of(side, "etp") * size_of(side, "pp"),
                    "ep x etp x pp");
  } else if (dtensor.value_or(false)) {
    side.engine = "fsdp";
    const std::int64_t tp = recipe.integer("policy.dtensor_cfg.tensor_parallel_size").value_or(1);
    const std::int64_t replicate =
        recipe.integer("policy.dtensor_cfg.data_parallel_replicate_size").value_or(1);
    if (side.gpus && *side.gpus % (tp * replicate) != 0)
      recipe.fail("policy.dtensor_cfg",
                  fmt::format("{} GPUs do not divide over tp {} and {} replicas", *side.gpus, tp,
                              replicate));
    if (side.gpus) set_size(side, "shard", *side.gpus / (tp * replicate));
    set_size(side, "replicate", replicate);
    set_size(side, "tp", tp);
    if (const auto ep = recipe.integer("policy.dtensor_cfg.expert_parallel_size"))
      set_size(side, "ep", *ep);
    if (!recipe.has("policy.dtensor_cfg.tensor_parallel_size") && !recipe.complete())
      imported.asked.push_back(
          fmt::format("source.parallel: tp: not in this file; {} may set it", recipe.missing()));
  } else {
    imported.asked.push_back(
        "source.engine: neither policy.megatron_cfg.enabled nor policy.dtensor_cfg.enabled is set "
        "in this file; --set one of them to true");
  }
  return side;
}

void read_vllm(const Recipe& recipe, ImportedSide& side, Imported& imported) {
  constexpr SizeKey kSizes[] = {{"tensor_parallel_size", "tp"},
                                {"pipeline_parallel_size", "pp"},
                                {"expert_parallel_size", "ep"}};
  read_sizes(recipe, "policy.generation.vllm_cfg", kSizes, side, imported);
  const std::int64_t tp = size_of(side, "tp");
  const std::int64_t ep = size_of(side, "ep");
  if (ep > 1 && ep % tp != 0)
    recipe.fail("policy.generation.vllm_cfg.expert_parallel_size",
                fmt::format("{} is neither 1 nor a multiple of tensor_parallel_size {}", ep, tp));
  require_divides(side, recipe.path(), std::max(tp, ep) * size_of(side, "pp"),
                  "the GPUs of one engine");
  if (const auto precision = recipe.text("policy.generation.vllm_cfg.precision")) {
    const bool mx = recipe.boolean("policy.generation.vllm_cfg.is_mx").value_or(false);
    if (*precision == "fp8")
      side.dtype = mx ? "mxfp8" : "fp8-block128";
    else if (const auto dtype = parse_dtype(*precision))
      side.dtype = dtype_name(*dtype);
    else
      recipe.fail("policy.generation.vllm_cfg.precision",
                  fmt::format("expected fp8 or a dtype, found {}", *precision));
  }
}

ImportedSide read_destination(const Recipe& recipe, const Cluster& cluster, Imported& imported) {
  ImportedSide side;
  side.role = "destination";
  side.gpus = cluster.generation_gpus;
  std::string backend = recipe.text("policy.generation.backend").value_or("");
  if (backend.empty() && recipe.find("policy.generation.vllm_cfg")) {
    backend = "vllm";
    if (!recipe.complete())
      imported.understood.push_back("generation by vLLM: the recipe sets vllm_cfg and no backend");
  }
  side.engine = backend;
  if (backend == "vllm") {
    read_vllm(recipe, side, imported);
  } else if (backend == "megatron") {
    read_sizes(recipe, "policy.generation.mcore_generation_config", kMegatronSizes, side, imported);
    require_divides(side, recipe.path(),
                    size_of(side, "tp") * size_of(side, "pp") * size_of(side, "cp"),
                    "tp x pp x cp");
  } else if (backend == "sglang") {
    imported.asked.push_back("destination.parallel: sizes of an SGLang backend are not read");
  } else if (backend.empty()) {
    imported.asked.push_back("destination.engine: the recipe names no generation backend");
  } else {
    recipe.fail("policy.generation.backend",
                fmt::format("expected vllm, megatron or sglang, found {}", backend));
  }
  return side;
}

void explain_rest(const Recipe& recipe, Imported& imported) {
  if (const auto transport = recipe.text("policy.generation.refit_transport"))
    imported.ignored.push_back(fmt::format(
        "refit_transport {}: how weights travel is the job's strategy, not a layout", *transport));
  std::vector<std::string> sections;
  for (const char* section :
       {"grpo", "loss_fn", "checkpointing", "data", "logger", "env", "sft", "dpo"})
    if (recipe.find(section)) sections.emplace_back(section);
  if (!sections.empty())
    imported.ignored.push_back(
        fmt::format("{}: training, data and logging place no weights", some_of(sections)));
  imported.ignored.emplace_back("policy: batch sizes, optimizer, schedules and sampling");
}

}  // namespace

Imported import_nemo_rl(const Source& source) {
  Imported imported;
  const Recipe recipe(source, imported);
  if (!recipe.find("policy")) recipe.fail("", "a NeMo-RL recipe has a policy; this file has none");
  const Cluster cluster = read_cluster(recipe, imported);
  ImportedSide trainer = read_source(recipe, cluster, imported);
  ImportedSide generator = read_destination(recipe, cluster, imported);
  if (cluster.colocated.value_or(false) && cluster.nodes)
    trainer.nodes = generator.nodes = range_text(0, *cluster.nodes);
  if (const auto precision = recipe.text("policy.precision"))
    if (const auto dtype = parse_dtype(*precision)) trainer.dtype = dtype_name(*dtype);
  if (const auto name = recipe.text("policy.model_name")) {
    trainer.model = *name;
    resolve_model(trainer, imported);
  } else {
    imported.asked.emplace_back("model: policy.model_name is not in this file");
  }
  for (const ImportedSide* side : {&trainer, &generator})
    if (!side->engine.empty())
      imported.understood.push_back(
          fmt::format("{}: {}{}, {}{}", side->role, side->engine,
                      side->gpus ? fmt::format(" on {} GPUs", *side->gpus) : "", sizes_text(*side),
                      side->pp_layout.empty() ? "" : ", pp_layout " + side->pp_layout));
  explain_rest(recipe, imported);
  imported.asked.emplace_back("topology: the GPUs and the network that the cluster's nodes have");
  imported.sides.push_back(std::move(trainer));
  imported.sides.push_back(std::move(generator));
  return imported;
}

}  // namespace transload::importing
