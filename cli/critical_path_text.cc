#include "cli/critical_path_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/table.h"
#include "common/units.h"
#include "planner/schedule/access.h"

namespace transload {
namespace {

struct Stretch {
  OpId first = 0;
  OpId last = 0;
  std::size_t operations = 0;
  std::uint64_t bytes = 0;
};

bool alike(const Plan& plan, OpId a, OpId b) {
  return plan.op_role[a] == plan.op_role[b] && plan.op_source[a] == plan.op_source[b] &&
         plan.op_destination[a] == plan.op_destination[b];
}

std::vector<Stretch> stretches(const Plan& plan, const std::vector<OpId>& path) {
  std::vector<Stretch> list;
  for (const OpId op : path) {
    if (list.empty() || !alike(plan, list.back().last, op)) list.push_back({op, op, 0, 0});
    list.back().last = op;
    ++list.back().operations;
    list.back().bytes += plan.op_bytes[op];
  }
  return list;
}

std::string where(const Plan& plan, OpId op) {
  if (plan.op_source[op] == plan.op_destination[op])
    return fmt::format("rank {}", plan.op_source[op]);
  return fmt::format("{} -> {}", plan.op_source[op], plan.op_destination[op]);
}

}  // namespace

nlohmann::json critical_path_json(const Plan& plan, const SimulationResult& result) {
  nlohmann::json list = nlohmann::json::array();
  for (const OpId op : result.critical_path)
    list.push_back({{"id", op},
                    {"role", name_of(op_role(plan, op))},
                    {"source_rank", plan.op_source[op]},
                    {"destination_rank", plan.op_destination[op]},
                    {"bytes", plan.op_bytes[op]},
                    {"start_s", result.times.start_s[op]},
                    {"finish_s", result.times.finish_s[op]}});
  return list;
}

std::string critical_path_text(const Plan& plan, const SimulationResult& result) {
  constexpr std::size_t kShown = 12;
  const std::vector<Stretch> list = stretches(plan, result.critical_path);
  const std::size_t hidden = list.size() > kShown ? list.size() - kShown : 0;
  Table table({"critical path", "on", "operations", "bytes", "until"},
              {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  for (std::size_t i = 0; i < list.size(); ++i) {
    // Beginning and end say most.
    if (hidden > 0 && i == kShown / 2) {
      table.add({fmt::format("... {} more", hidden), "", "", "", ""});
      i += hidden;
    }
    const Stretch& stretch = list[i];
    table.add({std::string(name_of(op_role(plan, stretch.first))), where(plan, stretch.first),
               fmt::format("{}", stretch.operations),
               format_bytes(static_cast<double>(stretch.bytes)),
               format_seconds(result.times.finish_s[stretch.last])});
  }
  return table.text();
}

}  // namespace transload
