#include "simulator/validation/row_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <regex>

#include "common/home.h"
#include "models/library.h"
#include "simulator/calibration/calibration.h"
#include "simulator/validation/row_words.h"

namespace transload {

// One row's way to a job; `missing` is thrown as text and caught in `make`.
class RowJobBuilder {
 public:
  RowJobBuilder(const RowJobMaker& names, const Measurement& row) : names_(names), row_(row) {}

  RowJob build() {
    refuse_what_has_no_strategy();
    choose_model();
    choose_topology();
    choose_sizes();
    choose_places();
    const std::string source = source_text();
    const std::string destination = destination_text();
    job_.job_text = fmt::format(
        "model: {}\n{}{}topology: {}\nsource: {}\ndestination: {}\nstrategy: {}\noptions: {}\n"
        "framework: {}\n",
        model_, dtype_.empty() ? "" : "dtype: " + dtype_ + "\n", exclude_, topology_text(), source,
        destination, strategy_text(), options_text(), job_.framework);
    return std::move(job_);
  }

 private:
  struct Missing {
    std::string what;
  };
  friend class RowJobMaker;

  void assume(std::string sentence) { job_.assumed.push_back(std::move(sentence)); }

  void refuse_what_has_no_strategy() {
    if (!row_.low_s) throw Missing{"no time is published"};
    if (row_.klass == "colocated")
      throw Missing{"trainer and engine share GPUs through CUDA IPC: no transport to predict"};
    if (row_.klass == "delta") throw Missing{"a sparse update: the share that changed decides"};
    for (const auto& entry : names_.unmodelled_)
      if (holds(row_.method, entry.method)) throw Missing{entry.why};
    const auto found =
        std::find_if(names_.strategies_.begin(), names_.strategies_.end(), [&](const auto& entry) {
          return row_.strategy == entry.text &&
                 (entry.framework.empty() || entry.framework == row_.framework) &&
                 holds(row_.method, entry.method);
        });
    if (found == names_.strategies_.end())
      throw Missing{row_.strategy.empty() ? "what the system does is not published"
                                          : "no strategy of ours is called " + row_.strategy};
    job_.strategy = found->strategy;
    if (!found->discipline.empty()) options_ += "discipline: " + found->discipline;
    // Systems that take what memory they need: ours would shrink chunks and windows instead.
    if (!found->staging.empty())
      options_ += (options_.empty() ? "" : ", ") + ("staging_bytes: " + found->staging);
    job_.framework = row_.framework.empty() ? "none" : row_.framework;
    const std::vector<std::string> known = calibrated_frameworks();
    if (std::binary_search(known.begin(), known.end(), job_.framework)) return;
    assume("host costs of " + job_.framework + " are not known: none");
    job_.framework = "none";
  }

  bool is(const char* name) const { return job_.strategy.starts_with(name); }

  void choose_model() {
    const auto found =
        std::find_if(names_.models_.begin(), names_.models_.end(),
                     [&](const auto& entry) { return holds(row_.model, entry.text); });
    if (found == names_.models_.end())
      throw Missing{row_.model.empty() ? "model" : "shapes of the model (" + row_.model + ")"};
    model_ = found->model.ends_with(".yaml") ? transload_home() + "/" + found->model : found->model;
    const Model model = load_model(YamlValue::from_text(model_, "model"), "");
    layers_ = model.layers;
    // M2N's meshes cannot say that neighbouring ranks hold copies of one KV head.
    if (is("m2n") && model.kv_heads > 0 && model.kv_heads < row_.inference.tp.value_or(1)) {
      exclude_ = "exclude: [\"*.k_proj.*\", \"*.v_proj.*\"]\n";
      assume("k and v projections left out: more ranks than KV heads");
    }
    if (holds(row_.model, "qwen3.5-27b")) exclude_ = "exclude: \"*visual*\"\n";
    const std::string said = lower(row_.dtype_gen.empty() ? row_.dtype_train : row_.dtype_gen);
    if (holds(said, "fp8")) {
      dtype_ = "fp8-e4m3";
      if (!holds(row_.dtype_train, "fp8"))
        assume("the trainer converts before the wire: fp8 travels");
      assume("every tensor has one byte an element; scales are not counted");
    } else if (said.empty()) {
      // A benchmark of transport reads the published checkpoint's description; trainers hold bf16.
      if (row_.klass == "transport") dtype_ = found->checkpoint;
      assume("dtype not stated: " + (dtype_.empty() ? std::string("bf16") : dtype_));
    }
  }

