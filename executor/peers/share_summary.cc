#include "executor/peers/share_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "planner/schedule/access.h"

namespace transload {
namespace {

constexpr std::size_t kMostSentences = 20;

void read_doubles(std::ifstream& file, std::vector<double>& values) {
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(double)));
}

}  // namespace

nlohmann::json summary_of(const ParticipantOutcome& outcome) {
  const RunResult& result = outcome.result;
  bool all_new = result.mismatched_bytes == 0;
  for (const RankOutcome& rank : outcome.ranks) all_new &= rank.state == TensorState::kNew;
  nlohmann::json json = {{"executed_on", result.executed_on},
                         {"ranks", result.ranks},
                         {"refit_s", result.refit_s},
                         {"refit_min_s", result.refit_min_s},
                         {"refit_max_s", result.refit_max_s},
                         {"verified_bytes", result.verified_bytes},
                         {"mismatched_bytes", result.mismatched_bytes},
                         {"mismatches", result.mismatches},
                         {"new", all_new},
                         {"failure", nullptr},
                         {"verdict", nullptr}};
  if (outcome.failure) json["failure"] = *outcome.failure;
  if (outcome.verdict)
    json["verdict"] = {{"epoch", outcome.verdict->epoch},
                       {"dead", outcome.verdict->dead},
                       {"reason", outcome.verdict->reason}};
  return json;
}

RunOfAll combine(const std::vector<nlohmann::json>& summaries) {
  RunOfAll all;
  bool all_new = true;
  for (const nlohmann::json& one : summaries) {
    RunResult& result = all.result;
    result.executed_on = one.at("executed_on").get<std::string>();
    result.ranks += one.at("ranks").get<std::size_t>();
    result.refit_s = std::max(result.refit_s, one.at("refit_s").get<double>());
    result.refit_min_s = std::max(result.refit_min_s, one.at("refit_min_s").get<double>());
    result.refit_max_s = std::max(result.refit_max_s, one.at("refit_max_s").get<double>());
    result.verified_bytes += one.at("verified_bytes").get<std::uint64_t>();
    result.mismatched_bytes += one.at("mismatched_bytes").get<std::uint64_t>();
    for (const auto& sentence : one.at("mismatches"))
      if (result.mismatches.size() < kMostSentences)
        result.mismatches.push_back(sentence.get<std::string>());
    all_new &= one.at("new").get<bool>();
    if (!all.failure && !one.at("failure").is_null())
      all.failure = one.at("failure").get<std::string>();
    if (const auto& verdict = one.at("verdict"); !all.verdict && !verdict.is_null())
      all.verdict = Verdict{verdict.at("epoch").get<std::uint64_t>(),
                            verdict.at("dead").get<std::vector<std::int32_t>>(),
                            verdict.at("reason").get<std::string>()};
  }
  all.result.state = all_new && !all.failure ? "new" : "torn";
  return all;
}

void write_times(const OpTimes& times, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  for (const std::vector<double>* column :
       {&times.posted_source_s, &times.posted_destination_s, &times.start_s, &times.finish_s})
    file.write(reinterpret_cast<const char*>(column->data()),
               static_cast<std::streamsize>(column->size() * sizeof(double)));
  if (!file.flush()) throw InputError(fmt::format("cannot write {}", path));
}

void merge_times(const Plan& plan, const Hosting& hosting, const std::string& path, OpTimes& all) {
  OpTimes one(plan.operations());
  std::ifstream file(path, std::ios::binary);
  for (std::vector<double>* column :
       {&one.posted_source_s, &one.posted_destination_s, &one.start_s, &one.finish_s})
    read_doubles(file, *column);
  if (!file) throw InputError(fmt::format("cannot read the times in {}", path));
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (hosting.hosts(plan.op_source[op])) {
      all.posted_source_s[op] = one.posted_source_s[op];
      all.start_s[op] = one.start_s[op];
    }
    if (hosting.hosts(plan.op_destination[op])) {
      all.posted_destination_s[op] = one.posted_destination_s[op];
      all.finish_s[op] = one.finish_s[op];
    }
  }
}

}  // namespace transload
