#include "models/importers/serve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "common/error.h"
#include "common/yaml.h"
#include "models/importers/json_reader.h"
#include "models/importers/readers.h"
#include "models/importers/side_text.h"

namespace transload::importing {
namespace {

using Names = std::vector<std::string_view>;

// What the two engines call the same things.
struct Dialect {
  std::string_view engine;
  Names tp, pp, dp, ep, model, redundant;
  std::string_view partition;  // environment variable: layers per stage
};

const std::array<Dialect, 2>& dialects() {
  static const std::array<Dialect, 2> known = {{
      {"vllm",
       {"--tensor-parallel-size", "-tp"},
       {"--pipeline-parallel-size", "-pp"},
       {"--data-parallel-size", "-dp"},
       {},
       {"--model", "--model-tag"},
       {"--num-redundant-experts"},
       "VLLM_PP_LAYER_PARTITION"},
      {"sglang",
       {"--tensor-parallel-size", "--tp-size", "--tp"},
       {"--pipeline-parallel-size", "--pp-size", "--pp"},
       {"--data-parallel-size", "--dp-size", "--dp"},
       {"--expert-parallel-size", "--ep-size", "--ep"},
       {"--model-path", "--model"},
       {"--ep-num-redundant-experts"},
       "SGLANG_PP_LAYER_PARTITION"},
  }};
  return known;
}

struct Reason {
  std::string_view flag;
  std::string_view why;
};

// Flags that sound like layout and place no weights of the model.
constexpr std::array kIgnored = {
    Reason{"--kv-cache-dtype", "the cache, not weights"},
    Reason{"--weight-transfer-config", "how the engine receives, not what it holds"},
    Reason{"--load-format", "where the first weights come from"},
    Reason{"--decode-context-parallel-size", "cuts the KV cache over ranks of tp, not weights"},
    Reason{"-dcp", "cuts the KV cache over ranks of tp, not weights"},
    Reason{"--gpu-memory-utilization", "memory for the cache"},
    Reason{"--distributed-executor-backend", "how processes start"},
    Reason{"--speculative-config", "a drafter is a model and a pool of its own"},
    Reason{"--enable-lora", "adapters are not part of the model's weights"},
};

constexpr std::array kRefused = {
    Reason{"--prefill-context-parallel-size",
           "prefill context parallelism multiplies the ranks "
           "of an engine in a way no rule table here has"},
    Reason{"-pcp",
           "prefill context parallelism multiplies the ranks of an engine in a way no rule "
           "table here has"},
};

// "a launch without a flag's value" is caught by FlagSet; a model may stand bare in front.
void read_model(FlagSet& flags, const Dialect& dialect, ImportedSide& side) {
  if (const auto named = flags.value(dialect.model)) side.model = *named;
  if (side.model.empty() && !flags.positional().empty()) side.model = flags.positional()[0].text;
  if (side.model.find('$') != std::string::npos) side.model.clear();
}

// Redundant experts and their placement are decided while the engine runs.
std::string ask_for_table(std::int64_t redundant) {
  return fmt::format(
      "expert_table: the engine places experts{} by a table that changes at run time; "
      "read it from the running engine",
      redundant > 0 ? fmt::format(", {} of them redundant,", redundant) : "");
}

void read_vllm_experts(FlagSet& flags, ImportedSide& side, Imported& part) {
  const std::int64_t ranks = size_of(side, "tp") * size_of(side, "dp");
  if (flags.has({"--enable-expert-parallel", "-ep"}))
    set_size(side, "ep", ranks);
  else if (size_of(side, "dp") > 1)
    part.understood.push_back(fmt::format(
        "without --enable-expert-parallel experts are cut over tp x dp = {} ranks", ranks));
  std::int64_t redundant = flags.integer({"--num-redundant-experts"}, 0, kMaxSize).value_or(0);
  if (const auto config = flags.value({"--eplb-config"})) {
    const std::string name = "--eplb-config";
    const Json json = parse_json(*config, name);
    const JsonPlace place(json, name, "");
    if (place.has("num_redundant_experts"))
      redundant = place.at("num_redundant_experts").integer_in(0, kMaxSize);
  }
  const bool balanced = flags.has({"--enable-eplb"});
  if (balanced) part.asked.push_back(ask_for_table(redundant));
  const auto placement = flags.value({"--expert-placement-strategy"});
  if (!placement) return;
  if (*placement != "linear" && *placement != "round_robin")
    flags.fail("--expert-placement-strategy",
               fmt::format("expected linear or round_robin, found {}", *placement));
  if (balanced)
    part.ignored.push_back("--expert-placement-strategy: the table of --enable-eplb replaces it");
  else
    side.settings.emplace_back("expert_placement", *placement);
}

void read_sglang_experts(FlagSet& flags, ImportedSide& side, Imported& part) {
  const auto redundant = flags.integer({"--ep-num-redundant-experts"}, 0, kMaxSize);
  if (flags.has({"--enable-eplb"}) || redundant.value_or(0) > 0)
    part.asked.push_back(ask_for_table(redundant.value_or(0)));
  if (const auto dense = flags.integer({"--moe-dense-tp-size"}, 1, kMaxSize))
    set_size(side, "moe_dense_tp", *dense);
  if (flags.has({"--enable-dp-lm-head"})) side.settings.emplace_back("dp_lm_head", "true");
  const std::int64_t tp = size_of(side, "tp");
  const std::int64_t dp = size_of(side, "dp");
  if (flags.has({"--enable-dp-attention"}) && tp % dp != 0)
    flags.fail("--enable-dp-attention",
               fmt::format("dp {} does not divide tp {}; attention runs on tp / dp ranks", dp, tp));
  if (tp % size_of(side, "ep") != 0)
    flags.fail("--ep-size", fmt::format("ep {} does not divide tp {}", size_of(side, "ep"), tp));
}

// GPUs of one engine. SGLang's data-parallel attention divides the tensor-parallel ranks, its plain
// data parallelism starts whole engines.
void count_gpus(FlagSet& flags, ImportedSide& side, std::vector<std::string>& understood) {
  const std::int64_t tp_pp = size_of(side, "tp") * size_of(side, "pp");
  if (side.engine == "vllm") {
    side.gpus = tp_pp * size_of(side, "dp");
    understood.push_back(fmt::format(
        "{} GPUs: one engine of tp x pp x dp; more replicas are more GPUs", *side.gpus));
    return;
  }
  if (flags.has({"--enable-dp-attention"})) {
    side.gpus = tp_pp;
    understood.push_back(
        fmt::format("{} GPUs: tp x pp; attention is replicated over dp {} and cut over {} ranks",
                    *side.gpus, size_of(side, "dp"), size_of(side, "tp") / size_of(side, "dp")));
    return;
  }
  side.gpus = tp_pp * size_of(side, "dp");
  if (size_of(side, "dp") > 1)
    understood.push_back(
        fmt::format("{} GPUs: {} engines of tp x pp", *side.gpus, size_of(side, "dp")));
  // Whole engines are replicas: gpus over the size of one engine.
  std::erase_if(side.parallel, [](const auto& entry) { return entry.first == "dp"; });
}

// "13,16,16,16".
std::vector<std::int64_t> layers_per_stage(const std::string& value, const std::string& name,
                                           const Launch& launch, const std::string& path) {
  try {
    std::vector<std::int64_t> stages;
    for (const YamlValue& item : YamlValue::from_text("[" + value + "]", path).list())
      stages.push_back(item.integer_in(0, kMaxSize));
    return stages;
  } catch (const InputError&) {
    throw InputError(
        {path, launch.command.line, name},
        fmt::format("expected layers per stage, such as 13,16,16,16, found {}", value));
  }
}

void read_partition(const Launch& launch, const Dialect& dialect, const std::string& path,
                    ImportedSide& side) {
  for (const auto& [name, value] : launch.command.environment) {
    if (name != dialect.partition) continue;
    const std::vector<std::int64_t> stages = layers_per_stage(value, name, launch, path);
    if (static_cast<std::int64_t>(stages.size()) != size_of(side, "pp"))
      throw InputError({path, launch.command.line, name},
                       fmt::format("{} numbers of layers for {} pipeline stages", stages.size(),
                                   size_of(side, "pp")));
    side.pp_layout = fmt::format("[{}]", fmt::join(stages, ", "));
  }
}

void read_types(FlagSet& flags, ImportedSide& side, std::vector<std::string>& asked) {
  if (const auto word = flags.value({"--dtype"}); word && *word != "auto") {
    const auto dtype = parse_dtype(*word);
    if (!dtype) flags.fail("--dtype", fmt::format("expected a dtype or auto, found {}", *word));
    side.dtype = dtype_name(*dtype);
  }
  if (const auto method = flags.value({"--quantization", "-q"}))
    asked.push_back(fmt::format(
        "dtype: --quantization {} either names the checkpoint's own format or quantises while "
        "loading; write the destination's dtype",
        *method));
}

void explain_rest(FlagSet& flags, const std::string& path, std::vector<std::string>& ignored) {
  for (const Reason& row : kRefused) {
    const auto size = flags.integer({row.flag}, 1, kMaxSize);
    if (size && *size > 1) flags.fail(row.flag, std::string(row.why));
  }
  for (const Reason& row : kIgnored)
    if (flags.has({row.flag})) ignored.push_back(fmt::format("{}: {}", row.flag, row.why));
  // Where an engine's processes run, not what they hold.
  flags.has({"--node-rank", "--master-addr", "--master-port", "--headless", "--dist-init-addr",
             "--host", "--port", "--data-parallel-size-local", "-dpl", "--data-parallel-address",
             "--data-parallel-start-rank"});
  const std::vector<std::string> rest = flags.rest();
  for (const std::string& flag : rest)
    if (flag.find("parallel-size") != std::string::npos ||
        flag.find("paralel") != std::string::npos)
      throw InputError({path, flags.line_of(flag), flag},
                       "a parallel size that is not one of the engine's");
  if (!rest.empty())
    ignored.push_back(counted(rest.size(), "flag") + " that place no weights: " + some_of(rest));
}

}  // namespace

std::vector<Launch> find_launches(const Script& script) {
  std::vector<Launch> launches;
  for (const Command& command : script.commands) {
    const std::vector<Word>& words = command.words;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i].text;
      const std::string program = word.substr(word.find_last_of('/') + 1);
      const bool serve = i + 1 < words.size() && words[i + 1].text == "serve";
      std::size_t used = 0;
      std::string engine;
      if ((program == "vllm" || program == "sglang") && serve) {
        engine = program;
        used = 2;
      } else if (word.starts_with("vllm.entrypoints")) {
        engine = "vllm";
        used = 1;
      } else if (word == "sglang.launch_server") {
        engine = "sglang";
        used = 1;
      }
      if (engine.empty()) continue;
      Launch launch{engine, command};
      launch.command.words.assign(words.begin() + static_cast<std::ptrdiff_t>(i + used),
                                  words.end());
      launches.push_back(std::move(launch));
      break;
    }
  }
  return launches;
}

