#include "tests/testing/hand_plans.h"

#include <algorithm>
#include <array>
#include <string>

namespace transload::testing {
namespace {

constexpr std::array<LinkKind, 6> kLinks = {LinkKind::kNicOut,    LinkKind::kNicIn,
                                            LinkKind::kNvlinkOut, LinkKind::kNvlinkIn,
                                            LinkKind::kHbm,       LinkKind::kHost};
constexpr std::array<std::pair<PortKind, std::size_t>, 7> kPorts = {{{PortKind::kNicOut, 0},
                                                                     {PortKind::kNicIn, 1},
                                                                     {PortKind::kNvlinkOut, 2},
                                                                     {PortKind::kNvlinkIn, 3},
                                                                     {PortKind::kPack, 4},
                                                                     {PortKind::kUnpack, 4},
                                                                     {PortKind::kHost, 5}}};

std::vector<std::int64_t> whole(std::initializer_list<std::int64_t> shape) {
  std::vector<std::int64_t> bounds;
  for (const std::int64_t extent : shape) bounds.insert(bounds.end(), {0, extent});
  return bounds;
}

Plan chunked_plan(Discipline discipline) {
  HandPlan plan(2, 1);
  plan.header.discipline = discipline;
  const bool grouped = discipline == Discipline::kGroups;
  if (grouped) plan.header.operations_per_group = 1;
  PlanBuilder& builder = plan.builder;
  const std::array<std::int64_t, 2> shape = {8, 16};
  const std::uint32_t tensor = builder.add_tensor("w", shape, DType::kF32);
  builder.add_dense_shard(0, Side::kSource, tensor, 1, whole({8, 16}));
  const std::vector<std::int64_t> left = {0, 8, 0, 8};
  builder.add_dense_shard(1, Side::kDestination, tensor, 1, left);
  for (const std::int32_t rank : {0, 1})
    for (const SlotClass slot_class : {SlotClass::kSend, SlotClass::kLand})
      builder.set_staging(rank, slot_class, 2, 64);
  const std::vector<SliceSpec> slices = {{tensor, 1, 1, builder.add_box(left)}};
  const std::int32_t bundle = builder.add_bundle(slices);
  std::vector<OpId> transfers;
  std::vector<OpId> unpacks;
  for (std::uint32_t chunk = 0; chunk < 4; ++chunk) {
    const std::uint64_t begin = 64 * chunk;
    const auto slot = static_cast<std::int32_t>(chunk % 2);
    std::vector<OpId> after;
    if (chunk >= 2) after = {transfers[chunk - 2]};
    const OpId pack = plan.copy(OpRole::kPack, 0, bundle, begin, 64, kNone, slot, after);
    after = {pack};
    if (chunk >= 2) after.push_back(unpacks[chunk - 2]);
    transfers.push_back(plan.transfer(OpRole::kInject, 0, 1, bundle, begin, 64, slot, 2 + slot,
                                      after, grouped ? static_cast<std::int32_t>(chunk) : kNone));
    unpacks.push_back(
        plan.copy(OpRole::kUnpack, 1, bundle, begin, 64, 2 + slot, kNone, {transfers.back()}));
  }
  return plan.seal();
}

}  // namespace

HandPlan::HandPlan(std::int32_t ranks, std::int32_t per_node, std::uint32_t window)
    : per_node_(per_node) {
  builder.add_gpu_model({});
  header.strategy = "by hand";
  header.job_name = "test";
  header.window = window;
  header.chunk_bytes = 64;
  header.piece_bytes = 16;
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    builder.add_rank(rank / per_node, rank / per_node, 0, 0);
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    std::vector<std::uint32_t> links;
    for (const LinkKind kind : kLinks)
      links.push_back(
          builder.add_link(kind, 1'000'000'000, 1'000'000,
                           "rank" + std::to_string(rank) + "." + std::string(name_of(kind))));
    for (const auto& [kind, link] : kPorts)
      ports_.push_back(
          builder.add_port(kind, rank, links[link], window, 0, 0,
                           "rank" + std::to_string(rank) + "." + std::string(name_of(kind))));
  }
}

