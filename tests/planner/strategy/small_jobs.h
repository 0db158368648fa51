// Small tensor jobs for the tests of single strategies, and what their plans send.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "planner/schedule/access.h"
#include "planner/schedule/check/check_plan.h"
#include "planner/strategy/strategy.h"

namespace transload::testing {

// `nodes` nodes of `gpus` GPUs with NVLink (none where a node has one GPU), one NIC per GPU; no
// latency.
inline Job small_job(const std::string& tensors, int nodes, int gpus = 1) {
  const std::string nvlink = gpus > 1 ? ", nvlink: 450GB/s" : "";
  return job_from_text("topology: {efficiency: 1, latency: 0, nodes: [{count: " +
                           std::to_string(nodes) + ", gpus: " + std::to_string(gpus) +
                           ", nic: 50GB/s" + nvlink + "}]}\ntensors:\n" + tensors,
                       "job.yaml", "");
}

// "name" or "name:mode".
inline StrategyChoice choice_of(const std::string& name) {
  return parse_strategy(YamlValue::from_text(name, "strategy"));
}

inline Plan plan_of(const Job& job, const StrategyChoice& choice,
                    Discipline discipline = Discipline::kWindows) {
  const Plan plan = make_plan(job, prepare(job), choice, discipline);
  const CheckReport report = check_plan(plan);
  EXPECT_TRUE(report.ok) << (report.ok ? "" : report.violations[0].text);
  return plan;
}

// Bytes by (source rank, destination rank) of the transfers of one role.
using PairBytes = std::map<std::pair<int, int>, std::uint64_t>;
inline PairBytes pairs_of(const Plan& plan, OpRole role) {
  PairBytes bytes;
  for (OpId op = 0; op < plan.operations(); ++op)
    if (op_kind(plan, op) == OpKind::kTransfer && op_role(plan, op) == role)
      bytes[{plan.op_source[op], plan.op_destination[op]}] += plan.op_bytes[op];
  return bytes;
}

// Bytes that each rank sends.
using RankBytes = std::map<int, std::uint64_t>;
inline RankBytes sent(const Plan& plan) {
  RankBytes bytes;
  for (OpId op = 0; op < plan.operations(); ++op)
    if (op_kind(plan, op) == OpKind::kTransfer) bytes[plan.op_source[op]] += plan.op_bytes[op];
  return bytes;
}

inline std::map<std::string, Unsupported> limits_of(const Job& job, const std::string& strategy) {
  std::map<std::string, Unsupported> limits;
  for (const Unsupported& entry : refusals(job, prepare(job), choice_of(strategy)))
    EXPECT_TRUE(limits.emplace(entry.limit, entry).second) << "twice: " << entry.limit;
  return limits;
}

}  // namespace transload::testing