  void choose_topology() {
    std::string gpu = row_.gpu;
    if (gpu.empty()) {
      if (row_.framework != "nemo-rl") throw Missing{"GPU"};
      gpu = "H100";
      assume("GPU not stated: H100, as in the other measurements of NeMo RL");
    }
    const auto found = std::find_if(names_.gpus_.begin(), names_.gpus_.end(), [&](const auto& e) {
      return holds(gpu, e.text) && holds(row_.nic, e.nic);
    });
    if (found == names_.gpus_.end()) throw Missing{"a topology for " + gpu};
    machine_ = &*found;
    if (row_.nic.empty())
      assume("NIC not stated: that of " + machine_->topology + " in our library");
  }

  std::int64_t gpus_of(const MeasuredSide& side) const {
    if (side.gpus) return *side.gpus;
    if (side.nodes) return *side.nodes * machine_->node;
    return side.tp.value_or(1) * side.replicas.value_or(0);
  }

  void choose_sizes() {
    if (is("checkpoint-engine") && row_.framework != "checkpoint-engine")
      throw Missing{"which GPUs pin which part of the checkpoint"};
    trainers_ = gpus_of(row_.trainer);
    engines_ = gpus_of(row_.inference);
    if (engines_ == 0) throw Missing{"number of inference GPUs"};
    if (trainers_ == 0) {
      const MeasuredSide& side = row_.trainer;
      if (!side.tp || !side.pp || !side.ep) throw Missing{"number of trainer GPUs"};
      trainers_ = engines_;
      assume(fmt::format("number of trainer GPUs not stated: {}, as many as engines'", trainers_));
    }
    if (!row_.inference.tp) {
      if (!row_.predictable) throw Missing{"tensor parallelism of the engines"};
      assume("tensor parallelism of the engines not stated: 8");
    }
    job_.destination_gpus = static_cast<double>(engines_);
  }

  // Nodes of each side. Where one NVLink domain spans several nodes, sides that fit share one, and
  // larger ones fill whole domains to 64 GPUs, as power-of-two jobs do.
  void choose_places() {
    const std::int64_t node = machine_->node;
    const std::int64_t source = (trainers_ + node - 1) / node;
    const std::int64_t target = (engines_ + node - 1) / node;
    if (is("checkpoint-engine")) {
      places_ = {{0, source}, {0, target}};
      if (job_.strategy == "checkpoint-engine:p2p" && engines_ > 16) {
        engines_ = 16;
        places_[1] = {0, 16 / node};
        assume("P2P updates 16 GPUs, as the README says of its table");
      }
      nodes_ = source;
      return;
    }
    nodes_ = source + target;
    if (machine_->rack == 0 || nodes_ <= machine_->rack) {
      places_ = {{0, source}, {source, source + target}};
      if (machine_->rack > 0) assume("both sides are in one NVLink domain");
      if (machine_->rack > 0) nodes_ = 1;
      return;
    }
    const std::int64_t used = 64 / node;
    const auto racks = [&](std::int64_t nodes) { return (nodes + used - 1) / used; };
    nodes_ = racks(source) + racks(target);
    rack_used_ = used;
    places_ = {{0, source}, {racks(source) * machine_->rack, target}};
    assume("each side fills NVLink domains of its own, 64 GPUs of each");
  }

