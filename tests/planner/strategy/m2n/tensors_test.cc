#include "planner/strategy/m2n/tensors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/job/job.h"
#include "planner/strategy/m2n/calls.h"
#include "planner/strategy/m2n/limits.h"
#include "planner/strategy/m2n/send_pieces.h"

namespace transload {
namespace {

using ::testing::ElementsAre;

struct Read {
  std::vector<M2nTensor> tensors;
  std::vector<Unsupported> refused;
};

Read read(const std::string& tensors) {
  const Job job = job_from_text(
      "topology: {nodes: [{count: 4, gpus: 8, nvlink: 450GB/s, nic: 50GB/s}], efficiency: 1, "
      "latency: 0}\ntensors:\n" +
          tensors,
      "job.yaml", "");
  RefusalList refused;
  Read result;
  result.tensors = m2n_tensors(job.problem, refused);
  result.refused = refused.take();
  return result;
}

std::string tensor_line(const std::string& name, const std::string& shape,
                        const std::string& source, const std::string& destination) {
  return fmt::format("  - {{name: {}, shape: {}, dtype: uint8, source: {}, destination: {}}}\n",
                     name, shape, source, destination);
}

constexpr const char* kEight = "{mesh: {t: 8}, placements: [S(1)], ranks: 8-15}";

TEST(M2nMesh, OuterAndInnerReplicas) {
  const M2nMesh outer =
      read(tensor_line("w", "[6, 8]", "{mesh: {r: 2, s: 3}, placements: [R, S(0)], ranks: 0-5}",
                       kEight))
          .tensors.at(0)
          .source;
  EXPECT_EQ(outer.replicas, 2);
  EXPECT_EQ(outer.shards, 3);
  EXPECT_FALSE(outer.replicas_inside);
  EXPECT_EQ(outer.rank(1, 2), 5);
  EXPECT_EQ(outer.rank(1, 0), 3);
  const M2nMesh inner =
      read(tensor_line("w", "[6, 8]", "{mesh: {s: 3, r: 2}, placements: [S(0), R], ranks: 0-5}",
                       kEight))
          .tensors.at(0)
          .source;
  EXPECT_TRUE(inner.replicas_inside);
  EXPECT_EQ(inner.rank(1, 0), 1);
  EXPECT_EQ(inner.rank(0, 2), 4);
}

TEST(M2nMesh, ReplicatedOnBothAxesIsOneShard) {
  const Read result = read(
      tensor_line("w", "[6, 8]", "{mesh: {a: 2, b: 3}, placements: [R, R], ranks: 0-5}", kEight));
  const M2nMesh& mesh = result.tensors.at(0).source;
  EXPECT_EQ(mesh.replicas, 6);
  EXPECT_EQ(mesh.shards, 1);
  EXPECT_EQ(mesh.rank(4, 0), 4);
}

TEST(M2nMesh, SeveralReplicatingAxesAreOne) {
  // Data, context and tensor parallel: the first two replicate.
  const Read result = read(tensor_line(
      "w", "[6, 8]", "{mesh: {d: 2, c: 2, t: 2}, placements: [R, R, S(0)], ranks: 0-7}", kEight));
  EXPECT_EQ(result.tensors.at(0).source.replicas, 4);
  EXPECT_EQ(result.tensors.at(0).source.shards, 2);
}

struct Refused {
  std::string source;
  std::string limit;
};

TEST(M2nMesh, WhatItCannotExpressIsRefusedByName) {
  const std::vector<Refused> cases = {
      {"{mesh: {a: 2, b: 2}, placements: [S(0), S(1)], ranks: 0-3}",
       "one sharded dimension per side"},
      {"{mesh: {a: 4}, placements: [S(0)], ranks: 0-3}", "shards of equal length"},  // 2, 2, 2, 0
      {"{mesh: {a: 2}, placements: [S(0)], sizes: {0: [4, 2]}, ranks: 0-1}",
       "shards of equal length"},
      {"{boxes: {0: [[0, 3], [0, 8]], 1: [[3, 6], [0, 8]], 2: [[0, 3], [0, 8]]}}",
       "every shard on equally many ranks"},
      // Shards 0 0 1 1 on ranks 0 3 1 2: neither rows nor columns.
      {"{boxes: {0: [[0, 3], [0, 8]], 3: [[0, 3], [0, 8]], 1: [[3, 6], [0, 8]], "
       "2: [[3, 6], [0, 8]]}}",
       "a row-major mesh of replicas and shards"},
      // Pieces of both halves on either rank.
      {"{mesh: {a: 2}, placements: ['S(0, split_factor=3)'], ranks: 0-1}", "one shard per rank"},
      {"{mesh: {a: 2}, placements: [S(1)], memory: {strides: [1, 6]}, ranks: 0-1}",
       "dense row-major shards"},
      {"{mesh: {a: 2}, placements: [S(0)], ranks: 7-8}", "disjoint ranks on the two sides"},
  };
  for (const Refused& wanted : cases) {
    const Read result = read(tensor_line("w", "[6, 8]", wanted.source, kEight));
    ASSERT_EQ(result.refused.size(), 1u) << wanted.source;
    EXPECT_EQ(result.refused[0].limit, wanted.limit) << wanted.source;
    EXPECT_EQ(result.refused[0].tensor, "w");
    EXPECT_FALSE(result.refused[0].value.empty());
    EXPECT_TRUE(result.tensors.empty());
  }
}

TEST(M2nTensors, FourDimensionsAreOneTooMany) {
  const Read result =
      read(tensor_line("w", "[2, 2, 2, 8]", "{mesh: {a: 1}, placements: [R], ranks: 0}",
                       "{mesh: {t: 8}, placements: [S(3)], ranks: 8-15}"));
  ASSERT_EQ(result.refused.size(), 1u);
  EXPECT_EQ(result.refused[0].limit, "tensors of 1 to 3 dimensions");
  EXPECT_EQ(result.refused[0].value, "4");
}

TEST(M2nTensors, EveryLimitIsReportedOnce) {
  const std::string two_axes = "{mesh: {a: 2, b: 2}, placements: [S(0), S(1)], ranks: 0-3}";
  const std::string uneven = "{mesh: {a: 4}, placements: [S(0)], ranks: 0-3}";
  const Read result = read(tensor_line("a", "[6, 8]", two_axes, kEight) +
                           tensor_line("b", "[6, 8]", two_axes, kEight) +
                           tensor_line("c", "[6, 8]", uneven, kEight));
  ASSERT_EQ(result.refused.size(), 2u);
  EXPECT_EQ(result.refused[0].tensor, "a");
  EXPECT_EQ(result.refused[1].tensor, "c");
}

TEST(M2nTensors, ExpertsOfALayerAreOneStack) {
  // Expert parallel 2 on the source, tensor parallel 8 on the destination.
  std::string job;
  for (int layer = 0; layer < 2; ++layer)
    for (int expert = 0; expert < 4; ++expert)
      job += tensor_line(fmt::format("layers.{}.experts.{}.w", layer, expert), "[2, 8]",
                         fmt::format("{{mesh: {{r: 1}}, placements: [R], ranks: {}}}", expert / 2),
                         kEight);
  const Read result = read(job);
  EXPECT_TRUE(result.refused.empty());
  ASSERT_EQ(result.tensors.size(), 2u);
  const M2nTensor& stack = result.tensors[1];
  EXPECT_EQ(stack.name, "layers.1.experts.*.w");
  EXPECT_THAT(stack.shape, ElementsAre(4, 2, 8));
  EXPECT_EQ(stack.members.size(), 4u);
  EXPECT_EQ(stack.source.shards, 2);
  EXPECT_EQ(stack.source.shard_dim, 0);
  EXPECT_EQ(stack.destination.shards, 8);
  EXPECT_EQ(stack.destination.shard_dim, 2);
  EXPECT_EQ(shard_box(stack, stack.source, 1), (Box{{2, 4, 0, 2, 0, 8}}));
}

TEST(M2nTensors, ExpertsWhoseParallelGroupsDifferInSizeAreRefused) {
  std::string job;
  for (int expert = 0; expert < 3; ++expert)
    job += tensor_line(fmt::format("layers.0.experts.{}.w", expert), "[2, 8]",
                       fmt::format("{{mesh: {{r: 1}}, placements: [R], ranks: {}}}", expert / 2),
                       kEight);
  const Read result = read(job);
  ASSERT_EQ(result.refused.size(), 1u);
  EXPECT_EQ(result.refused[0].limit, "shards of equal length");
}

TEST(M2nTensors, ExpertNames) {
  EXPECT_EQ(expert_name("layers.3.mlp.experts.17.up.weight")->stack,
            "layers.3.mlp.experts.*.up.weight");
  EXPECT_EQ(expert_name("layers.3.mlp.experts.17.up.weight")->expert, 17);
  for (const char* name : {"layers.3.mlp.up.weight", "experts.weight", "layers.0.experts.x.w",
                           "layers.0.experts.7", "layers.0.experts..w"})
    EXPECT_FALSE(expert_name(name)) << name;
}

// Moves of the one tensor of a job whose ranks are 8 to a domain.
M2nMoves moves_of(const M2nTensor& tensor, M2nMode mode) {
  std::vector<std::int32_t> domains;
  for (int rank = 0; rank < 32; ++rank) domains.push_back(rank / 8);
  return m2n_moves(tensor, mode, domains);
}

TEST(M2nLimits, EachHasItsNameAndValue) {
  // One source shard for every destination shard and the other way round: 16 x 8.
  const M2nTensor tensor =
      read(tensor_line("w", "[16, 8]", "{mesh: {s: 16}, placements: [S(0)], ranks: 0-15}",
                       "{mesh: {s: 8}, placements: [S(1)], ranks: 16-23}"))
          .tensors.at(0);
  const M2nMoves moves = moves_of(tensor, M2nMode::kDefault);
  const auto exceeded = [&](const M2nLimits& limits) {
    RefusalList refused;
    add_exceeded_limits(tensor, moves, limits, refused);
    return refused.take();
  };
  EXPECT_TRUE(exceeded({}).empty());
  const auto all = exceeded({.kernel_sources = 15, .targets = 7, .slot_bytes = 15});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].value, "16");
  EXPECT_EQ(all[1].value, "8");
  EXPECT_EQ(all[2].value, "16 B");  // 8 bytes of a source rank, 16 of a destination rank
}