std::int32_t HandPlan::port(std::int32_t rank, PortKind kind) const {
  return ports_[static_cast<std::size_t>(rank) * kPorts.size() + static_cast<std::size_t>(kind)];
}

OpId HandPlan::add(OpSpec op, const std::vector<OpId>& after) {
  op.key = builder.operations();
  const OpId id = builder.add_op(op);
  for (const OpId before : after) builder.add_after(id, before);
  return id;
}

OpId HandPlan::copy(OpRole role, std::int32_t rank, std::int32_t bundle, std::uint64_t begin,
                    std::uint64_t bytes, std::int32_t source_slot, std::int32_t destination_slot,
                    const std::vector<OpId>& after) {
  OpSpec op;
  op.kind = OpKind::kCopy;
  op.role = role;
  op.source = op.destination = rank;
  op.out_port = port(rank, role == OpRole::kUnpack ? PortKind::kUnpack : PortKind::kPack);
  op.bundle = bundle;
  op.begin = begin;
  op.bytes = bytes;
  op.source_slot = source_slot;
  op.destination_slot = destination_slot;
  return add(op, after);
}

OpId HandPlan::convert(std::int32_t rank, std::int32_t bundle, std::uint64_t begin,
                       std::uint64_t bytes, std::int32_t destination_slot,
                       const std::vector<OpId>& after) {
  OpSpec op;
  op.kind = OpKind::kConvert;
  op.role = OpRole::kConvert;
  op.source = op.destination = rank;
  op.out_port = port(rank, PortKind::kPack);
  op.bundle = bundle;
  op.begin = begin;
  op.bytes = bytes;
  op.destination_slot = destination_slot;
  return add(op, after);
}

OpId HandPlan::transfer(OpRole role, std::int32_t source, std::int32_t destination,
                        std::int32_t bundle, std::uint64_t begin, std::uint64_t bytes,
                        std::int32_t source_slot, std::int32_t destination_slot,
                        const std::vector<OpId>& after, std::int32_t group) {
  const bool inside = source / per_node_ == destination / per_node_;
  OpSpec op;
  op.role = role;
  op.source = source;
  op.destination = destination;
  op.out_port = port(source, inside ? PortKind::kNvlinkOut : PortKind::kNicOut);
  op.in_port = port(destination, inside ? PortKind::kNvlinkIn : PortKind::kNicIn);
  op.bundle = bundle;
  op.begin = begin;
  op.bytes = bytes;
  op.source_slot = source_slot;
  op.destination_slot = destination_slot;
  op.group = group;
  op.collective = role == OpRole::kCollective ? 0 : kNone;
  op.hop = 1;
  return add(op, after);
}

OpId HandPlan::hop(std::int32_t source, std::int32_t destination, std::int32_t bundle,
                   std::uint64_t bytes, std::int32_t slot, const std::vector<OpId>& after,
                   const std::vector<OpId>& upstream) {
  const OpId id =
      transfer(OpRole::kCollective, source, destination, bundle, 0, bytes, slot, slot, after);
  for (const OpId before : upstream) builder.add_stream(id, before);
  return id;
}

Plan direct_plan() {
  HandPlan plan(2, 1);
  const std::array<std::int64_t, 2> shape = {4, 8};
  const std::uint32_t tensor = plan.builder.add_tensor("w", shape, DType::kF32);
  plan.builder.add_dense_shard(0, Side::kSource, tensor, 1, whole({4, 8}));
  plan.builder.add_dense_shard(1, Side::kDestination, tensor, 1, whole({4, 8}));
  const std::vector<SliceSpec> slices = {{tensor, 1, 1, plan.builder.add_box(whole({4, 8}))}};
  plan.transfer(OpRole::kInject, 0, 1, plan.builder.add_bundle(slices), 0, 128, kNone, kNone);
  return plan.seal();
}

Plan staged_plan() { return chunked_plan(Discipline::kWindows); }
Plan grouped_plan() { return chunked_plan(Discipline::kGroups); }

