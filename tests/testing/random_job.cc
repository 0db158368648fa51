#include "tests/testing/random_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <vector>

namespace transload::testing {
namespace {

// A random factorisation of `count` into up to three mesh axes.
std::vector<int> random_mesh(std::mt19937_64& random, int count) {
  std::vector<int> axes;
  while (axes.size() < 2 && count > 1 && pick(random, 0, 2) > 0) {
    std::vector<int> divisors;
    for (int divisor = 1; divisor <= count; ++divisor)
      if (count % divisor == 0) divisors.push_back(divisor);
    const int chosen =
        divisors[static_cast<std::size_t>(pick(random, 0, static_cast<int>(divisors.size()) - 1))];
    axes.push_back(chosen);
    count /= chosen;
  }
  axes.push_back(count);
  return axes;
}

std::string random_side(std::mt19937_64& random, std::vector<int> ranks, int dims) {
  std::shuffle(ranks.begin(), ranks.end(), random);
  const std::vector<int> axes = random_mesh(random, static_cast<int>(ranks.size()));
  std::vector<std::string> mesh;
  std::vector<std::string> placements;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    mesh.push_back(fmt::format("a{}: {}", axis, axes[axis]));
    placements.push_back(dims == 0 || pick(random, 0, 2) == 0
                             ? "R"
                             : fmt::format("S({})", pick(random, 0, dims - 1)));
  }
  return fmt::format("{{mesh: {{{}}}, placements: [{}], ranks: [{}], split: {}}}",
                     fmt::join(mesh, ", "), fmt::join(placements, ", "), fmt::join(ranks, ", "),
                     pick(random, 0, 3) == 0 ? "balanced" : "chunk");
}

std::vector<int> random_ranks(std::mt19937_64& random, int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), random);
  all.resize(static_cast<std::size_t>(pick(random, 1, ranks)));
  return all;
}

}  // namespace

std::int64_t pick(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  // Not std::uniform_int_distribution: its results differ between standard libraries.
  const auto span = static_cast<std::uint64_t>(high - low) + 1;
  return low + static_cast<std::int64_t>(random() % span);
}

std::string random_job(std::mt19937_64& random, const RandomJobLimits& limits) {
  std::string text = "topology:\n  efficiency: 1\n  latency: 0\n  nodes:\n";
  int ranks = 0;
  const auto wanted = static_cast<int>(pick(random, 2, limits.max_ranks));
  while (ranks < wanted) {
    const auto gpus = static_cast<int>(pick(random, 1, std::min(4, wanted - ranks)));
    const bool nvlink = gpus > 1 && pick(random, 0, 4) > 0;
    text += fmt::format("    - {{gpus: {}, nic: {}GB/s, nics_per_gpu: {}{}}}\n", gpus,
                        pick(random, 0, 3) == 0 ? 100 : 50, pick(random, 0, 4) == 0 ? 2 : 1,
                        nvlink ? ", nvlink: 450GB/s" : "");
    ranks += gpus;
  }
  constexpr std::array<std::string_view, 5> kDTypes = {"fp32", "bf16", "uint8", "fp64", "fp8-e4m3"};
  text += "tensors:\n";
  const std::vector<int> source = random_ranks(random, ranks);
  const std::vector<int> destination = random_ranks(random, ranks);
  const std::int64_t tensors = pick(random, 1, limits.max_tensors);
  for (std::int64_t t = 0; t < tensors; ++t) {
    const auto dims = static_cast<int>(pick(random, t == 0 ? 1 : 0, limits.max_dims));
    std::vector<std::int64_t> shape;
    for (int d = 0; d < dims; ++d) shape.push_back(pick(random, 1, limits.max_extent));
    // Later tensors sometimes repeat the layout of all tensors, sometimes use ranks of their own.
    const bool own = t > 0 && pick(random, 0, 2) == 0;
    text += fmt::format(
        "  - name: t{}\n    shape: [{}]\n    dtype: {}\n    source: {}\n    destination: {}\n", t,
        fmt::join(shape, ", "), kDTypes[static_cast<std::size_t>(pick(random, 0, 4))],
        random_side(random, own ? random_ranks(random, ranks) : source, dims),
        random_side(random, own ? random_ranks(random, ranks) : destination, dims));
  }
  text += fmt::format("options: {{chunk_bytes: {}, window: {}, colours: {}}}\n",
                      pick(random, 1, 200), pick(random, 1, 4), pick(random, 1, 4));
  return text;
}

}  // namespace transload::testing