ImportedSide read_launch(const Launch& launch, const std::string& path, const std::string& origin,
                         Imported& imported) {
  const Dialect& dialect = dialects()[launch.engine == "vllm" ? 0 : 1];
  FlagSet flags(launch.command.words, path);
  ImportedSide side;
  side.role = "destination";
  side.engine = launch.engine;
  side.origin = origin;
  Imported part;
  read_model(flags, dialect, side);
  for (const auto& [names, key] : {std::pair{&dialect.tp, "tp"}, std::pair{&dialect.pp, "pp"},
                                   std::pair{&dialect.dp, "dp"}, std::pair{&dialect.ep, "ep"}})
    if (!names->empty())
      if (const auto size = flags.integer(*names, 1, kMaxSize))
        side.parallel.emplace_back(key, *size);
  if (launch.engine == "vllm")
    read_vllm_experts(flags, side, part);
  else
    read_sglang_experts(flags, side, part);
  read_partition(launch, dialect, path, side);
  part.understood.push_back(
      fmt::format("destination: {}, {}{}", side.engine, sizes_text(side),
                  side.pp_layout.empty() ? "" : ", layers per stage " + side.pp_layout));
  count_gpus(flags, side, part.understood);
  if (const auto nodes = flags.integer({"--nnodes"}, 1, kMaxSize)) {
    if (*side.gpus % *nodes != 0)
      flags.fail("--nnodes",
                 fmt::format("{} GPUs do not divide over {} nodes", *side.gpus, *nodes));
    part.understood.push_back(fmt::format("{} nodes of {} GPUs", *nodes, *side.gpus / *nodes));
  }
  read_types(flags, side, part.asked);
  explain_rest(flags, path, part.ignored);
  if (side.model.empty())
    part.asked.push_back("model: the launch names none that the file spells out");
  else
    resolve_model(side, part);

  const std::string prefix = origin.empty() ? "" : origin + ": ";
  const auto move_all = [&](const std::vector<std::string>& from, std::vector<std::string>& to) {
    for (const std::string& sentence : from) to.push_back(prefix + sentence);
  };
  move_all(part.understood, imported.understood);
  move_all(part.ignored, imported.ignored);
  move_all(part.asked, imported.asked);
  return side;
}