Plan fan_out_plan() {
  HandPlan plan(4, 2);
  PlanBuilder& builder = plan.builder;
  const std::array<std::int64_t, 2> shape = {8, 8};
  const std::uint32_t tensor = builder.add_tensor("w", shape, DType::kF32);
  builder.add_dense_shard(0, Side::kSource, tensor, 1, whole({8, 8}));
  for (const std::int32_t rank : {2, 3})
    builder.add_dense_shard(rank, Side::kDestination, tensor, 1, whole({8, 8}));
  builder.set_staging(0, SlotClass::kSend, 1, 256);
  builder.set_staging(2, SlotClass::kLand, 1, 256);
  const std::vector<SliceSpec> slices = {{tensor, 1, 1, builder.add_box(whole({8, 8}))}};
  const std::int32_t bundle = builder.add_bundle(slices);
  const OpId pack = plan.copy(OpRole::kPack, 0, bundle, 0, 256, kNone, 0);
  const OpId inject = plan.transfer(OpRole::kInject, 0, 2, bundle, 0, 256, 0, 0, {pack});
  plan.copy(OpRole::kUnpack, 2, bundle, 0, 256, 0, kNone, {inject});
  plan.transfer(OpRole::kFanOut, 2, 3, bundle, 0, 256, 0, kNone, {inject});
  return plan.seal();
}

Plan broadcast_plan() {
  HandPlan plan(3, 1);
  PlanBuilder& builder = plan.builder;
  const std::array<std::int64_t, 2> shape = {4, 8};
  for (int t = 0; t < 4; ++t) builder.add_tensor("w" + std::to_string(t), shape, DType::kF32);
  builder.add_dense_shard(0, Side::kSource, 0, 4, whole({4, 8}));
  for (const std::uint32_t t : {0, 2})
    builder.add_dense_shard(1, Side::kDestination, t, 1, whole({4, 8}));
  for (const std::uint32_t t : {1, 3})
    builder.add_dense_shard(2, Side::kDestination, t, 1, whole({4, 8}));
  for (const std::int32_t rank : {0, 1, 2}) builder.set_staging(rank, SlotClass::kBucket, 1, 256);
  std::vector<OpId> last;
  for (std::uint32_t round = 0; round < 2; ++round) {
    const std::vector<SliceSpec> slices = {{2 * round, 2, 1, builder.add_box(whole({4, 8}))}};
    const std::int32_t bundle = builder.add_bundle(slices);
    // What overwrites a bucket waits for its readers of the round before.
    const auto wait = [&](std::initializer_list<std::size_t> readers, std::vector<OpId> after) {
      if (round > 0)
        for (const std::size_t reader : readers) after.push_back(last[reader]);
      return after;
    };
    std::vector<OpId> ops;
    ops.push_back(plan.copy(OpRole::kPack, 0, bundle, 0, 256, kNone, 0, wait({1}, {})));
    ops.push_back(plan.hop(0, 1, bundle, 256, 0, wait({2, 3}, {ops[0]}), {}));
    ops.push_back(plan.hop(1, 2, bundle, 256, 0, wait({4}, {}), {ops[1]}));
    ops.push_back(plan.copy(OpRole::kUnpack, 1, bundle, 0, 256, 0, kNone, {ops[1]}));
    ops.push_back(plan.copy(OpRole::kUnpack, 2, bundle, 0, 256, 0, kNone, {ops[2]}));
    last = ops;
  }
  return plan.seal();
}