TEST(M2nLimits, FollowersOfALeader) {
  const M2nTensor tensor =
      read(tensor_line("w", "[16]", "{mesh: {s: 2}, placements: [S(0)], ranks: 0-1}",
                       "{mesh: {r: 8}, placements: [R], ranks: 8-15}"))
          .tensors.at(0);
  RefusalList refused;
  add_exceeded_limits(tensor, moves_of(tensor, M2nMode::kDefault), {.followers = 6}, refused);
  const auto all = refused.take();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].value, "7");
}

TEST(M2nCalls, KindAfterKindRoundRobinOverCommunicators) {
  const auto stage = [](int stage_number) {
    return fmt::format("{{mesh: {{r: 1}}, placements: [R], ranks: {}}}", stage_number);
  };
  // Two layers on stage 0, one on stage 1.
  std::string job;
  for (int layer = 0; layer < 3; ++layer)
    for (const char* kind : {"a", "b"})
      job +=
          tensor_line(fmt::format("layers.{}.{}", layer, kind), "[8, 8]", stage(layer / 2), kEight);
  Read result = read(job);
  ASSERT_EQ(result.tensors.size(), 6u);
  std::vector<M2nMoves> moves;
  for (const M2nTensor& its : result.tensors) moves.push_back(moves_of(its, M2nMode::kDefault));
  const std::vector<M2nCall> calls = m2n_calls(result.tensors, moves, 4);
  std::vector<std::string> names;
  std::vector<std::uint32_t> slots;
  for (const M2nCall& call : calls) {
    names.push_back(call.tensor.name);
    slots.push_back(call.slot_of(8));
  }
  EXPECT_THAT(names, ElementsAre("layers.0.a", "layers.2.a", "layers.1.a", "layers.0.b",
                                 "layers.2.b", "layers.1.b"));
  EXPECT_THAT(slots, ElementsAre(0, 1, 2, 3, 0, 1));
  EXPECT_EQ(calls[0].communicator, calls[2].communicator);
  EXPECT_NE(calls[0].communicator, calls[1].communicator);
  EXPECT_EQ(calls[2].slot_of(0), 1u);  // the second call of rank 0
}