Imported import_serve(const Source& source) {
  const Script script = read_script(source.text, source.path);
  std::vector<Launch> launches = find_launches(script);
  if (launches.empty()) {
    // Bare arguments, as in a field of a form or a list in a larger script.
    Launch bare{"vllm", {}};
    bare.command.line = 1;
    for (const Command& command : script.commands)
      bare.command.words.insert(bare.command.words.end(), command.words.begin(),
                                command.words.end());
    launches.push_back(std::move(bare));
  }
  Imported imported;
  if (source.options.launch) {
    const int wanted = *source.options.launch;
    if (wanted < 1 || wanted > static_cast<int>(launches.size()))
      throw InputError({source.path, 0, "--launch"},
                       fmt::format("the file has {} launches, found {}", launches.size(), wanted));
    launches = {launches[static_cast<std::size_t>(wanted - 1)]};
  }
  for (const Launch& launch : launches) {
    const std::string origin =
        launches.size() > 1 ? fmt::format("line {}", launch.command.line) : "";
    imported.sides.push_back(read_launch(launch, source.path, origin, imported));
  }
  for (const std::string& taken : script.defaults_taken)
    imported.understood.push_back("the script's default of a variable: " + taken);
  imported.asked.push_back("topology, source");
  return imported;
}

}  // namespace transload::importing
