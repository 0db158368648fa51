// Transfers over stated ways between the GPUs of a topology, through the plan and the simulator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "planner/strategy/fabric.h"
#include "simulator/simulate.h"
#include "topologies/loader.h"
#include "topologies/paths.h"

namespace transload {

// 100 GB: next to seconds, latencies are nothing.
inline constexpr std::uint64_t kBytes = 100'000'000'000;

inline Topology load(const std::string& request) {
  YamlMap map = YamlValue::from_text("topology: " + request, "job.yaml").map();
  return load_topology(map.required("topology"), "");
}

inline std::vector<Rank> all_gpus(const Topology& topology) {
  std::vector<Rank> gpus(topology.gpus.size());
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

// A plan of transfers over stated ways between the GPUs of a topology.
class Traffic {
 public:
  explicit Traffic(const Topology& topology) : topology_(topology) {
    ReshardProblem problem;
    problem.source_ranks = problem.destination_ranks = all_gpus(topology);
    fabric_ = add_fabric(builder_, topology, problem);
    set_windows(builder_, fabric_, 1'000'000);
    const std::int64_t shape[] = {std::int64_t{1} << 45};
    const std::int64_t bounds[] = {0, shape[0]};
    const SliceSpec slice = {builder_.add_tensor("w", shape, DType::kU8), 1, 1,
                             builder_.add_box(bounds)};
    bundle_ = builder_.add_bundle(std::span(&slice, 1));
  }

  // All hops of the way; a hop streams what the one before has landed. Their ids, first to last.
  std::vector<OpId> send(std::int32_t from, std::int32_t to, const GpuPath& path,
                         std::uint64_t bytes) {
    std::vector<OpId> hops;
    if (path.kind == GpuPath::Kind::kNvlink) {
      hops.push_back(nvlink(from, to, bytes));
    } else {
      if (path.sender != from) hops.push_back(nvlink(from, path.sender, bytes));
      hops.push_back(network(path.sender, path.nic_out, path.receiver, path.nic_in, bytes));
      if (path.receiver != to) hops.push_back(nvlink(path.receiver, to, bytes));
    }
    for (std::size_t i = 1; i < hops.size(); ++i) builder_.add_stream(hops[i], hops[i - 1]);
    return hops;
  }

  OpId network(std::int32_t from, std::int32_t nic_out, std::int32_t to, std::int32_t nic_in,
               std::uint64_t bytes) {
    const auto port = [&](const std::vector<std::int32_t>& ports, std::int32_t gpu,
                          std::int32_t nic) {
      const auto& nics = topology_.gpus[static_cast<std::size_t>(gpu)].nics;
      const auto place = std::find(nics.begin(), nics.end(), nic) - nics.begin();
      return ports.at(static_cast<std::size_t>(place));
    };
    return add(OpRole::kInject, from, port(ports_of(from).nic_out, from, nic_out), to,
               port(ports_of(to).nic_in, to, nic_in), bytes);
  }

  void after(OpId op, OpId predecessor) { builder_.add_after(op, predecessor); }

  SimulationResult simulated() {
    SimulateOptions exact;
    exact.exact = true;
    return simulate(builder_.seal(PlanHeader{}), exact);
  }

 private:
  const RankPorts& ports_of(std::int32_t gpu) const {
    return fabric_.ranks[static_cast<std::size_t>(gpu)];
  }
  OpId nvlink(std::int32_t from, std::int32_t to, std::uint64_t bytes) {
    return add(OpRole::kFanOut, from, ports_of(from).nvlink_out, to, ports_of(to).nvlink_in, bytes);
  }
  OpId add(OpRole role, std::int32_t from, std::int32_t out, std::int32_t to, std::int32_t in,
           std::uint64_t bytes) {
    OpSpec op;
    op.key = ++keys_;
    op.role = role;
    op.source = from;
    op.destination = to;
    op.out_port = out;
    op.in_port = in;
    op.bundle = bundle_;
    op.bytes = bytes;
    return builder_.add_op(op);
  }

  const Topology& topology_;
  PlanBuilder builder_;
  Fabric fabric_;
  std::int32_t bundle_ = kNone;
  std::uint64_t keys_ = 0;
};

}  // namespace transload