TEST(M2nCalls, KindsOfNames) {
  EXPECT_EQ(kind_of_name("model.layers.31.mlp.up_proj.weight"),
            "model.layers.*.mlp.up_proj.weight");
  EXPECT_EQ(kind_of_name("w1.2"), "w1.*");
  EXPECT_EQ(kind_of_name("7"), "*");
  EXPECT_EQ(kind_of_name("h.2d.w"), "h.2d.w");
}

TEST(M2nSendPieces, CutEveryBoxOnceAndCountSlotsPerRank) {
  const M2nTensor tensor =
      read(tensor_line("w", "[2, 24]", "{mesh: {s: 2}, placements: [S(0)], ranks: 0-1}",
                       "{mesh: {r: 2, s: 2}, placements: [R, S(1)], ranks: 2-5}"))
          .tensors.at(0);
  const M2nMoves moves = moves_of(tensor, M2nMode::kDirect);
  ASSERT_EQ(moves.moves.size(), 8u);  // both replicas from each source shard
  const std::vector<M2nCall> calls = m2n_calls({tensor}, {moves}, 4);
  const std::vector<SendPiece> pieces = send_pieces(calls[0], 5);
  // Boxes of 12 bytes in pieces of 4, two boxes per source rank.
  ASSERT_EQ(pieces.size(), 12u);
  std::map<Rank, std::uint32_t> slots;
  for (const SendPiece& piece : pieces) {
    EXPECT_EQ(piece.end - piece.begin, 4);
    EXPECT_EQ(piece.slot, slots[piece.source]++);
  }
  EXPECT_EQ(slots[0], 6u);
  EXPECT_EQ(slots[1], 6u);
}

}  // namespace
}  // namespace transload
