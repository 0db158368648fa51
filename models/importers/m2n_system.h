// The parallel sizes of NCCL M2N's benchmarks, and the layout that its model benchmark gives each
// tensor by name.
//
// Trainer ranks come first, pipeline stages outermost; within a stage dense tensors lie on
// [dp, cp, tp] and experts on [expert-dp, ep], the last axis fastest. Generation ranks follow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/importers/importers.h"
#include "models/importers/json_reader.h"

namespace transload::importing {

struct M2nSide {
  std::int64_t gpus = 1;
  std::int64_t tp = 1;
  std::int64_t cp = 1;
  std::int64_t ep = 1;
  std::int64_t pp = 1;
};

struct M2nSystem {
  M2nSide train;
  M2nSide generation;
};

// `imported` gets the sentences. InputError: sizes that do not divide the GPUs.
M2nSystem read_m2n_system(const Json& json, const std::string& path, Imported& imported);
M2nSystem read_m2n_system_file(const std::string& path, Imported& imported);

// Dimensions of a tensor that a side may cut; nullopt: not that way.
struct M2nCuts {
  std::optional<int> tp;
  std::optional<int> ep;
};

// Both sides of a tensor of layer `layer` (-1: none) of `layers`; `first`: of the tensors outside
// layers, the embedding is on the first stage, the rest on the last.
Sharding m2n_source(const M2nSystem& system, const M2nCuts& cuts, std::int64_t layer,
                    std::int64_t layers, bool first);
Sharding m2n_destination(const M2nSystem& system, const M2nCuts& cuts, std::int64_t layer,
                         std::int64_t layers, bool first);

}  // namespace transload::importing