  std::string node_list(std::size_t side) const {
    if (rack_used_ == 0) return fmt::format("{}-{}", places_[side].first, places_[side].second - 1);
    std::string list;
    std::int64_t left = places_[side].second;
    for (std::int64_t rack = places_[side].first / machine_->rack; left > 0; ++rack) {
      const std::int64_t take = std::min(left, rack_used_);
      list += fmt::format("{}{}-{}", list.empty() ? "" : ", ", rack * machine_->rack,
                          rack * machine_->rack + take - 1);
      left -= take;
    }
    return "[" + list + "]";
  }

  std::string topology_text() const {
    return fmt::format("{{name: {}, {}: {}}}", machine_->topology,
                       machine_->rack > 0 ? "racks" : "nodes", nodes_);
  }

  std::string source_text() {
    const MeasuredSide& side = row_.trainer;
    if (is("checkpoint-engine"))
      return fmt::format(
          "{{engine: fsdp, gpus: {0}, nodes: {1}, parallel: {{shard: 1, replicate: {0}}}}}",
          trainers_, node_list(0));
    if (side.engine == "megatron") return megatron_text(side);
    if (side.engine.empty()) throw Missing{"the trainer's engine and layout"};
    if (!holds(side.engine, "fsdp") && side.engine != "dtensor")
      throw Missing{"layout rules of the trainer's engine (" + side.engine + ")"};
    return fsdp_text(side);
  }

  std::string megatron_text(const MeasuredSide& side) {
    for (const auto& [size, name] :
         {std::pair{side.tp, "tp"}, std::pair{side.pp, "pp"}, std::pair{side.ep, "ep"}})
      if (!size) {
        if (!row_.predictable) throw Missing{fmt::format("the trainer's {}", name)};
        assume(fmt::format("the trainer's {} not stated: 1", name));
      }
    const std::int64_t stages = side.pp.value_or(1);
    const std::string layout = stages > 1 ? stage_text(side, stages) : "";
    return fmt::format(
        "{{engine: megatron, gpus: {}, nodes: {}, parallel: {{tp: {}, pp: {}, ep: {}, etp: {}, "
        "cp: {}}}{}{}}}",
        trainers_, node_list(0), side.tp.value_or(1), stages, side.ep.value_or(1),
        side.etp.value_or(1), side.cp.value_or(1), layout, is("m2n") ? ", vocab_divisor: off" : "");
  }

  // Layers per stage: the last stage's where a note says so; where pp does not divide the layers,
  // full stages with less at both ends.
  std::string stage_text(const MeasuredSide& side, std::int64_t stages) {
    static const std::regex kLast("last PP stage ([0-9]+) layers");
    std::smatch match;
    if (std::regex_search(side.note, match, kLast)) {
      const std::int64_t last = std::stoll(match[1]);
      std::string list;
      for (std::int64_t stage = 0; stage + 1 < stages; ++stage)
        list += fmt::format("{}, ", (layers_ - last) / (stages - 1));
      return fmt::format(", pp_layout: [{}{}]", list, last);
    }
    if (layers_ % stages == 0) return "";
    const std::int64_t middle = layers_ / stages + 1;
    const std::int64_t ends = layers_ - middle * (stages - 2);
    if (ends < 2) throw Missing{"layers per pipeline stage"};
    assume(fmt::format("layers per pipeline stage not stated: {}, {} each, {}", ends - ends / 2,
                       middle, ends / 2));
    return fmt::format(", pp_layout: {{first: {}, last: {}}}", ends - ends / 2, ends / 2);
  }

  std::string fsdp_text(const MeasuredSide& side) {
    static const std::regex kHsdp("replicate *([0-9]+) x shard *([0-9]+)");
    const std::int64_t tp = side.tp.value_or(1);
    std::int64_t replicate = 1;
    std::smatch match;
    if (std::regex_search(side.note, match, kHsdp)) replicate = std::stoll(match[1]);
    return fmt::format(
        "{{engine: fsdp, gpus: {}, nodes: {}, parallel: {{shard: {}, replicate: {}, tp: {}{}}}}}",
        trainers_, node_list(0), trainers_ / tp / replicate, replicate, tp,
        side.ep.value_or(1) > 1 ? fmt::format(", ep: {}", *side.ep) : "");
  }

