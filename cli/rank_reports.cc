#include "cli/rank_reports.h"

#include <nlohmann/json.hpp>

#include "cli/describe_plan.h"
#include "cli/files.h"
#include "planner/schedule/access.h"

namespace transload {

void write_rank_reports(const Plan& plan, const std::string& state, std::optional<double> refit_s,
                        const std::string& folder) {
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank) {
    if (!takes_part(plan, static_cast<std::int32_t>(rank))) continue;
    const std::uint64_t bytes = side_bytes(plan, rank, Side::kDestination);
    nlohmann::json json = {{"rank", rank},
                           {"state", nullptr},
                           {"bytes", bytes},
                           {"refit_s", nullptr},
                           {"digest", to_string(plan.digest())}};
    if (bytes > 0) json["state"] = state;
    if (refit_s) json["refit_s"] = *refit_s;
    write_text_file(json.dump(2) + "\n", folder + "/rank-" + std::to_string(rank) + ".json");
  }
}

}  // namespace transload
