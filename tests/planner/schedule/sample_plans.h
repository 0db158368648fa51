// Plans that are small enough to count by hand, for the tests of show, traces, graph and pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/schedule/builder.h"

namespace transload::testing {

struct RankPorts {
  std::int32_t nic_out, nic_in, nvlink_out, nvlink_in, pack, unpack, host;
};

// A builder with `domains` x `gpus` ranks (one node per domain) and the seven ports of each. NICs
// carry 50 GB/s, NVLink 450 GB/s.
struct Cluster {
  PlanBuilder builder;
  std::vector<RankPorts> ports;

  Cluster(std::int32_t domains, std::int32_t gpus) {
    builder.add_gpu_model({});
    for (std::int32_t domain = 0; domain < domains; ++domain)
      for (std::int32_t gpu = 0; gpu < gpus; ++gpu)
        builder.add_rank(domain, domain, 0, 80'000'000'000);
    for (std::int32_t rank = 0; rank < domains * gpus; ++rank) ports.push_back(add_ports(rank));
  }

  RankPorts add_ports(std::int32_t rank) {
    const std::string name = "rank" + std::to_string(rank);
    const auto port = [&](PortKind kind, LinkKind link, std::int64_t rate,
                          const std::string& what) {
      return builder.add_port(kind, rank, builder.add_link(link, rate, 1'000'000, name + what), 4,
                              0, 0, name + what);
    };
    return {port(PortKind::kNicOut, LinkKind::kNicOut, 50'000'000'000, ".nic.out"),
            port(PortKind::kNicIn, LinkKind::kNicIn, 50'000'000'000, ".nic.in"),
            port(PortKind::kNvlinkOut, LinkKind::kNvlinkOut, 450'000'000'000, ".nvlink.out"),
            port(PortKind::kNvlinkIn, LinkKind::kNvlinkIn, 450'000'000'000, ".nvlink.in"),
            port(PortKind::kPack, LinkKind::kHbm, 0, ".pack"),
            port(PortKind::kUnpack, LinkKind::kHbm, 0, ".unpack"),
            port(PortKind::kHost, LinkKind::kHost, 0, ".host")};
  }

  const RankPorts& of(std::int32_t rank) const { return ports[static_cast<std::size_t>(rank)]; }

  OpId transfer(std::uint64_t key, OpRole role, std::int32_t from, std::int32_t to,
                std::int32_t bundle, std::uint64_t bytes, bool network, std::uint64_t begin = 0) {
    OpSpec op;
    op.key = key;
    op.kind = OpKind::kTransfer;
    op.role = role;
    op.source = from;
    op.destination = to;
    op.out_port = network ? of(from).nic_out : of(from).nvlink_out;
    op.in_port = network ? of(to).nic_in : of(to).nvlink_in;
    op.bundle = bundle;
    op.begin = begin;
    op.bytes = bytes;
    op.hop = role == OpRole::kInject ? 1 : 2;
    return builder.add_op(op);
  }

  OpId one_rank(std::uint64_t key, OpKind kind, OpRole role, std::int32_t rank, std::int32_t port,
                std::int32_t bundle, std::uint64_t bytes) {
    OpSpec op;
    op.key = key;
    op.kind = kind;
    op.role = role;
    op.source = op.destination = rank;
    op.out_port = port;
    op.bundle = bundle;
    op.bytes = bytes;
    return builder.add_op(op);
  }

  // Tensor of `elements` fp32 and a bundle that holds all of it.
  std::int32_t whole_tensor(const std::string& name, std::int64_t elements) {
    const std::int64_t shape[] = {elements};
    const std::uint32_t tensor = builder.add_tensor(name, shape, DType::kF32);
    const std::int64_t bounds[] = {0, elements};
    const SliceSpec slice{tensor, 1, 1, builder.add_box(bounds)};
    return builder.add_bundle(std::vector{slice});
  }

  Plan seal(const std::string& job = "sample job") {
    PlanHeader header;
    header.strategy = "transload";
    header.job_name = job;
    header.topology_name = "dgx-h100";
    return builder.seal(header);
  }
};

// Two domains of two GPUs. Rank 0 holds tensor w (256 fp32, 1024 B) and sends it in one chunk to
// rank 2, which passes it on to rank 3; b (16 fp32, 64 B) is copied within rank 0. Rank 1 takes no
// part.
//   0 pack (0)  1 inject (0 -> 2)  2 unpack (2)  3 fan-out (2 -> 3)  4 unpack (3)  5 local (0)
//   6 host load (2)  7 fence (3)
inline Plan two_domains(const std::string& w = "w", const std::string& job = "sample job") {
  Cluster c(2, 2);
  const std::int32_t bundle_w = c.whole_tensor(w, 256);
  const std::int32_t bundle_b = c.whole_tensor("b", 16);
  const std::int64_t all_w[] = {0, 256};
  const std::int64_t all_b[] = {0, 16};
  c.builder.add_dense_shard(0, Side::kSource, 0, 1, all_w);
  c.builder.add_dense_shard(0, Side::kSource, 1, 1, all_b);
  c.builder.add_dense_shard(0, Side::kDestination, 1, 1, all_b);
  c.builder.add_dense_shard(2, Side::kDestination, 0, 1, all_w);
  c.builder.add_dense_shard(3, Side::kDestination, 0, 1, all_w);
  const OpId pack = c.one_rank(0, OpKind::kCopy, OpRole::kPack, 0, c.of(0).pack, bundle_w, 1024);
  const OpId inject = c.transfer(10, OpRole::kInject, 0, 2, bundle_w, 1024, true);
  const OpId unpack =
      c.one_rank(20, OpKind::kCopy, OpRole::kUnpack, 2, c.of(2).unpack, bundle_w, 1024);
  const OpId fan_out = c.transfer(30, OpRole::kFanOut, 2, 3, bundle_w, 1024, false);
  const OpId unpack_last =
      c.one_rank(40, OpKind::kCopy, OpRole::kUnpack, 3, c.of(3).unpack, bundle_w, 1024);
  c.one_rank(50, OpKind::kCopy, OpRole::kLocal, 0, c.of(0).pack, bundle_b, 64);
  const OpId load = c.one_rank(60, OpKind::kHost, OpRole::kLoad, 2, c.of(2).host, kNone, 0);
  const OpId fence = c.one_rank(70, OpKind::kFence, OpRole::kBarrier, 3, kNone, kNone, 0);
  c.builder.add_after(inject, pack);
  c.builder.add_after(unpack, inject);
  c.builder.add_stream(fan_out, inject);
  c.builder.add_after(unpack_last, fan_out);
  c.builder.add_after(load, unpack);
  c.builder.add_after(fence, unpack_last);
  return c.seal(job);
}

// `domains` domains of `gpus` GPUs, the first half sources, the second half destinations: every
// source rank sends a chunk to the rank of equal number in every destination domain, which passes
// it on to its neighbour. Bytes grow with the ranks' numbers so that arrows differ.
inline Plan half_and_half(std::int32_t domains, std::int32_t gpus) {
  Cluster c(domains, gpus);
  const std::int32_t ranks = domains * gpus;
  std::uint64_t key = 0;
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    c.builder.set_staging(rank, SlotClass::kLand, 8, 96 << 20);
  for (std::int32_t source = 0; source < ranks / 2; ++source) {
    const std::int64_t elements = 100'000'000 + 10'000'000 * source;
    const std::int32_t bundle = c.whole_tensor(
        "model.layers." + std::to_string(source) + ".mlp.down_proj.weight", elements);
    const std::int64_t all[] = {0, elements};
    const auto tensor = static_cast<std::uint32_t>(source);
    c.builder.add_dense_shard(source, Side::kSource, tensor, 1, all);
    for (std::int32_t domain = domains / 2; domain < domains; ++domain) {
      const std::int32_t land = domain * gpus + source % gpus;
      const std::int32_t next = domain * gpus + (source + 1) % gpus;
      const auto bytes = static_cast<std::uint64_t>(elements) * 4;
      c.builder.add_dense_shard(land, Side::kDestination, tensor, 1, all);
      const OpId inject = c.transfer(key++, OpRole::kInject, source, land, bundle, bytes, true);
      if (next == land) continue;
      c.builder.add_dense_shard(next, Side::kDestination, tensor, 1, all);
      c.builder.add_after(c.transfer(key++, OpRole::kFanOut, land, next, bundle, bytes, false),
                          inject);
    }
  }
  return c.seal("half of the cluster to the other half");
}

}  // namespace transload::testing
