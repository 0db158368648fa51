// NCCL M2N's benchmark files: a model as names, shapes and dtypes; a system as parallel sizes; a
// list of tensors with the dimensions to cut.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "common/error.h"
#include "models/importers/m2n_system.h"
#include "models/importers/readers.h"
#include "models/importers/side_text.h"

namespace transload::importing {
namespace {

struct NameRule {
  std::string_view projection;
  int dim;
};

// Which dimension tensor parallelism cuts, by the last part of the name before ".weight".
constexpr std::array kCutByName = {
    NameRule{"q_proj", 0},    NameRule{"k_proj", 0},
    NameRule{"v_proj", 0},    NameRule{"gate_proj", 0},
    NameRule{"up_proj", 0},   NameRule{"q_a_proj", 0},
    NameRule{"q_b_proj", 0},  NameRule{"kv_a_proj_with_mqa", 0},
    NameRule{"kv_b_proj", 0}, NameRule{"o_proj", 1},
    NameRule{"down_proj", 1}, NameRule{"embed_tokens", 0},
    NameRule{"lm_head", 0},
};

std::optional<int> cut_of(const std::string& name, std::size_t dims) {
  constexpr std::string_view kWeight = ".weight";
  if (dims < 2 || !name.ends_with(kWeight)) return std::nullopt;
  const std::string base = name.substr(0, name.size() - kWeight.size());
  const std::string last = base.substr(base.find_last_of('.') + 1);
  for (const NameRule& rule : kCutByName)
    if (rule.projection == last) return rule.dim;
  return std::nullopt;
}

// The number between ".PART." and the next dot; nullopt: none stands there.
struct Numbered {
  std::string before;  // up to and with ".PART."
  std::int64_t number = 0;
  std::string after;  // from the next dot on
};

std::optional<Numbered> numbered(const std::string& name, const std::string& part) {
  const std::string mark = part + ".";
  const std::size_t at = name.find(mark);
  if (at == std::string::npos || (at > 0 && name[at - 1] != '.')) return std::nullopt;
  const char* begin = name.data() + at + mark.size();
  const char* end = name.data() + name.size();
  Numbered result;
  const auto [rest, error] = std::from_chars(begin, end, result.number);
  if (error != std::errc{} || rest == end || *rest != '.' || result.number > kMaxSize ||
      result.number < 0)
    return std::nullopt;
  result.before = name.substr(0, at + mark.size());
  result.after = std::string(rest, end);
  return result;
}

struct Stack {
  std::string name;
  std::vector<std::int64_t> shape;  // of one expert
  DType dtype = DType::kBF16;
  std::vector<std::int64_t> experts;
  bool stacked = false;
};

// Experts of one layer and projection become one tensor with the experts in front, as the
// benchmark moves them.
std::vector<Stack> stack_experts(const JsonPlace& root) {
  std::vector<Stack> stacks;
  std::map<std::string, std::size_t> index;
  for (const auto& item : root.value().items()) {
    const JsonPlace entry = root.at(item.key());
    const std::vector<std::int64_t> shape = entry.at("shape").shape();
    const DType dtype = entry.at("dtype").dtype();
    const auto expert = numbered(item.key(), "experts");
    if (!expert) {
      stacks.push_back({item.key(), shape, dtype, {}, false});
      continue;
    }
    const std::string name = expert->before + "*" + expert->after;
    const auto [found, added] = index.try_emplace(name, stacks.size());
    if (added) stacks.push_back({name, shape, dtype, {}, true});
    Stack& stack = stacks[found->second];
    if (stack.shape != shape || stack.dtype != dtype)
      entry.fail("another shape or dtype than the experts before it; they cannot be stacked");
    stack.experts.push_back(expert->number);
  }
  for (Stack& stack : stacks) {
    std::sort(stack.experts.begin(), stack.experts.end());
    for (std::size_t e = 0; e < stack.experts.size(); ++e)
      if (stack.experts[e] != static_cast<std::int64_t>(e))
        root.fail(fmt::format("{}: expert {} is missing", stack.name, e));
  }
  return stacks;
}

std::string bytes_sentence(const std::vector<ImportedTensor>& tensors) {
  std::int64_t bytes = 0;
  for (const ImportedTensor& tensor : tensors) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : tensor.shape) elements *= extent;
    if (tensor.dtype) bytes += elements * dtype_bits(*tensor.dtype) / 8;
  }
  return fmt::format("{} bytes", bytes);
}

void add_layouts(Imported& imported, const M2nSystem& system,
                 const std::vector<std::pair<M2nCuts, std::int64_t>>& cuts_and_layers) {
  std::int64_t layers = 1;
  for (const auto& [cuts, layer] : cuts_and_layers) layers = std::max(layers, layer + 1);
  for (std::size_t i = 0; i < imported.tensors.size(); ++i) {
    ImportedTensor& tensor = imported.tensors[i];
    const auto& [cuts, layer] = cuts_and_layers[i];
    const bool first = tensor.name.find("embed") != std::string::npos;
    tensor.source = m2n_source(system, cuts, layer, layers, first);
    tensor.destination = m2n_destination(system, cuts, layer, layers, first);
    for (const Sharding* side : {&*tensor.source, &*tensor.destination})
      for (std::size_t axis = 0; axis < side->mesh.size(); ++axis) {
        const AxisPlacement& placement = side->placements[axis];
        if (!placement.shards()) continue;
        const std::int64_t extent = tensor.shape[static_cast<std::size_t>(placement.dim)];
        if (extent % side->mesh[axis].size != 0)
          throw InputError(
              {imported.path, 0, tensor.name},
              fmt::format("dimension {} of {} does not divide over {} {}; M2N takes "
                          "even shards only",
                          placement.dim, extent, side->mesh[axis].name, side->mesh[axis].size));
      }
  }
  imported.understood.push_back(fmt::format(
      "layouts: trainer ranks 0 to {}, generation ranks {} to {}, by the rules of M2N's "
      "model benchmark",
      system.train.gpus - 1, system.train.gpus, system.train.gpus + system.generation.gpus - 1));
}

}  // namespace

