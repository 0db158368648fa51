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

std::string random_reading(std::mt19937_64& random) {
  return pick(random, 0, 1) == 0 ? "factor-first" : "unflatten";
}

// Ids of dimension 0 per rank: every one somewhere, none twice on a rank.
std::string random_experts(std::mt19937_64& random, const std::vector<int>& ranks,
                           std::int64_t experts) {
  std::vector<std::vector<std::int64_t>> held(ranks.size());
  for (std::int64_t id = 0; id < experts; ++id) {
    const auto owner =
        static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(ranks.size()) - 1));
    for (std::size_t i = 0; i < held.size(); ++i)
      if (i == owner || pick(random, 0, 3) == 0) held[i].push_back(id);
  }
  std::vector<std::string> entries;
  for (std::size_t i = 0; i < held.size(); ++i) {
    std::shuffle(held[i].begin(), held[i].end(), random);
    entries.push_back(fmt::format("{}: [{}]", ranks[i], fmt::join(held[i], ", ")));
  }
  return fmt::format("experts: {{{}}}", fmt::join(entries, ", "));
}

// Explicit parts of a dimension for an axis of `parts`.
std::string random_sizes(std::mt19937_64& random, int dim, std::int64_t length, int parts) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), 0);
  for (std::int64_t i = 0; i < length; ++i)
    ++sizes[static_cast<std::size_t>(pick(random, 0, parts - 1))];
  return fmt::format("sizes: {{{}: [{}]}}", dim, fmt::join(sizes, ", "));
}

std::string random_padding(std::mt19937_64& random, const std::vector<std::int64_t>& shape) {
  const std::int64_t dim = pick(random, 0, static_cast<std::int64_t>(shape.size()) - 1);
  return fmt::format("padded: {{{}: {}, fill: {}}}", dim,
                     shape[static_cast<std::size_t>(dim)] + pick(random, 0, 5),
                     pick(random, 0, 1) == 0 ? "zero" : "keep");
}

std::string random_stored_order(std::mt19937_64& random, std::size_t dims) {
  std::vector<std::string> names;
  for (std::size_t d = 0; d < dims; ++d) names.push_back(fmt::format("d{}", d));
  std::shuffle(names.begin(), names.end(), random);
  return fmt::format("dims: [{}]", fmt::join(names, ", "));
}

std::string random_side(std::mt19937_64& random, std::vector<int> ranks,
                        const std::vector<std::int64_t>& shape) {
  const int dims = static_cast<int>(shape.size());
  std::shuffle(ranks.begin(), ranks.end(), random);
  std::vector<std::string> keys;
  if (dims > 0 && pick(random, 0, 7) == 0) {
    keys.push_back(random_experts(random, ranks, shape[0]));
  } else {
    const std::vector<int> axes = random_mesh(random, static_cast<int>(ranks.size()));
    std::vector<std::string> mesh;
    std::vector<std::string> names;
    std::vector<std::string> placements;
    std::vector<int> cuts;
    bool strided = false;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      names.push_back(fmt::format("a{}", axis));
      mesh.push_back(fmt::format("a{}: {}", axis, axes[axis]));
      if (dims == 0 || pick(random, 0, 2) == 0) {
        placements.push_back("R");
        cuts.push_back(-1);
        continue;
      }
      cuts.push_back(static_cast<int>(pick(random, 0, dims - 1)));
      const bool this_strided = pick(random, 0, 4) == 0;
      strided |= this_strided;
      placements.push_back(this_strided
                               ? fmt::format("S({}, split_factor={}, reading={})", cuts.back(),
                                             pick(random, 2, 4), random_reading(random))
                               : fmt::format("S({})", cuts.back()));
    }
    keys.push_back(fmt::format("mesh: {{{}}}, placements: [{}], ranks: [{}], split: {}",
                               fmt::join(mesh, ", "), fmt::join(placements, ", "),
                               fmt::join(ranks, ", "),
                               pick(random, 0, 3) == 0 ? "balanced" : "chunk"));
    if (pick(random, 0, 3) == 0) {
      std::shuffle(names.begin(), names.end(), random);
      keys.push_back(fmt::format("order: [{}]", fmt::join(names, ", ")));
    }
    if (dims > 0 && !strided && pick(random, 0, 4) == 0) {
      const int dim = cuts[0];
      if (dim >= 0 && std::count(cuts.begin(), cuts.end(), dim) == 1)
        keys.push_back(random_sizes(random, dim, shape[static_cast<std::size_t>(dim)], axes[0]));
    } else if (dims > 0 && pick(random, 0, 3) == 0) {
      keys.push_back(random_padding(random, shape));
    }
  }
  if (dims > 1 && pick(random, 0, 3) == 0)
    keys.push_back(random_stored_order(random, static_cast<std::size_t>(dims)));
  return fmt::format("{{{}}}", fmt::join(keys, ", "));
}

// Two tensors whose rows lie alternately in one buffer on one side and one after the other on the
// second: gate and up of an engine.
std::string fused_pair(std::mt19937_64& random, const std::vector<int>& source,
                       const std::vector<int>& destination) {
  const auto side = [&](const std::vector<int>& ranks, std::int64_t rows, std::int64_t columns,
                        int part, bool interleaved) {
    const std::int64_t local = rows / static_cast<std::int64_t>(ranks.size()) * columns;
    return fmt::format(
        "{{mesh: {{x: {}}}, placements: [S(0)], ranks: [{}], memory: {{buffer: fused, offset: {}, "
        "strides: [{}, 1]}}}}",
        ranks.size(), fmt::join(ranks, ", "), 2 * part * (interleaved ? columns : local),
        interleaved ? 2 * columns : columns);
  };
  const std::int64_t columns = pick(random, 1, 4);
  const auto rows =
      static_cast<std::int64_t>(source.size() * destination.size()) * pick(random, 1, 2);
  const bool swapped = pick(random, 0, 1) == 0;
  std::string text;
  for (int part = 0; part < 2; ++part)
    text += fmt::format(
        "  - name: fused{}\n    shape: [{}, {}]\n    dtype: bf16\n    source: {}\n    "
        "destination: {}\n",
        part, rows, columns, side(source, rows, columns, part, swapped),
        side(destination, rows, columns, part, !swapped));
  return text;
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
    std::vector<std::string> names;
    for (int d = 0; d < dims; ++d) names.push_back(fmt::format("d{}", d));
    text += fmt::format(
        "  - name: t{}\n    shape: [{}]\n    dims: [{}]\n    dtype: {}\n    source: {}\n"
        "    destination: {}\n",
        t, fmt::join(shape, ", "), fmt::join(names, ", "),
        kDTypes[static_cast<std::size_t>(pick(random, 0, 4))],
        random_side(random, own ? random_ranks(random, ranks) : source, shape),
        random_side(random, own ? random_ranks(random, ranks) : destination, shape));
    if (pick(random, 0, 4) == 0)
      text += fmt::format("    also: [{{name: tied{}, destination: {}}}]\n", t,
                          random_side(random, destination, shape));
  }
  if (pick(random, 0, 2) == 0) text += fused_pair(random, source, destination);
  text += fmt::format("options: {{chunk_bytes: {}, window: {}, colours: {}}}\n",
                      pick(random, 1, 200), pick(random, 1, 4), pick(random, 1, 4));
  return text;
}

}  // namespace transload::testing
