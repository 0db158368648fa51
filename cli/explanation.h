// Why a plan takes as long as it does: what binds, how far the plan is from it, which ports work
// and which do not, where the bytes go, who waits.
//
// All of it is read off the plan's tables and the bounds; with a simulation, what waiting costs is
// known, too.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "planner/bound/bound.h"
#include "planner/schedule/plan_file.h"
#include "simulator/simulate.h"

namespace transload {

// The most loaded link of a kind, and the usual one.
struct LoadedPort {
  std::string kind;  // name_of(LinkKind)
  std::string name;
  std::uint64_t bytes = 0;   // copies count twice: read and write
  double busy_s = 0;         // bytes over the achieved rate
  double median_busy_s = 0;  // of the links of this kind that carry anything
  std::size_t links = 0;     // those
};

// A refit's time over the bound, part by part; the parts add up.
struct Gap {
  double balance_s = 0;  // the plan's most loaded port has more than the bound makes it carry
  double fill_s = 0;     // filling and emptying the pipeline, launches, latency
  double waiting_s = 0;  // order, groups, windows, staging: only a simulation knows; else 0
};

struct IdleNics {
  std::vector<std::string> names;
  std::size_t of = 0;  // NICs of the job's ranks
};

struct Explanation {
  double refit_s = 0;  // simulated, or by the closed-form estimate
  bool simulated = false;
  double ideal_s = 0;
  Gap gap;
  std::vector<LoadedPort> ports;  // in the order of LinkKind
  IdleNics idle;                  // NICs with less than 5 % of the most loaded one's bytes
  std::vector<std::string> sentences;
};

// `bounds` are the job's; without them (its files are gone) what the plan's header says must do.
Explanation explain(const Plan& plan, const std::optional<BoundReport>& bounds,
                    const std::optional<SimulationResult>& simulation);

nlohmann::json explanation_json(const Plan& plan, const Explanation& explanation);

}  // namespace transload
