#include "simulator/sizing/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "common/error.h"
#include "common/units.h"
#include "common/yaml.h"
#include "planner/schedule/access.h"
#include "simulator/sizing/constants.h"

namespace transload {
namespace {

struct SideBytes {
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
};

SideBytes side_bytes_of(const Plan& plan, std::size_t rank) {
  SideBytes bytes;
  for (std::uint64_t i = plan.rank_buffer_first[rank]; i < plan.rank_buffer_first[rank + 1]; ++i) {
    const bool source = static_cast<Side>(plan.buffer_side[i]) == Side::kSource;
    (source ? bytes.source : bytes.destination) += plan.buffer_bytes[i] * plan.buffer_count[i];
  }
  return bytes;
}

std::uint64_t reserved_of(const Reserve& reserve, std::uint64_t memory) {
  return reserve.bytes + static_cast<std::uint64_t>(reserve.share * static_cast<double>(memory));
}

// By engine: what its default settings keep, with the constant that says so.
class EngineReserves {
 public:
  EngineReserves(const Plan& plan, const ClusterFacts& facts) : engine_of_(plan.ranks()) {
    for (const RankSet& replica : facts.replicas)
      for (const std::int32_t rank : replica.ranks)
        engine_of_.at(static_cast<std::size_t>(rank)) = replica.engine;
  }

  Reserve of(std::size_t rank, MemoryUse& use) {
    const std::string name = engine_of_[rank] + "_memory_share";
    if (engine_of_[rank].empty() || !constants_.has(name)) return {};
    const std::string words = in_words(constants_.of(name));
    if (std::find(use.assumptions.begin(), use.assumptions.end(), words) == use.assumptions.end())
      use.assumptions.push_back(words);
    return {constants_.share(name), 0};
  }

 private:
  SizingConstants constants_;
  std::vector<std::string> engine_of_;
};

}  // namespace

Reserve parse_reserve(const std::string& text, const std::string& what) {
  const bool percent = text.ends_with('%');
  try {
    const double number =
        YamlValue::from_text(percent ? text.substr(0, text.size() - 1) : text, what).number();
    const double share = percent ? number / 100 : number;
    if (share >= 0 && share <= 1) return {share, 0};
  } catch (const InputError&) {
    if (const auto bytes = parse_bytes(text); bytes && !percent)
      return {0, static_cast<std::uint64_t>(*bytes)};
  }
  throw InputError(fmt::format(
      "{}: expected a share of the memory such as 0.85 or 85%, or a size such as 40GB, found {}",
      what, text));
}

MemoryUse memory_use(const Plan& plan, const ClusterFacts& facts, const MemoryOptions& options) {
  MemoryUse use;
  use.fits = true;
  EngineReserves engines(plan, facts);
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank) {
    const auto r = static_cast<std::int32_t>(rank);
    if (!takes_part(plan, r)) continue;
    const SideBytes held = side_bytes_of(plan, rank);
    RankMemory memory{r, rank_peak_bytes(plan, r), 0, 0, plan.rank_memory_bytes[rank]};
    const std::uint64_t staging = memory.peak_bytes - held.source - held.destination;
    const std::uint64_t source_bytes = options.sources_on_host ? 0 : held.source;
    memory.peak_bytes -= held.source - source_bytes;
    memory.needed_bytes = staging;
    const bool both = held.source > 0 && held.destination > 0;
    Reserve engine;
    if (held.destination > 0)
      engine = options.destination ? *options.destination
               : both              ? Reserve{}
                                   : engines.of(rank, use);
    const std::uint64_t engine_bytes = reserved_of(engine, memory.memory_bytes);
    memory.needed_bytes += std::max(engine_bytes, held.destination) + source_bytes;
    memory.reserved_bytes = engine_bytes;
    if (held.source > 0 && options.source) {
      const std::uint64_t trainer = reserved_of(*options.source, memory.memory_bytes);
      memory.reserved_bytes += trainer;
      memory.needed_bytes += trainer;
    }
    if (memory.memory_bytes == 0)
      use.fits.reset();
    else if (use.fits && memory.needed_bytes > memory.memory_bytes)
      use.fits = false;
    use.ranks.push_back(memory);
  }
  // Too much on one rank is an answer, whatever is not known of others.
  if (std::any_of(use.ranks.begin(), use.ranks.end(), [](const RankMemory& rank) {
        return rank.memory_bytes > 0 && rank.needed_bytes > rank.memory_bytes;
      }))
    use.fits = false;
  return use;
}

}  // namespace transload
