#include "cli/rank_reports.h"

#include <nlohmann/json.hpp>

#include "cli/describe_plan.h"
#include "cli/files.h"
#include "planner/schedule/access.h"

namespace transload {
namespace {

nlohmann::json tensors_by_state(const Plan& plan, const RankOutcome& rank) {
  nlohmann::json json = {{"old", nlohmann::json::array()},
                         {"new", nlohmann::json::array()},
                         {"torn", nlohmann::json::array()}};
  for (const TensorStateRow& row : rank.tensors)
    json[std::string(name_of(row.state))].push_back(tensor_name(plan, row.tensor));
  return json;
}

void write_report(const nlohmann::json& json, std::int32_t rank, const std::string& folder) {
  write_text_file(json.dump(2) + "\n", folder + "/rank-" + std::to_string(rank) + ".json");
}

}  // namespace

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
    write_report(json, static_cast<std::int32_t>(rank), folder);
  }
}

void write_rank_reports(const Plan& plan, const ParticipantOutcome& outcome,
                        const std::string& folder) {
  for (const RankOutcome& rank : outcome.ranks) {
    const std::uint64_t bytes =
        side_bytes(plan, static_cast<std::size_t>(rank.rank), Side::kDestination);
    nlohmann::json json = {{"rank", rank.rank},
                           {"state", nullptr},
                           {"bytes", bytes},
                           {"refit_s", nullptr},
                           {"digest", to_string(plan.digest())}};
    if (bytes > 0) json["state"] = name_of(rank.state);
    if (!outcome.failure) json["refit_s"] = outcome.result.refit_s;
    if (outcome.failure) {
      json["failure"] = *outcome.failure;
      json["tensors"] = tensors_by_state(plan, rank);
      json["contradictions"] = outcome.contradictions;
    }
    if (outcome.verdict) {
      json["epoch"] = outcome.verdict->epoch;
      json["dead"] = outcome.verdict->dead;
    }
    write_report(json, rank.rank, folder);
  }
}

}  // namespace transload
