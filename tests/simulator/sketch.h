// Small plans for the simulator's tests: ports with round rates, operations without real weights.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "planner/schedule/builder.h"

namespace transload {

inline constexpr std::int64_t kGigabyte = 1'000'000'000;
inline constexpr std::int64_t kMillisecondPs = 1'000'000'000;

// Costs of one port, in front of a link of its own.
struct PortSketch {
  std::int64_t rate = 50 * kGigabyte;
  std::uint32_t window = 1'000'000;  // as good as none
  std::int64_t latency_ps = 0;
  std::int64_t occupancy_ps = 0;
  std::int64_t efficiency_ppm = 1'000'000;
};

class Sketch {
 public:
  using CopyRates = std::vector<std::pair<std::uint64_t, std::int64_t>>;

  explicit Sketch(int ranks, const CopyRates& copy_rates = {}) {
    builder_.add_gpu_model(copy_rates);
    for (int rank = 0; rank < ranks; ++rank) builder_.add_rank(rank, rank, 0, 0);
    const std::array<std::int64_t, 1> shape = {kBundleBytes};
    const std::array<std::int64_t, 2> bounds = {0, kBundleBytes};
    const SliceSpec slice = {builder_.add_tensor("w", shape, DType::kU8), 1, 1,
                             builder_.add_box(bounds)};
    bundle_ = builder_.add_bundle(std::span(&slice, 1));
  }

  std::int32_t port(PortKind kind, LinkKind link_kind, int rank, const PortSketch& port) {
    const std::uint32_t link =
        builder_.add_link(link_kind, port.rate, port.efficiency_ppm,
                          std::string(name_of(link_kind)) + "." + std::to_string(rank));
    return port_on(kind, link, rank, port);
  }
  // A further port in front of the link of an earlier one.
  std::int32_t port_on(PortKind kind, std::uint32_t link, int rank, const PortSketch& port) {
    link_of_port_.push_back(link);
    return builder_.add_port(kind, rank, link, port.window, port.latency_ps, port.occupancy_ps,
                             name_of(kind));
  }
  std::uint32_t link_of(std::int32_t port) const {
    return link_of_port_[static_cast<std::size_t>(port)];
  }
  std::int32_t nic_out(int rank, const PortSketch& sketch = {}) {
    return port(PortKind::kNicOut, LinkKind::kNicOut, rank, sketch);
  }
  std::int32_t nic_in(int rank, const PortSketch& sketch = {}) {
    return port(PortKind::kNicIn, LinkKind::kNicIn, rank, sketch);
  }

  // Keys ascend in the order of the calls, so the returned handle is the operation's id.
  OpId transfer(int source, std::int32_t out, int destination, std::int32_t in, std::uint64_t bytes,
                std::int32_t group = kNone) {
    OpSpec op = next();
    op.source = source;
    op.destination = destination;
    op.out_port = out;
    op.in_port = in;
    op.bundle = bundle_;
    op.bytes = bytes;
    op.group = group;
    return builder_.add_op(op);
  }
  OpId copy(OpRole role, int rank, std::int32_t port, std::uint64_t bytes,
            std::uint32_t run_bytes = 0, std::int64_t cost_ps = 0) {
    OpSpec op = next();
    op.kind = OpKind::kCopy;
    op.role = role;
    op.source = op.destination = rank;
    op.out_port = port;
    op.bundle = bundle_;
    op.bytes = bytes;
    op.run_bytes = run_bytes;
    op.cost_ps = cost_ps;
    return builder_.add_op(op);
  }
  OpId host(OpRole role, int rank, std::int32_t port, std::int64_t cost_ps) {
    OpSpec op = next();
    op.kind = OpKind::kHost;
    op.role = role;
    op.source = op.destination = rank;
    op.out_port = port;
    op.cost_ps = cost_ps;
    return builder_.add_op(op);
  }
  OpId fence(int rank) {
    OpSpec op = next();
    op.kind = OpKind::kFence;
    op.role = OpRole::kBarrier;
    op.source = op.destination = rank;
    return builder_.add_op(op);
  }
  void after(OpId op, OpId predecessor) { builder_.add_after(op, predecessor); }
  void stream(OpId op, OpId upstream) { builder_.add_stream(op, upstream); }

  PlanHeader& header() { return header_; }
  PlanBuilder& builder() { return builder_; }
  Plan seal() { return builder_.seal(header_); }

 private:
  static constexpr std::int64_t kBundleBytes = std::int64_t{1} << 45;

  OpSpec next() {
    OpSpec op;
    op.key = ++keys_;
    return op;
  }

  PlanBuilder builder_;
  PlanHeader header_;
  std::int32_t bundle_ = kNone;
  std::uint64_t keys_ = 0;
  std::vector<std::uint32_t> link_of_port_;
};

}  // namespace transload