Plan shared_plan() {
  HandPlan plan(2, 1);
  PlanBuilder& builder = plan.builder;
  constexpr std::int64_t kRow = 4 * 32;  // bits
  const std::uint32_t linear_qkv = builder.add_buffers(0, Side::kSource, 256, 1, "linear_qkv");
  const std::uint32_t qkv = builder.add_buffers(1, Side::kDestination, 288, 1, "qkv");
  std::vector<SliceSpec> slices;
  struct Part {
    const char* name;
    std::int64_t rows;
    std::int64_t group_row;  // where it begins in a group
    std::int64_t fused_row;  // where it begins in the fused buffer, padding counted
  };
  for (const Part& part : {Part{"q", 8, 0, 0}, {"k", 4, 4, 8}, {"v", 4, 6, 13}}) {
    const std::array<std::int64_t, 2> shape = {part.rows, 4};
    ShardSpec shard;
    shard.tensor_first = builder.add_tensor(part.name, shape, DType::kF32);
    shard.box = builder.add_box(whole({part.rows, 4}));
    shard.buffer = linear_qkv;
    shard.bit_offset = static_cast<std::uint64_t>(part.group_row * kRow);
    shard.loops = {{0, 2, 8 * kRow}, {0, part.rows / 2, kRow}, {1, 4, 32}};
    builder.add_shard(0, shard);
    shard.side = Side::kDestination;
    shard.buffer = qkv;
    shard.bit_offset = static_cast<std::uint64_t>(part.fused_row * kRow);
    shard.loops = {{0, part.rows, kRow}, {1, 4, 32}};
    builder.add_shard(1, shard);
    slices.push_back({shard.tensor_first, 1, 1, shard.box});
  }
  builder.add_fill(1, qkv, 1, 12 * 16, 16);
  plan.transfer(OpRole::kInject, 0, 1, builder.add_bundle(slices), 0, 256, kNone, kNone);

  const std::array<std::int64_t, 2> shape = {6, 4};
  const std::uint32_t embed = builder.add_tensor("embed", shape, DType::kF32);
  builder.add_dense_shard(0, Side::kSource, embed, 1, whole({6, 4}));
  ShardSpec shard;
  shard.side = Side::kDestination;
  shard.tensor_first = builder.add_tensor("lm_head", shape, DType::kF32, embed);
  shard.box = builder.add_box(whole({6, 4}));
  shard.buffer = builder.add_buffers(1, Side::kDestination, 8 * 20, 1, "padded");
  shard.loops = {{0, 6, 5 * 32}, {1, 4, 32}};
  builder.add_shard(1, shard);
  for (std::uint64_t row = 0; row < 6; ++row)
    builder.add_fill(1, shard.buffer, 1, 20 * row + 16, 4);
  builder.add_fill(1, shard.buffer, 1, 6 * 20, 2 * 20);
  builder.set_staging(0, SlotClass::kSend, 1, 96);
  builder.set_staging(1, SlotClass::kLand, 1, 96);
  slices = {{shard.tensor_first, 1, 1, shard.box}};
  const std::int32_t bundle = builder.add_bundle(slices);
  const OpId pack = plan.copy(OpRole::kPack, 0, bundle, 0, 96, kNone, 0);
  const OpId send = plan.transfer(OpRole::kInject, 0, 1, bundle, 0, 96, 0, 0, {pack});
  plan.copy(OpRole::kUnpack, 1, bundle, 0, 96, 0, kNone, {send});
  return plan.seal();
}

Plan edit(const Plan& plan, const std::function<void(PlanTables&)>& change,
          const std::function<void(PlanHeader&)>& change_header) {
  PlanTables tables = thaw_plan(plan);
  PlanHeader header = plan.header();
  if (change) change(tables);
  if (change_header) change_header(header);
  return seal_plan(header, tables);
}

void erase_edge(std::vector<std::uint64_t>& first, std::vector<OpId>& edges, OpId op, OpId before) {
  const auto from = edges.begin() + static_cast<std::ptrdiff_t>(first[op]);
  const auto to = edges.begin() + static_cast<std::ptrdiff_t>(first[op + 1]);
  const auto at = std::find(from, to, before);
  if (at == to) return;
  edges.erase(at);
  for (std::size_t i = op + 1; i < first.size(); ++i) --first[i];
}

void insert_edge(std::vector<std::uint64_t>& first, std::vector<OpId>& edges, OpId op,
                 OpId before) {
  edges.insert(edges.begin() + static_cast<std::ptrdiff_t>(first[op + 1]), before);
  for (std::size_t i = op + 1; i < first.size(); ++i) ++first[i];
}

}  // namespace transload::testing
