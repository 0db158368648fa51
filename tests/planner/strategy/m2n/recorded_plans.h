// Plans that NVIDIA's own M2N planner emits (tests/data/m2n_plans.txt), and the same jobs as jobs
// of ours.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "planner/job/job.h"
#include "planner/strategy/m2n/moves.h"

namespace transload::testing {

// Role, source rank, destination rank -> bytes.
using PairBytes = std::map<std::tuple<M2nRole, Rank, Rank>, std::int64_t>;

struct RecordedSide {
  std::int64_t replicas = 1;
  std::int64_t shards = 1;
  bool replicas_inside = false;
  std::string placement;  // "R" or "S(1)"
  Rank first = 0;
  Rank ranks() const { return static_cast<Rank>(replicas * shards); }
};

struct RecordedPlan {
  std::vector<M2nMode> modes;
  M2nPath path = M2nPath::kParent;
  PairBytes moves;
};

struct RecordedJob {
  std::string id;
  std::vector<std::int64_t> shape;
  std::int64_t element_bytes = 1;
  RecordedSide source;
  RecordedSide destination;
  Rank domain = 1;  // GPUs per NVLink domain
  std::vector<RecordedPlan> plans;
};

inline RecordedSide read_side(std::istringstream& words) {
  RecordedSide side;
  char times = 0;
  std::string order;
  char at = 0;
  words >> side.replicas >> times >> side.shards >> order >> side.placement >> at >> side.first;
  side.replicas_inside = order == "i";
  return side;
}

inline RecordedJob read_job(const std::string& line) {
  RecordedJob job;
  std::istringstream words(line);
  std::string word;
  words >> word >> job.id >> word >> job.element_bytes;
  std::istringstream extents(word);
  for (std::string extent; std::getline(extents, extent, 'x');)
    job.shape.push_back(std::stoll(extent));
  job.source = read_side(words);
  words >> word;  // ->
  job.destination = read_side(words);
  words >> word;  // domain=N
  job.domain = std::stoi(word.substr(word.find('=') + 1));
  return job;
}

// "I 256 0>4+1+0*3"
inline void read_entry(const std::string& entry, PairBytes& moves) {
  static const std::map<char, M2nRole> roles = {
      {'I', M2nRole::kInject}, {'F', M2nRole::kForward}, {'N', M2nRole::kFanOut}};
  std::istringstream words(entry);
  char role = 0;
  char sign = 0;
  std::int64_t bytes = 0;
  Rank from = 0;
  Rank to = 0;
  Rank from_step = 0;
  Rank to_step = 0;
  int repeats = 0;
  words >> role >> bytes >> from >> sign >> to;
  if (!words.eof()) words >> from_step >> to_step >> sign >> repeats;
  for (int i = 0; i <= repeats; ++i)
    moves[{roles.at(role), from + i * from_step, to + i * to_step}] += bytes;
}

inline RecordedPlan read_plan(const std::string& line) {
  static const std::map<std::string, M2nMode> modes = {
      {"default", M2nMode::kDefault},
      {"parent-node-aware", M2nMode::kParentNodeAware},
      {"parent-uniform", M2nMode::kParentUniform}};
  static const std::map<std::string, M2nPath> paths = {
      {"host-put", M2nPath::kHostPut}, {"split", M2nPath::kSplit}, {"parent", M2nPath::kParent}};
  RecordedPlan plan;
  const std::size_t space = line.find(' ');
  const std::size_t colon = line.find(": ");
  std::istringstream names(line.substr(0, space));
  for (std::string name; std::getline(names, name, ',');) plan.modes.push_back(modes.at(name));
  plan.path = paths.at(line.substr(space + 1, colon - space - 1));
  std::istringstream entries(line.substr(colon + 2));
  for (std::string entry; std::getline(entries, entry, ';');) read_entry(entry, plan.moves);
  return plan;
}

inline std::vector<RecordedJob> recorded_m2n_jobs() {
  std::ifstream file(TRANSLOAD_SOURCE_DIR "/tests/data/m2n_plans.txt");
  std::vector<RecordedJob> jobs;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with("job "))
      jobs.push_back(read_job(line));
    else
      jobs.back().plans.push_back(read_plan(line));
  }
  return jobs;
}

// How far the destination ranks must move to begin a domain: NVIDIA's split communicators count
// domains from the first destination rank, ours are those of the cluster.
inline Rank shift_to_domain(const RecordedJob& recorded) {
  const Rank beyond = recorded.destination.first % recorded.domain;
  return beyond == 0 ? 0 : recorded.domain - beyond;
}

inline std::string side_text(const RecordedSide& side, Rank shift) {
  const Rank first = side.first + shift;
  const auto axes = side.replicas_inside
                        ? fmt::format("{{s: {}, r: {}}}", side.shards, side.replicas)
                        : fmt::format("{{r: {}, s: {}}}", side.replicas, side.shards);
  const auto placements = side.replicas_inside ? fmt::format("[{}, R]", side.placement)
                                               : fmt::format("[R, {}]", side.placement);
  return fmt::format("{{mesh: {}, placements: {}, ranks: {}-{}}}", axes, placements, first,
                     first + side.ranks() - 1);
}

// The job with its destination ranks raised by `shift`; one node per domain.
inline std::string job_text(const RecordedJob& recorded, Rank shift) {
  std::string shape;
  for (const std::int64_t extent : recorded.shape)
    shape += fmt::format("{}{}", shape.empty() ? "" : ", ", extent);
  const Rank last = std::max(recorded.source.first + recorded.source.ranks(),
                             recorded.destination.first + shift + recorded.destination.ranks());
  return fmt::format(
      "topology: {{nodes: [{{count: {}, gpus: {}, nvlink: 450GB/s, nics_per_gpu: 1, nic: "
      "50GB/s}}], "
      "efficiency: 1, latency: 0}}\n"
      "tensors:\n  - {{name: w, shape: [{}], dtype: {}, source: {}, destination: {}}}\n",
      (last + recorded.domain - 1) / recorded.domain, recorded.domain, shape,
      recorded.element_bytes == 1 ? "uint8" : "bf16", side_text(recorded.source, 0),
      side_text(recorded.destination, shift));
}

inline std::vector<std::int32_t> domains_of(const Topology& topology) {
  std::vector<std::int32_t> domains;
  for (const Gpu& gpu : topology.gpus) domains.push_back(gpu.domain);
  return domains;
}

}  // namespace transload::testing
