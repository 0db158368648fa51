#include "models/engines/experts.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/engines/rules.h"

namespace transload {

ExpertHomes linear_experts(std::int64_t experts, std::int64_t members) {
  ExpertHomes homes;
  for (std::int64_t member = 0; member < members; ++member) {
    const std::int64_t count = experts / members + (member < experts % members ? 1 : 0);
    for (std::int64_t slot = 0; slot < count; ++slot)
      homes.push_back({{static_cast<std::uint32_t>(member), static_cast<std::uint32_t>(slot)}});
  }
  return homes;
}

ExpertHomes round_robin_experts(std::int64_t experts, std::int64_t members) {
  ExpertHomes homes;
  for (std::int64_t expert = 0; expert < experts; ++expert)
    homes.push_back({{static_cast<std::uint32_t>(expert % members),
                      static_cast<std::uint32_t>(expert / members)}});
  return homes;
}

ExpertHomes table_experts(const std::vector<std::int64_t>& slots, std::int64_t experts,
                          std::int64_t members, std::string_view side) {
  const auto refuse = [&](const std::string& problem) { fail_at(side, "expert_table", problem); };
  const auto count = static_cast<std::int64_t>(slots.size());
  if (count % members != 0)
    refuse(
        fmt::format("{} physical slots ({} experts and {} redundant ones) do not divide over "
                    "{} expert-parallel ranks",
                    count, experts, count - experts, members));
  const std::int64_t per_member = count / members;
  ExpertHomes homes(static_cast<std::size_t>(experts));
  for (std::int64_t physical = 0; physical < count; ++physical) {
    const std::int64_t expert = slots[static_cast<std::size_t>(physical)];
    const ExpertHome home{static_cast<std::uint32_t>(physical / per_member),
                          static_cast<std::uint32_t>(physical % per_member)};
    if (expert < 0 || expert >= experts)
      refuse(
          fmt::format("physical slot {} (rank {}, its slot {}) holds expert {}; the model has "
                      "{} experts",
                      physical, home.member, home.slot, expert, experts));
    std::vector<ExpertHome>& copies = homes[static_cast<std::size_t>(expert)];
    if (!copies.empty() && copies.back().member == home.member)
      refuse(
          fmt::format("expert {} stands twice on rank {} (slots {} and {}), which this version "
                      "does not plan",
                      expert, home.member, copies.back().slot, home.slot));
    copies.push_back(home);
  }
  for (std::size_t expert = 0; expert < homes.size(); ++expert)
    if (homes[expert].empty()) refuse(fmt::format("no physical slot holds expert {}", expert));
  return homes;
}

}  // namespace transload
