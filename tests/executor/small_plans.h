// Small plans for the executor's tests: ranks that each have one of every port, and operations that
// fill in their ports and keys themselves.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/schedule/builder.h"

namespace transload {

using Bounds = std::vector<std::int64_t>;

class SmallPlan {
 public:
  explicit SmallPlan(int ranks, std::uint32_t window = 2) {
    builder.add_gpu_model({});
    const std::uint32_t link = builder.add_link(LinkKind::kNicOut, 0, 1'000'000, "link");
    for (std::int32_t rank = 0; rank < ranks; ++rank) builder.add_rank(rank, rank, 0, 0);
    for (std::int32_t rank = 0; rank < ranks; ++rank)
      for (PortKind kind :
           {PortKind::kNicOut, PortKind::kNicIn, PortKind::kPack, PortKind::kUnpack})
        builder.add_port(kind, rank, link, window, 0, 0, "port");
  }

  static std::int32_t port(std::int32_t rank, PortKind kind) {
    switch (kind) {
      case PortKind::kNicOut:
        return 4 * rank;
      case PortKind::kNicIn:
        return 4 * rank + 1;
      case PortKind::kPack:
        return 4 * rank + 2;
      default:
        return 4 * rank + 3;
    }
  }

  std::uint32_t tensor(const std::string& name, const Bounds& shape, DType dtype = DType::kBF16) {
    return builder.add_tensor(name, shape, dtype);
  }
  // A dense shard of one tensor.
  void shard(std::int32_t rank, Side side, std::uint32_t tensor, const Bounds& bounds) {
    builder.add_dense_shard(rank, side, tensor, 1, bounds);
  }
  std::int32_t bundle(std::uint32_t tensor, const Bounds& bounds) {
    const std::array<SliceSpec, 1> slices{{{tensor, 1, 1, builder.add_box(bounds)}}};
    return builder.add_bundle(slices);
  }

  OpSpec transfer(std::int32_t source, std::int32_t destination, std::int32_t bundle,
                  OpRole role = OpRole::kInject) const {
    OpSpec op;
    op.kind = OpKind::kTransfer;
    op.role = role;
    op.source = source;
    op.destination = destination;
    op.out_port = port(source, PortKind::kNicOut);
    op.in_port = port(destination, PortKind::kNicIn);
    op.bundle = bundle;
    op.bytes = builder.bundle_bytes(bundle);
    return op;
  }
  OpSpec copy(std::int32_t rank, OpRole role, std::int32_t bundle) const {
    OpSpec op;
    op.kind = OpKind::kCopy;
    op.role = role;
    op.source = op.destination = rank;
    op.out_port = port(rank, role == OpRole::kPack ? PortKind::kPack : PortKind::kUnpack);
    op.bundle = bundle;
    op.bytes = builder.bundle_bytes(bundle);
    return op;
  }
  // Adds with the next key; plain edges from `after`, stream edges from `stream`.
  OpId add(OpSpec op, const std::vector<OpId>& after = {}, const std::vector<OpId>& stream = {}) {
    op.key = ++key_;
    const OpId id = builder.add_op(op);
    for (OpId before : after) builder.add_after(id, before);
    for (OpId up : stream) builder.add_stream(id, up);
    return id;
  }
  Plan seal() { return builder.seal(header); }

  PlanBuilder builder;
  PlanHeader header;

 private:
  std::uint64_t key_ = 0;
};

}  // namespace transload
