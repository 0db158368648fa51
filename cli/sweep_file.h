// The file of a sweep: a base job and what varies.
//
//   job: deepseek-v3-h100.yaml          a job file, or the job itself
//   grid:                               an axis a line; every combination of their values is a
//   point
//     nodes: {topology.nodes: [32, 64], source.gpus: [128, 256]}    keys that change together
//     topology.nic: [25GB/s, 50GB/s]                                 one key alone
//   strategies: [transload, m2n]        default: the job's own
//
// A key is the way to a value of the job: `source.parallel.tp`, `destination[1].gpus`; null takes
// it out. Keys that begin with `prices.` change the sweep's own prices. docs/sweep.md has all of
// it.
#pragma once

#include <yaml-cpp/yaml.h>

#include <map>
#include <string>
#include <vector>

#include "planner/job/job.h"

namespace transload {

// One axis of the grid. `keys` change together: step i sets keys[k] to values[k][i].
struct SweepAxis {
  std::string name;
  std::vector<std::string> keys;
  std::vector<std::vector<YAML::Node>> values;  // by key
  std::vector<std::string> labels;              // by step: the first key's value
};

// Capital prices a piece; gpu_hour a GPU and hour. 0: not given.
struct SweepPrices {
  double gpu_hour = 0;
  double gpu = 0;
  double nic = 0;
  double node = 0;
  bool capital() const { return gpu > 0 || nic > 0 || node > 0; }
};

struct Sweep {
  std::string path;
  std::string name;         // file name without folder and ending
  std::string base_folder;  // of the job's relative paths
  YAML::Node job;
  std::vector<SweepAxis> axes;
  std::vector<std::string> strategies;  // as written; empty: the job's own
  std::size_t simulate = 2;             // so many of each point, the best by estimate
  SweepPrices prices;
  std::string currency;
  double refits_per_day = 0;  // 0: not given
  std::string plot_axis;      // empty: chosen by what the grid has
};

// One combination of the grid's values.
struct SweepPoint {
  std::size_t number = 0;           // from 0, the last axis fastest
  std::vector<std::string> labels;  // by axis
  std::string job_text;
  SweepPrices prices;
};

// InputError with file, line and field for whatever is wrong, a grid of more than 100,000 points
// included. The jobs themselves are read when they are planned.
Sweep load_sweep(const std::string& path);

std::size_t point_count(const Sweep& sweep);
// InputError where a key leads into something that is no map or list.
SweepPoint make_point(const Sweep& sweep, std::size_t number);

// What tells this point from every other that could stand in a results file: a digest of its job,
// its prices, the strategies and the version of the program.
std::string point_key(const Sweep& sweep, const SweepPoint& point);

// "nodes 64, nic 50GB/s".
std::string point_title(const Sweep& sweep, const SweepPoint& point);

}  // namespace transload
