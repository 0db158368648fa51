#include "models/importers/m2n_system.h"

#include <fmt/format.h>

#include "common/error.h"
#include "common/text_file.h"
#include "models/importers/readers.h"
#include "models/importers/side_text.h"

namespace transload::importing {
namespace {

M2nSide read_side(const JsonPlace& place, Imported& imported, bool train) {
  M2nSide side;
  const auto size = [&](const char* key) {
    return place.has(key) ? place.at(key).integer_in(1, kMaxSize) : 1;
  };
  side.gpus = place.at("num_gpus").integer_in(1, kMaxSize);
  side.tp = size("tp_size");
  side.cp = size("cp_size");
  side.ep = size("ep_size");
  side.pp = size("pp_size");
  // ep takes ranks of dp and cp on the trainer, and is an axis of its own in generation.
  const std::int64_t unit = side.pp * side.tp * side.cp * (train ? 1 : side.ep);
  if (side.gpus % unit != 0 || side.gpus / side.pp % side.ep != 0)
    place.fail(fmt::format("{} GPUs do not divide over tp {}, cp {}, pp {} and ep {}", side.gpus,
                           side.tp, side.cp, side.pp, side.ep));
  if (!train && side.cp != 1) place.fail("context parallelism of generation is not modelled");
  const std::int64_t dp = side.gpus / unit;
  if (place.has("dp_size")) {
    const std::int64_t said = place.at("dp_size").integer_in(1, kMaxSize);
    if (said != dp)
      imported.ignored.push_back(
          fmt::format("{}: dp_size {}; M2N's benchmark takes what the GPUs leave, {}",
                      train ? "train" : "generation", said, dp));
  }
  if (place.has("fsdp_size") && place.at("fsdp_size").integer_in(1, kMaxSize) != 1)
    imported.ignored.push_back(fmt::format("{}: fsdp_size, which M2N's benchmark never reads",
                                           train ? "train" : "generation"));
  for (const auto& item : place.value().items()) {
    const std::string& key = item.key();
    if (key == "num_gpus" || key == "dp_size" || key == "fsdp_size" || key == "tp_size" ||
        key == "cp_size" || key == "ep_size" || key == "pp_size" || key.starts_with("_"))
      continue;
    place.fail(
        fmt::format("unknown key {}; known are num_gpus, tp_size, cp_size, ep_size, "
                    "pp_size, fsdp_size, dp_size",
                    key));
  }
  return side;
}

std::int64_t stage_of(std::int64_t layer, std::int64_t layers, std::int64_t stages, bool first) {
  if (layer < 0) return first ? 0 : stages - 1;
  return layer * stages / layers;
}

// The folded mesh of one cut: replicas outside, the cutting axis inside, which varies fastest.
Sharding folded(std::int64_t first_rank, std::int64_t ranks, const std::string& axis,
                std::int64_t ways, std::optional<int> dim) {
  Sharding sharding;
  for (std::int64_t r = 0; r < ranks; ++r)
    sharding.ranks.push_back(static_cast<Rank>(first_rank + r));
  if (!dim || ways == 1) {
    sharding.mesh = {{"replica", ranks}};
    sharding.placements = {AxisPlacement{}};
    return sharding;
  }
  sharding.mesh = {{"replica", ranks / ways}, {axis, ways}};
  sharding.placements = {AxisPlacement{}, AxisPlacement{*dim}};
  return sharding;
}

}  // namespace

M2nSystem read_m2n_system(const Json& json, const std::string& path, Imported& imported) {
  const JsonPlace root(json, path, "");
  M2nSystem system;
  system.train = read_side(root.at("train"), imported, true);
  system.generation = read_side(root.at("generation"), imported, false);
  for (const auto& item : json.items())
    if (item.key() == "_comment")
      imported.ignored.push_back("_comment");
    else if (item.key() != "train" && item.key() != "generation")
      root.fail(fmt::format("unknown key {}; known are train, generation", item.key()));
  if (system.train.gpus + system.generation.gpus > kMaxSize)
    root.fail(fmt::format("more than {} ranks", kMaxSize));
  return system;
}

M2nSystem read_m2n_system_file(const std::string& path, Imported& imported) {
  return read_m2n_system(parse_json(read_text_file(path, 1 << 20), path), path, imported);
}

Sharding m2n_source(const M2nSystem& system, const M2nCuts& cuts, std::int64_t layer,
                    std::int64_t layers, bool first) {
  const M2nSide& side = system.train;
  const std::int64_t per_stage = side.gpus / side.pp;
  const std::int64_t begin = stage_of(layer, layers, side.pp, first) * per_stage;
  if (cuts.ep && side.ep > 1) return folded(begin, per_stage, "ep", side.ep, cuts.ep);
  return folded(begin, per_stage, "tp", side.tp, cuts.tp);
}

Sharding m2n_destination(const M2nSystem& system, const M2nCuts& cuts, std::int64_t layer,
                         std::int64_t layers, bool first) {
  const M2nSide& side = system.generation;
  const std::int64_t per_stage = side.gpus / side.pp;
  const std::int64_t begin =
      system.train.gpus + stage_of(layer, layers, side.pp, first) * per_stage;
  if (!cuts.ep || side.ep == 1) return folded(begin, per_stage, "tp", side.tp, cuts.tp);
  // [dp, ep, tp]: experts whole, replicated over tp within each place of ep.
  Sharding sharding = folded(begin, per_stage, "ep", side.ep, cuts.ep);
  sharding.mesh = {{"replica", per_stage / (side.ep * side.tp)}, {"ep", side.ep}, {"tp", side.tp}};
  sharding.placements = {AxisPlacement{}, AxisPlacement{*cuts.ep}, AxisPlacement{}};
  return sharding;
}

}  // namespace transload::importing