Imported import_m2n_model(const Source& source) {
  const Json json = parse_json(source.text, source.path);
  const JsonPlace root(json, source.path, "");
  root.require_object();
  Imported imported;
  imported.path = source.path;
  std::vector<std::pair<M2nCuts, std::int64_t>> cuts_and_layers;
  std::size_t grouped = 0;
  for (const Stack& stack : stack_experts(root)) {
    ImportedTensor tensor;
    tensor.name = stack.name;
    tensor.shape = stack.shape;
    tensor.dtype = stack.dtype;
    M2nCuts cuts;
    cuts.tp = cut_of(stack.name, stack.shape.size());
    if (stack.stacked) {
      tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(stack.experts.size()));
      if (cuts.tp) ++*cuts.tp;
      cuts.ep = 0;
      grouped += stack.experts.size();
    }
    const auto layer = numbered(stack.name, "layers");
    cuts_and_layers.emplace_back(cuts, layer ? layer->number : -1);
    imported.tensors.push_back(std::move(tensor));
  }
  imported.understood.push_back(
      fmt::format("{} entries, {}", json.size(), bytes_sentence(imported.tensors)));
  if (grouped > 0)
    imported.understood.push_back(
        fmt::format("{} tensors of experts stacked to {}, experts in front", grouped,
                    imported.tensors.size() + grouped - json.size()));
  imported.ignored.push_back("shard: the checkpoint file a tensor was taken from");
  if (source.options.system.empty()) {
    imported.asked.push_back(
        "source and destination of every tensor: --system FILE, an M2N system "
        "JSON, lays them out");
  } else {
    const M2nSystem system = read_m2n_system_file(source.options.system, imported);
    add_layouts(imported, system, cuts_and_layers);
  }
  imported.asked.push_back("topology");
  return imported;
}

Imported import_m2n_system(const Source& source) {
  Imported imported;
  const M2nSystem system =
      read_m2n_system(parse_json(source.text, source.path), source.path, imported);
  ImportedSide train;
  train.role = "source";
  train.engine = "megatron";
  train.gpus = system.train.gpus;
  train.parallel = {{"tp", system.train.tp},
                    {"pp", system.train.pp},
                    {"cp", system.train.cp},
                    {"ep", system.train.ep},
                    {"etp", 1}};
  ImportedSide generation;
  generation.role = "destination";
  generation.engine = "vllm";
  generation.gpus = system.generation.gpus;
  generation.parallel = {{"tp", system.generation.tp}, {"pp", system.generation.pp}};
  if (system.generation.ep > 1)
    imported.asked.push_back(fmt::format(
        "destination.parallel.ep: M2N's generation mesh is dp x ep {} x tp {}; a vLLM engine has "
        "ep = tp x dp",
        system.generation.ep, system.generation.tp));
  for (const ImportedSide* side : {&train, &generation})
    imported.understood.push_back(fmt::format("{}: {} GPUs, {}, as {} rules lay it out", side->role,
                                              *side->gpus, sizes_text(*side), side->engine));
  imported.asked.push_back("model, topology");
  imported.sides = {std::move(train), std::move(generation)};
  return imported;
}

Imported import_m2n_layers(const Source& source) {
  const Json json = parse_json(source.text, source.path);
  const JsonPlace root(json, source.path, "");
  const std::int64_t layers =
      root.has("num_layers") ? root.at("num_layers").integer_in(1, 1 << 12) : 1;
  Imported imported;
  imported.path = source.path;
  std::vector<std::pair<M2nCuts, std::int64_t>> cuts_and_layers;
  const std::vector<JsonPlace> entries = root.at("default_tensors").list();
  if (entries.empty()) root.at("default_tensors").fail("expected at least one tensor");
  for (std::int64_t layer = 0; layer < layers; ++layer)
    for (const JsonPlace& entry : entries) {
      ImportedTensor tensor;
      tensor.name = fmt::format("layers.{}.{}", layer, entry.at("name").text());
      tensor.shape = entry.at("dims").shape();
      tensor.dtype = source.options.dtype;
      M2nCuts cuts;
      const auto dim = [&](const char* key) -> std::optional<int> {
        if (!entry.has(key)) return std::nullopt;
        return static_cast<int>(
            entry.at(key).integer_in(0, static_cast<std::int64_t>(tensor.shape.size()) - 1));
      };
      cuts.tp = dim("tp_shard_dim");
      cuts.ep = dim("ep_shard_dim");
      cuts_and_layers.emplace_back(cuts, layer);
      imported.tensors.push_back(std::move(tensor));
    }
  imported.understood.push_back(fmt::format("{} tensors: {} of each of {} layers",
                                            imported.tensors.size(), entries.size(), layers));
  if (!source.options.dtype)
    imported.asked.push_back("dtype of every tensor: the file has none; --dtype gives one");
  if (source.options.system.empty()) {
    imported.asked.push_back(
        "source and destination of every tensor: --system FILE, an M2N system "
        "JSON, lays them out");
  } else {
    const M2nSystem system = read_m2n_system_file(source.options.system, imported);
    add_layouts(imported, system, cuts_and_layers);
  }
  imported.asked.push_back("topology");
  return imported;
}

}  // namespace transload::importing
