// Megatron-core's argument list, as it stands in launch scripts: the source side of a job.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/error.h"
#include "common/yaml.h"
#include "models/importers/readers.h"
#include "models/importers/shell.h"
#include "models/importers/side_text.h"

namespace transload::importing {
namespace {

// A flag that a job's `parallel:` has a key for.
struct SizeFlag {
  std::string_view flag;
  std::string_view key;
};

constexpr std::array kSizes = {
    SizeFlag{"--tensor-model-parallel-size", "tp"},
    SizeFlag{"--pipeline-model-parallel-size", "pp"},
    SizeFlag{"--context-parallel-size", "cp"},
    SizeFlag{"--expert-model-parallel-size", "ep"},
    SizeFlag{"--expert-tensor-parallel-size", "etp"},
};

struct Refused {
  std::string_view flag;
  std::string_view why;
};

// Flags that change which rank holds which weight in a way that no rule table here has.
constexpr std::array kRefused = {
    Refused{"--use-torch-fsdp2", "weights are sharded by FSDP, not by Megatron's rules"},
    Refused{"--use-megatron-fsdp", "weights are sharded by FSDP, not by Megatron's rules"},
    Refused{"--use-custom-fsdp", "weights are sharded by FSDP, not by Megatron's rules"},
    Refused{"--use-tp-pp-dp-mapping",
            "the rank order tp-pp-dp is not one of the engine rules here"},
    Refused{"--pipeline-model-parallel-split-rank", "encoder-decoder pipelines are not modelled"},
    Refused{"--encoder-tensor-model-parallel-size", "encoder-decoder pipelines are not modelled"},
    Refused{"--encoder-pipeline-model-parallel-size", "encoder-decoder pipelines are not modelled"},
};

struct Reason {
  std::string_view flag;
  std::string_view why;
};

// Flags that look as if they concerned layouts and do not.
constexpr std::array kIgnored = {
    Reason{"--sequence-parallel", "cuts activations, not weights"},
    Reason{"--use-distributed-optimizer",
           "shards optimizer state; every data-parallel rank holds whole weights"},
    Reason{"--overlap-param-gather", "timing of the optimizer only"},
    Reason{"--overlap-grad-reduce", "timing of the optimizer only"},
    Reason{"--tp-comm-overlap", "timing only"},
    Reason{"--cp-comm-type", "activations only"},
    Reason{"--moe-token-dispatcher-type", "activations only"},
    Reason{"--moe-grouped-gemm", "how experts are multiplied, not where they lie"},
    Reason{"--hierarchical-context-parallel-sizes", "activations only"},
    Reason{"--data-parallel-random-init", "initial values only"},
    Reason{"--async-tensor-model-parallel-allreduce", "timing only"},
    Reason{"--no-async-tensor-model-parallel-allreduce", "timing only"},
    Reason{"--recompute-granularity", "activations only"},
};

// Figures of the model itself: they belong to a config.json, and are worth saying.
constexpr std::array<std::string_view, 8> kModelFigures = {
    "--num-layers",      "--hidden-size",         "--num-attention-heads", "--num-query-groups",
    "--ffn-hidden-size", "--moe-ffn-hidden-size", "--num-experts",         "--kv-channels",
};

// All words that may be arguments: of every command, of every list, and of variables that hold
// flags, since scripts are often pieces of a larger whole.
std::vector<Word> argument_words(const Script& script) {
  std::vector<Word> words;
  for (const Command& command : script.commands)
    words.insert(words.end(), command.words.begin(), command.words.end());
  for (const auto& [name, array] : script.arrays)
    words.insert(words.end(), array.begin(), array.end());
  for (const auto& [name, value] : script.variables) {
    if (value.find("--") == std::string::npos) continue;
    const Script inner = read_script(value + "\n", name);
    for (const Command& command : inner.commands)
      words.insert(words.end(), command.words.begin(), command.words.end());
  }
  return words;
}

void read_sizes(FlagSet& flags, ImportedSide& side, Imported& imported) {
  for (const SizeFlag& row : kSizes)
    if (const auto size = flags.integer({row.flag}, 1, kMaxSize))
      side.parallel.emplace_back(row.key, *size);
  const auto experts = flags.integer({"--num-experts"}, 0, kMaxSize);
  const bool sparse = (experts && *experts > 0) || size_of(side, "ep") > 1;
  const std::int64_t tp = size_of(side, "tp");
  const bool stated = std::any_of(side.parallel.begin(), side.parallel.end(),
                                  [](const auto& entry) { return entry.first == "etp"; });
  if (sparse && !stated && tp > 1) {
    side.parallel.emplace_back("etp", tp);
    imported.understood.push_back(fmt::format(
        "etp {}: without --expert-tensor-parallel-size Megatron takes the tensor-parallel size",
        tp));
  }
  if (experts && *experts % size_of(side, "ep") != 0)
    flags.fail("--num-experts",
               fmt::format("{} experts do not divide over {} expert-parallel ranks", *experts,
                           size_of(side, "ep")));
}

void read_pipeline(FlagSet& flags, const std::string& path, ImportedSide& side,
                   Imported& imported) {
  PipelineWords words;
  words.first = flags.integer({"--decoder-first-pipeline-num-layers"}, 0, kMaxSize);
  words.last = flags.integer({"--decoder-last-pipeline-num-layers"}, 0, kMaxSize);
  words.layout = flags.value({"--pipeline-model-parallel-layout"});
  words.account_for_embedding = flags.has({"--account-for-embedding-in-pipeline-split"});
  words.account_for_loss = flags.has({"--account-for-loss-in-pipeline-split"});
  side.pp_layout = pp_layout_text(words, {path, 0, "--pipeline-model-parallel-layout"});
  const auto per_stage = flags.integer({"--num-layers-per-virtual-pipeline-stage"}, 1, kMaxSize);
  const auto stages = flags.integer({"--num-virtual-stages-per-pipeline-rank"}, 1, kMaxSize);
  const auto layers = flags.integer({"--num-layers"}, 1, kMaxSize);
  if (stages && per_stage)
    flags.fail("--num-virtual-stages-per-pipeline-rank",
               "stands beside --num-layers-per-virtual-pipeline-stage; Megatron takes one of them");
  if (stages) set_size(side, "vpp", *stages);
  if (per_stage) {
    const std::int64_t pp = size_of(side, "pp");
    if (!layers) {
      imported.asked.push_back(fmt::format(
          "vpp: {} layers per virtual stage and no --num-layers to divide", *per_stage));
    } else if (*layers % (pp * *per_stage) != 0) {
      flags.fail("--num-layers-per-virtual-pipeline-stage",
                 fmt::format("{} layers do not divide over {} stages of {} layers", *layers, pp,
                             *per_stage));
    } else {
      set_size(side, "vpp", *layers / (pp * *per_stage));
    }
  }
}

std::optional<std::int64_t> variable_number(const Script& script, const char* name) {
  const auto found = script.variables.find(name);
  if (found == script.variables.end()) return std::nullopt;
  std::int64_t number = 0;
  for (const char c : found->second) {
    if (c < '0' || c > '9' || number > kMaxSize) return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number > 0 && number <= kMaxSize ? std::optional(number) : std::nullopt;
}

// From torchrun's flags, from slime's, or from the variables that scripts compute WORLD_SIZE into.
void read_gpus(FlagSet& flags, const Script& script, ImportedSide& side, Imported& imported) {
  const auto per_node =
      flags.integer({"--nproc-per-node", "--actor-num-gpus-per-node"}, 1, kMaxSize);
  const auto nodes = flags.integer({"--nnodes", "--actor-num-nodes"}, 1, kMaxSize);
  flags.has({"--node-rank", "--master-addr", "--master-port", "--rdzv-endpoint", "--rdzv-backend",
             "--rdzv-id"});
  if (per_node && nodes) {
    side.gpus = *per_node * *nodes;
    imported.understood.push_back(
        fmt::format("{} GPUs: {} nodes of {}", *side.gpus, *nodes, *per_node));
  } else if (const auto world = variable_number(script, "WORLD_SIZE")) {
    side.gpus = world;
    imported.understood.push_back(fmt::format("{} GPUs: WORLD_SIZE", *world));
  } else {
    imported.asked.push_back(fmt::format(
        "gpus: the file says {}", per_node
                                      ? fmt::format("{} per node, not how many nodes", *per_node)
                                      : "neither GPUs per node nor nodes"));
  }
}

void explain_rest(FlagSet& flags, const std::string& path, Imported& imported) {
  for (const Refused& row : kRefused)
    if (flags.has({row.flag})) flags.fail(row.flag, std::string(row.why));
  if (const auto sharding = flags.value({"--data-parallel-sharding-strategy"});
      sharding && *sharding != "no_shard")
    flags.fail("--data-parallel-sharding-strategy",
               fmt::format("{}: weights are sharded by FSDP, not by Megatron's rules", *sharding));
  for (const Reason& row : kIgnored)
    if (flags.has({row.flag})) imported.ignored.push_back(fmt::format("{}: {}", row.flag, row.why));
  const std::vector<std::string> rest = flags.rest();
  std::vector<std::string_view> known;
  known.reserve(std::size(kSizes));
  for (const SizeFlag& row : kSizes) known.push_back(row.flag);
  for (const std::string& flag : rest) {
    if (flag.find("parallel-size") == std::string::npos &&
        flag.find("paralel") == std::string::npos)
      continue;
    const auto near = nearest_word(flag, known);
    throw InputError({path, flags.line_of(flag), flag},
                     fmt::format("no parallel size of Megatron{}",
                                 near ? fmt::format(" (did you mean {}?)", *near) : ""));
  }
  if (!rest.empty())
    imported.ignored.push_back(counted(rest.size(), "flag") +
                               " that place no weights: " + some_of(rest));
}

}  // namespace

Imported import_megatron(const Source& source) {
  const Script script = read_script(source.text, source.path);
  FlagSet flags(argument_words(script), source.path);
  Imported imported;
  ImportedSide side;
  side.role = "source";
  side.engine = "megatron";
  read_sizes(flags, side, imported);
  read_pipeline(flags, source.path, side, imported);
  read_gpus(flags, script, side, imported);
  const bool half = flags.has({"--fp16"});
  const bool brain = flags.has({"--bf16"});
  if (brain && half) flags.fail("--fp16", "stands beside --bf16");
  if (brain || half) side.dtype = brain ? "bf16" : "fp16";
  if (const auto name = flags.value({"--hf-checkpoint", "--hf-model-path"})) side.model = *name;
  if (const auto divisor = flags.integer({"--make-vocab-size-divisible-by"}, 1, kMaxSize);
      divisor && *divisor != 128)
    side.settings.emplace_back("vocab_divisor", std::to_string(*divisor));

  std::vector<std::string> figures;
  for (const std::string_view flag : kModelFigures)
    if (flags.has({flag}))
      figures.push_back(fmt::format("{} {}", flag.substr(2), *flags.value({flag})));
  if (!figures.empty())
    imported.ignored.push_back("figures of the model, which the job's `model:` gives: " +
                               some_of(figures));
  explain_rest(flags, source.path, imported);

  if (side.parallel.empty() && !side.gpus)
    throw InputError({source.path, 0, ""},
                     "no parallel size of Megatron stands in it, such as "
                     "--tensor-model-parallel-size");
  const std::int64_t dense = size_of(side, "tp") * size_of(side, "pp") * size_of(side, "cp");
  const std::int64_t sparse = size_of(side, "ep") * size_of(side, "etp") * size_of(side, "pp");
  require_divides(side, source.path, dense, "tp x pp x cp");
  require_divides(side, source.path, sparse, "ep x etp x pp");
  imported.understood.insert(imported.understood.begin(), "source: megatron, " + sizes_text(side));
  for (const std::string& taken : script.defaults_taken)
    imported.understood.push_back("the script's default of a variable: " + taken);
  if (side.model.empty())
    imported.asked.push_back("model: the arguments name none; a library name or a config.json");
  else
    resolve_model(side, imported);
  imported.asked.push_back("topology, destination");
  imported.sides.push_back(std::move(side));
  return imported;
}

}  // namespace transload::importing
