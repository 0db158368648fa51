#include "tests/testing/long_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "tests/testing/random_job.h"

namespace transload::testing {
namespace {

// Up to two axes over the ranks, each replicated or cutting a dimension.
std::string mesh_side(std::mt19937_64& random, const std::vector<int>& ranks) {
  const int count = static_cast<int>(ranks.size());
  std::vector<int> divisors;
  for (int d = 1; d <= count; ++d)
    if (count % d == 0) divisors.push_back(d);
  const int outer =
      divisors[static_cast<std::size_t>(pick(random, 0, static_cast<int>(divisors.size()) - 1))];
  const auto placement = [&] {
    const std::int64_t choice = pick(random, 0, 2);
    return choice == 0 ? std::string("R") : fmt::format("S({})", choice - 1);
  };
  const std::string first = placement();
  const std::string second = placement();
  return fmt::format("{{mesh: {{a: {}, b: {}}}, placements: [{}, {}], ranks: [{}]}}", outer,
                     count / outer, first, second, fmt::join(ranks, ", "));
}

// Rows and columns of a tensor of about as many bytes as drawn.
std::string shape(std::mt19937_64& random, const LongJobLimits& limits) {
  const auto octaves = [](std::int64_t bytes) {
    return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(bytes))) - 1;
  };
  const std::int64_t octave =
      pick(random, octaves(limits.min_bytes), octaves(limits.max_bytes) - 1);
  const std::int64_t bytes = (std::int64_t{1} << octave) / 1024 * pick(random, 1024, 2047);
  const std::int64_t rows = 1024 * pick(random, 1, 64);
  return fmt::format("[{}, {}]", rows, std::max<std::int64_t>(64, bytes / rows));
}

}  // namespace

std::string long_job(std::mt19937_64& random, const LongJobLimits& limits) {
  std::string text = "topology:\n  efficiency: 1\n  nodes:\n";
  int ranks = 0;
  const auto wanted = static_cast<int>(pick(random, 4, limits.max_ranks));
  const std::int64_t gpus = std::int64_t{1} << pick(random, 0, 3);
  const bool mixed = pick(random, 0, 3) == 0;
  while (ranks + gpus <= std::max<std::int64_t>(wanted, 2 * gpus)) {
    const std::string nvlink = gpus > 1 ? ", nvlink: 450GB/s" : "";
    text += fmt::format("    - {{gpus: {}, nic: {}GB/s{}}}\n", gpus,
                        mixed && pick(random, 0, 1) == 0 ? 100 : 50, nvlink);
    ranks += static_cast<int>(gpus);
  }
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  const bool colocated = pick(random, 0, 5) == 0;
  const auto cut = static_cast<std::ptrdiff_t>(pick(random, 1, ranks - 1));
  const std::vector<int> left(all.begin(), colocated ? all.end() : all.begin() + cut);
  const std::vector<int> right(colocated ? all.begin() : all.begin() + cut, all.end());
  text += "tensors:\n";
  for (std::int64_t t = pick(random, 1, 3); t > 0; --t) {
    const std::string size = shape(random, limits);
    const std::string source = mesh_side(random, left);
    text += fmt::format("  - {{name: t{}, shape: {}, dtype: uint8, source: {}, destination: {}}}\n",
                        t, size, source, mesh_side(random, right));
  }
  return text;
}

}  // namespace transload::testing
