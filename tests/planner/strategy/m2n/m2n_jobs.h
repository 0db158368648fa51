// Random jobs that NCCL M2N can do: every combination of shard and replica counts, mesh orders,
// domains, path and balancer, one to four pipeline stages (each a communicator), tensors of very
// different sizes, experts among them.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

#include "tests/testing/random_job.h"

namespace transload::testing {

struct M2nRandomSide {
  std::int64_t replicas = 1;
  std::int64_t shards = 1;
  bool replicas_inside = false;
  std::int64_t first = 0;

  std::string text(std::int64_t dim) const {
    const auto placement = shards == 1 ? std::string("R") : fmt::format("S({})", dim);
    const std::string mesh = replicas_inside ? fmt::format("{{s: {}, r: {}}}", shards, replicas)
                                             : fmt::format("{{r: {}, s: {}}}", replicas, shards);
    const std::string placements =
        replicas_inside ? fmt::format("[{}, R]", placement) : fmt::format("[R, {}]", placement);
    return fmt::format("{{mesh: {}, placements: {}, ranks: {}-{}}}", mesh, placements, first,
                       first + replicas * shards - 1);
  }
};

// One layer of `experts` experts: each whole on one group of source ranks (expert parallel), cut
// over the shards of the destination (tensor parallel).
inline std::string random_experts(std::mt19937_64& random, const M2nRandomSide& source,
                                  const M2nRandomSide& destination) {
  const std::int64_t experts = source.shards * pick(random, 1, 2);
  const std::int64_t rows = destination.shards * pick(random, 1, 3);
  std::string text;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    std::string ranks;
    for (std::int64_t replica = 0; replica < source.replicas; ++replica) {
      const std::int64_t shard = expert / (experts / source.shards);
      const std::int64_t place = source.replicas_inside ? shard * source.replicas + replica
                                                        : replica * source.shards + shard;
      ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", source.first + place);
    }
    text += fmt::format(
        "  - {{name: layers.0.experts.{}.w, shape: [{}, 5], dtype: bf16, source: {{mesh: {{r: "
        "{}}}, "
        "placements: [R], ranks: [{}]}}, destination: {}}}\n",
        expert, rows, source.replicas, ranks, destination.text(0));
  }
  return text;
}

// The same generator state gives the same text.
inline std::string random_m2n_job(std::mt19937_64& random) {
  const auto side = [&](std::int64_t most) {
    M2nRandomSide its;
    its.replicas = pick(random, 1, 5);
    its.shards = pick(random, 1, std::max<std::int64_t>(1, most / its.replicas));
    its.replicas_inside = pick(random, 0, 1) == 1;
    return its;
  };
  M2nRandomSide source = side(12);
  M2nRandomSide destination = side(16);
  const std::int64_t gap = pick(random, 0, 3);
  const std::int64_t stages = pick(random, 0, 1) == 0 ? 1 : pick(random, 2, 6);
  const std::int64_t stage_ranks = source.replicas * source.shards;
  const std::int64_t destination_ranks = destination.replicas * destination.shards;
  if (pick(random, 0, 4) == 0)
    source.first = destination_ranks + gap;
  else
    destination.first = stages * stage_ranks + gap;
  const std::int64_t ranks = stages * stage_ranks + gap + destination_ranks;
  const std::int64_t domain = pick(random, 1, 10);
  std::string text = fmt::format(
      "topology: {{nodes: [{{count: {}, gpus: {}, nvlink: 450GB/s, nics_per_gpu: 1, nic: "
      "50GB/s}}], "
      "efficiency: 1, latency: 1us}}\n"
      "options: {{chunk_bytes: {}, colours: {}}}\ntensors:\n",
      (ranks + domain - 1) / domain, domain, pick(random, 3, 400), pick(random, 1, 4));
  const std::int64_t first_stage = source.first;
  const std::int64_t tensors = stages == 1 ? pick(random, 1, 4) : pick(random, 8, 24);
  for (std::int64_t t = 0; t < tensors; ++t) {
    source.first = first_stage + pick(random, 0, stages - 1) * stage_ranks;
    const std::int64_t source_dim = pick(random, 0, 1);
    const std::int64_t destination_dim = pick(random, 0, 1);
    std::vector<std::int64_t> shape = {pick(random, 1, 3),
                                       pick(random, 0, 3) == 0 ? pick(random, 20, 90) : 1};
    shape[static_cast<std::size_t>(source_dim)] *= source.shards;
    shape[static_cast<std::size_t>(destination_dim)] *= destination.shards;
    text += fmt::format(
        "  - {{name: layers.{}.w, shape: [{}, {}], dtype: {}, source: {}, "
        "destination: {}}}\n",
        t, shape[0], shape[1], pick(random, 0, 1) == 0 ? "fp32" : "uint8", source.text(source_dim),
        destination.text(destination_dim));
  }
  if (pick(random, 0, 1) == 0) text += random_experts(random, source, destination);
  return text;
}

}  // namespace transload::testing
