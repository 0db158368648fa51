#include "planner/schedule/plan.h"

#include <array>
#include <nlohmann/json.hpp>

#include "common/check.h"
#include "common/error.h"

namespace transload {
namespace {

template <class Enum, std::size_t N>
std::string_view lookup(const std::array<std::string_view, N>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  TRANSLOAD_CHECK(index < N, "enumerators have names");
  return names[index];
}

template <std::size_t N>
std::size_t find_name(const std::array<std::string_view, N>& names, const std::string& name) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == name) return i;
  throw InputError("plan header: unknown word " + name);
}

constexpr std::array<std::string_view, 5> kKindNames = {"copy", "transfer", "fence", "host",
                                                        "convert"};
constexpr std::array<std::string_view, 12> kRoleNames = {
    "pack",  "unpack",     "copy",   "inject", "forward", "fan-out",
    "relay", "collective", "export", "load",   "fence",   "convert"};
constexpr std::array<std::string_view, 7> kPortNames = {
    "nic-out", "nic-in", "nvlink-out", "nvlink-in", "pack", "unpack", "host"};
constexpr std::array<std::string_view, 10> kLinkNames = {
    "nic-out", "nic-in", "nvlink-out", "nvlink-in", "hbm",
    "host",    "uplink", "downlink",   "wan",       "pcie"};
constexpr std::array<std::string_view, 3> kDisciplineNames = {"windows", "groups", "unbounded"};
constexpr std::array<std::string_view, kLanes> kLaneNames = {
    "pack", "net-out", "net-in", "nvlink-out", "nvlink-in", "unpack", "host"};

}  // namespace

std::string_view name_of(OpKind kind) { return lookup(kKindNames, kind); }
std::string_view name_of(OpRole role) { return lookup(kRoleNames, role); }
std::string_view name_of(PortKind kind) { return lookup(kPortNames, kind); }
std::string_view name_of(LinkKind kind) { return lookup(kLinkNames, kind); }
std::string_view name_of(Discipline discipline) { return lookup(kDisciplineNames, discipline); }
std::string_view name_of(Lane lane) { return lookup(kLaneNames, lane); }

nlohmann::json to_json(const PlanHeader& header) {
  return {{"strategy", header.strategy},
          {"strategy_notes", header.strategy_notes},
          {"job_name", header.job_name},
          {"job_text", header.job_text},
          {"topology_name", header.topology_name},
          {"planned_for", header.planned_for},
          {"discipline", name_of(header.discipline)},
          {"window", header.window},
          {"issue_limits",
           {{"colours_per_group", header.colours_per_group},
            {"operations_per_group", header.operations_per_group},
            {"one_sided", header.one_sided}}},
          {"chunk_bytes", header.chunk_bytes},
          {"piece_bytes", header.piece_bytes},
          {"demand_classes", header.demand_classes},
          {"scale", header.scale},
          {"bound_s", header.bound_s},
          {"bound_line_rate_s", header.bound_line_rate_s},
          {"bound_name", header.bound_name},
          {"assumptions", header.assumptions}};
}

PlanHeader plan_header_from_json(const nlohmann::json& json) {
  try {
    PlanHeader header;
    json.at("strategy").get_to(header.strategy);
    json.at("strategy_notes").get_to(header.strategy_notes);
    json.at("job_name").get_to(header.job_name);
    json.at("job_text").get_to(header.job_text);
    json.at("topology_name").get_to(header.topology_name);
    json.at("planned_for").get_to(header.planned_for);
    header.discipline = static_cast<Discipline>(find_name(kDisciplineNames, json.at("discipline")));
    json.at("window").get_to(header.window);
    const nlohmann::json& limits = json.at("issue_limits");
    limits.at("colours_per_group").get_to(header.colours_per_group);
    limits.at("operations_per_group").get_to(header.operations_per_group);
    limits.at("one_sided").get_to(header.one_sided);
    json.at("chunk_bytes").get_to(header.chunk_bytes);
    json.at("piece_bytes").get_to(header.piece_bytes);
    json.at("demand_classes").get_to(header.demand_classes);
    json.at("scale").get_to(header.scale);
    json.at("bound_s").get_to(header.bound_s);
    json.at("bound_line_rate_s").get_to(header.bound_line_rate_s);
    json.at("bound_name").get_to(header.bound_name);
    json.at("assumptions").get_to(header.assumptions);
    return header;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(std::string("plan header: ") + error.what());
  }
}

}  // namespace transload