  std::string destination_text() {
    const MeasuredSide& side = row_.inference;
    std::string engine = side.engine;
    if (engine.empty()) {
      engine = "vllm";
      assume("the engine's layout not stated: vllm's");
    }
    if (holds(row_.model, "qwen3.5") && engine == "sglang")
      throw Missing{"sglang's layout of delta nets"};
    const std::int64_t tp = side.tp.value_or(std::min<std::int64_t>(8, engines_));
    const std::int64_t ep = side.ep.value_or(1);
    std::string more;
    if (engine == "vllm" && ep > tp) more = fmt::format(", dp: {}", ep / tp);
    if (engine == "sglang" && side.dp.value_or(1) > 1) more = fmt::format(", dp: {}", *side.dp);
    return fmt::format(
        "{{engine: {}, gpus: {}, nodes: {}, parallel: {{tp: {}, pp: {}, ep: {}{}}}}}", engine,
        engines_, node_list(1), tp, side.pp.value_or(1), ep, more);
  }

  std::string strategy_text() {
    std::string name = job_.strategy;
    std::string mode;
    if (const auto colon = name.find(':'); colon != std::string::npos) {
      mode = "mode: " + name.substr(colon + 1);
      name.resize(colon);
    }
    std::optional<double> bucket;
    if (row_.bucket_gib) bucket = *row_.bucket_gib * 1024 * 1024 * 1024;
    if (!bucket) bucket = bucket_bytes_said(row_.scope + "; " + row_.notes);
    if (!bucket || !(is("gather-broadcast") || is("checkpoint-engine")))
      return mode.empty() ? name : fmt::format("{{{}: {{{}}}}}", name, mode);
    return fmt::format("{{{}: {{bucket_bytes: {:.0f}{}{}}}}}", name, *bucket,
                       mode.empty() ? "" : ", ", mode);
  }

  std::string options_text() const { return "{" + options_ + "}"; }

  const RowJobMaker& names_;
  const Measurement& row_;
  RowJob job_;
  std::string model_, dtype_, exclude_, options_;
  std::int64_t layers_ = 0;
  const RowJobMaker::GpuName* machine_ = nullptr;
  std::int64_t trainers_ = 0, engines_ = 0, nodes_ = 0, rack_used_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> places_;  // begin, and end or number
};

RowJobMaker::RowJobMaker() {
  YamlMap map = YamlValue::from_file(transload_home() + "/simulator/validation/names.yaml").map();
  const auto each = [&](const char* key, const auto& read) {
    for (const YamlValue& value : map.required(key).list()) {
      YamlMap entry = value.map();
      read(entry);
      entry.finish();
    }
  };
  const auto text = [](YamlMap& entry, const char* key) {
    const auto value = entry.optional(key);
    return value ? value->text() : std::string();
  };
  const auto number = [](YamlMap& entry, const char* key) {
    const auto value = entry.optional(key);
    return value ? value->integer_in(1, 1024) : std::int64_t{0};
  };
  each("models", [&](YamlMap& entry) {
    models_.push_back({text(entry, "text"), text(entry, "model"), text(entry, "checkpoint")});
  });
  each("gpus", [&](YamlMap& entry) {
    gpus_.push_back({text(entry, "text"), text(entry, "nic"), text(entry, "topology"),
                     number(entry, "node"), number(entry, "rack")});
  });
  each("strategies", [&](YamlMap& entry) {
    strategies_.push_back({text(entry, "text"), text(entry, "framework"), text(entry, "method"),
                           text(entry, "strategy"), text(entry, "discipline"),
                           text(entry, "staging")});
  });
  each("unmodelled", [&](YamlMap& entry) {
    unmodelled_.push_back({text(entry, "method"), text(entry, "why")});
  });
  map.finish();
}

RowJob RowJobMaker::make(const Measurement& row) const {
  try {
    return RowJobBuilder(*this, row).build();
  } catch (const RowJobBuilder::Missing& missing) {
    RowJob job;
    job.missing = missing.what;
    return job;
  }
}

}  // namespace transload
