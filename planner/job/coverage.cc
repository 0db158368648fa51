#include "planner/job/coverage.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/error.h"

namespace transload {
namespace {

bool holds(const JobSide& side, std::uint32_t tensor) {
  return side.sharded.sharding_of[tensor] != ShardedModel::kNotHeld;
}

void require_known(std::span<const LogicalTensor> tensors, const std::vector<bool>& included,
                   const JobSide& side) {
  const Conversion* first = nullptr;
  std::size_t count = 0;
  for (const Conversion& unknown : side.sharded.unknown) {
    if (!included[unknown.tensor]) continue;
    if (count++ == 0) first = &unknown;
  }
  if (first == nullptr) return;
  const std::string others =
      count == 1 ? "it" : fmt::format("it and the {} others that are not known", count - 1);
  throw InputError({"", 0, fmt::format("tensor {}, {}", tensors[first->tensor].name, side.field)},
                   fmt::format("{}; `exclude` leaves {} out of the job", first->what, others));
}

// "a, b, c and 9 more".
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

bool stored_alike(const ShardedModel& other, const Conversion& conversion) {
  return std::any_of(other.conversions.begin(), other.conversions.end(),
                     [&](const Conversion& twin) {
                       return twin.tensor == conversion.tensor && twin.what == conversion.what;
                     });
}

// The tensor's destination becomes a buffer in load layout.
void make_shadow(ShardedModel& pool, std::uint32_t tensor, const std::string& name) {
  if (pool.buffer_of.empty()) pool.buffer_of.resize(pool.sharding_of.size());
  BufferRef& ref = pool.buffer_of[tensor];
  if (ref.buffer == BufferRef::kOwnBuffer) {
    ref.buffer = static_cast<std::uint32_t>(pool.buffers.size());
    pool.buffers.push_back({name, DestinationClass::kShadow});
  }
  pool.buffers[ref.buffer].destination_class = DestinationClass::kShadow;
}

void collect_conversions(std::span<const LogicalTensor> tensors, const std::vector<bool>& moved,
                         const JobSide& source, std::vector<JobSide>& pools, Coverage& coverage) {
  const auto list = [&](std::uint32_t tensor, const std::string& field, const std::string& what) {
    coverage.needs_conversion.push_back({tensors[tensor].name, fmt::format("{}: {}", field, what)});
  };
  for (const Conversion& conversion : source.sharded.conversions) {
    if (!moved[conversion.tensor]) continue;
    for (JobSide& pool : pools) {
      if (!holds(pool, conversion.tensor) || stored_alike(pool.sharded, conversion)) continue;
      list(conversion.tensor, source.field, conversion.what);
      make_shadow(pool.sharded, conversion.tensor, tensors[conversion.tensor].name);
    }
  }
  for (const JobSide& pool : pools)
    for (const Conversion& conversion : pool.sharded.conversions)
      if (moved[conversion.tensor] && !stored_alike(source.sharded, conversion))
        list(conversion.tensor, pool.field, conversion.what);
}

// Buffers whose value needs no conversion after all are written in place.
void make_direct(const JobSide& source, ShardedModel& pool) {
  for (const Conversion& conversion : pool.conversions)
    if (stored_alike(source.sharded, conversion))
      pool.buffers[pool.buffer_of[conversion.tensor].buffer].destination_class =
          DestinationClass::kDirect;
}

}  // namespace

Coverage cover(std::span<const LogicalTensor> tensors, const std::vector<bool>& included,
               const JobSide& source, std::vector<JobSide>& pools, NameGlobs& allow_unplaced) {
  require_known(tensors, included, source);
  for (const JobSide& pool : pools) require_known(tensors, included, pool);
  Coverage coverage;
  std::vector<bool> moved(tensors.size(), false);
  std::vector<std::string> refused;
  for (std::uint32_t tensor = 0; tensor < tensors.size(); ++tensor) {
    if (!included[tensor]) continue;
    const auto pool = std::find_if(pools.begin(), pools.end(),
                                   [&](const JobSide& side) { return holds(side, tensor); });
    const std::string& name = tensors[tensor].name;
    const bool allowed = !allow_unplaced.empty() && allow_unplaced.match(name);
    if (!holds(source, tensor)) {
      if (pool == pools.end()) continue;
      throw InputError({"", 0, fmt::format("tensor {}, {}", name, pool->field)},
                       "this side holds it, but no rank of the source does");
    }
    if (pool == pools.end()) {
      coverage.unplaced.push_back(name);
      if (!allowed) refused.push_back(name);
      continue;
    }
    moved[tensor] = true;
    coverage.moved.push_back(tensor);
  }
  if (!refused.empty())
    throw InputError(
        fmt::format("{} tensors of the source have no place on the destination: {}; "
                    "`allow_unplaced` or `exclude` must name them",
                    refused.size(), some_of(refused)));
  for (JobSide& pool : pools) make_direct(source, pool.sharded);
  collect_conversions(tensors, moved, source, pools, coverage);
  return coverage;
}

}  // namespace transload
