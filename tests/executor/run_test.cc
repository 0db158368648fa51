#include "executor/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "planner/schedule/access.h"
#include "tests/executor/small_plans.h"

namespace transload {
namespace {

using ::testing::HasSubstr;

RunResult verified(const Plan& plan, unsigned threads = 2) {
  RunOptions options;
  options.verify = true;
  options.threads = threads;
  return run_on_host(plan, options);
}

// Source rank 0 holds w [64, 32] of bf16 (4096 bytes); some destination ranks hold all of it.
SmallPlan one_source(int ranks, std::initializer_list<std::int32_t> destinations,
                     std::int32_t& bundle) {
  SmallPlan small(ranks);
  const std::uint32_t tensor = small.tensor("w", {64, 32});
  small.shard(0, Side::kSource, tensor, {0, 64, 0, 32});
  for (std::int32_t rank : destinations)
    small.shard(rank, Side::kDestination, tensor, {0, 64, 0, 32});
  bundle = small.bundle(tensor, {0, 64, 0, 32});
  return small;
}

void expect_new(const RunResult& result, std::uint64_t bytes) {
  EXPECT_EQ(result.verified_bytes, bytes);
  EXPECT_EQ(result.mismatched_bytes, 0u);
  EXPECT_EQ(result.state, "new") << ::testing::PrintToString(result.mismatches);
  EXPECT_EQ(result.executed_on, "host");
}

TEST(RunOnHost, OneTransferFromShardsToShards) {
  std::int32_t bundle = 0;
  SmallPlan small = one_source(3, {1}, bundle);
  small.add(small.transfer(0, 1, bundle));
  const RunResult result = verified(small.seal());
  expect_new(result, 4096);
  EXPECT_EQ(result.ranks, 2u) << "rank 2 takes no part";
  EXPECT_GT(result.refit_s, 0);
}

TEST(RunOnHost, BothEndsStrided) {
  // Columns to rows: no run of one side fits a run of the other.
  SmallPlan small(4);
  const std::uint32_t tensor = small.tensor("w", {60, 40}, DType::kF32);
  small.shard(0, Side::kSource, tensor, {0, 60, 0, 25});
  small.shard(1, Side::kSource, tensor, {0, 60, 25, 40});
  small.shard(2, Side::kDestination, tensor, {0, 33, 0, 40});
  small.shard(3, Side::kDestination, tensor, {33, 60, 0, 40});
  for (std::int32_t source : {0, 1})
    for (std::int32_t destination : {2, 3}) {
      const Bounds rows = destination == 2 ? Bounds{0, 33} : Bounds{33, 60};
      const Bounds columns = source == 0 ? Bounds{0, 25} : Bounds{25, 40};
      small.add(small.transfer(source, destination,
                               small.bundle(tensor, {rows[0], rows[1], columns[0], columns[1]})));
    }
  expect_new(verified(small.seal()), 60 * 40 * 4);
}

TEST(RunOnHost, RunsOfBothEndsCutEachOther) {
  // Columns 5 to 20 are a run of 15 per row at the source and runs of 5 and 10 at the destination.
  SmallPlan small(2);
  const std::uint32_t tensor = small.tensor("w", {60, 40});
  small.shard(0, Side::kSource, tensor, {0, 60, 0, 25});
  small.shard(1, Side::kDestination, tensor, {0, 60, 5, 10});
  small.shard(1, Side::kDestination, tensor, {0, 60, 10, 20});
  small.add(small.transfer(0, 1, small.bundle(tensor, {0, 60, 5, 20})));
  expect_new(verified(small.seal()), 60 * 15 * 2);
}

TEST(RunOnHost, ManyShortRunsGoInPieces) {
  // 1.5 MB in 12,000 runs of 128 bytes on the source: more than are listed at once.
  SmallPlan small(2);
  const std::uint32_t tensor = small.tensor("w", {12'000, 128});
  small.shard(0, Side::kSource, tensor, {0, 12'000, 0, 128});
  small.shard(1, Side::kDestination, tensor, {0, 12'000, 64, 128});
  small.add(small.transfer(0, 1, small.bundle(tensor, {0, 12'000, 64, 128})));
  expect_new(verified(small.seal()), 12'000 * 128);
}

TEST(RunOnHost, LocalCopyOnOneRank) {
  std::int32_t bundle = 0;
  SmallPlan small = one_source(1, {0}, bundle);
  small.add(small.copy(0, OpRole::kLocal, bundle));
  expect_new(verified(small.seal()), 4096);
}

// Chunk c of `bundle`, `bytes` each: pack on 0, transfer to `destination`, unpack there.
struct Chunk {
  OpId pack, transfer, unpack;
};
Chunk add_chunk(SmallPlan& small, std::int32_t destination, std::int32_t bundle, std::uint32_t c,
                std::uint64_t bytes, std::int32_t send_slot, std::int32_t land_slot,
                const std::vector<OpId>& before_pack = {},
                const std::vector<OpId>& before_transfer = {}) {
  const auto cut = [&](OpSpec op) {
    op.begin = c * bytes;
    op.bytes = std::min(bytes, op.bytes - op.begin);
    op.chunk = c;
    return op;
  };
  OpSpec pack = cut(small.copy(0, OpRole::kPack, bundle));
  pack.destination_slot = send_slot;
  OpSpec transfer = cut(small.transfer(0, destination, bundle));
  transfer.source_slot = send_slot;
  transfer.destination_slot = land_slot;
  OpSpec unpack = cut(small.copy(destination, OpRole::kUnpack, bundle));
  unpack.source_slot = land_slot;
  Chunk chunk{};
  chunk.pack = small.add(pack, before_pack);
  std::vector<OpId> after = before_transfer;
  after.push_back(chunk.pack);
  chunk.transfer = small.add(transfer, after);
  chunk.unpack = small.add(unpack, {chunk.transfer});
  return chunk;
}

TEST(RunOnHost, PackTransferUnpackOverReusedSlots) {
  SmallPlan small(2);
  const std::uint32_t tensor = small.tensor("w", {64, 33});
  small.shard(0, Side::kSource, tensor, {0, 64, 0, 33});
  small.shard(1, Side::kDestination, tensor, {0, 64, 5, 33});
  const std::int32_t bundle = small.bundle(tensor, {0, 64, 5, 33});  // 3584 bytes, strided
  small.builder.set_staging(0, SlotClass::kSend, 2, 100);
  small.builder.set_staging(1, SlotClass::kLand, 2, 100);
  std::vector<Chunk> chunks;
  for (std::uint32_t c = 0; c < 36; ++c) {
    // Chunks of 100 bytes cut runs of 56 bytes; a slot is taken again when its last reader is done.
    std::vector<OpId> before_pack, before_transfer;
    if (c >= 2) {
      before_pack = {chunks[c - 2].transfer};
      before_transfer = {chunks[c - 2].unpack};
    }
    chunks.push_back(add_chunk(small, 1, bundle, c, 100, static_cast<std::int32_t>(c % 2),
                               static_cast<std::int32_t>(c % 2), before_pack, before_transfer));
  }
  const Plan plan = small.seal();
  for (unsigned threads : {1u, 3u}) expect_new(verified(plan, threads), 3584);
  RunOptions options;
  options.verify = true;
  options.iterations = 4;
  const RunResult several = run_on_host(plan, options);
  expect_new(several, 3584);
  EXPECT_LE(several.refit_min_s, several.refit_s);
  EXPECT_LE(several.refit_s, several.refit_max_s);
}

TEST(RunOnHost, ForwardAndFanOutOfALandedChunk) {
  std::int32_t bundle = 0;
  SmallPlan small = one_source(4, {1, 2, 3}, bundle);
  for (std::int32_t rank : {1, 2}) small.builder.set_staging(rank, SlotClass::kLand, 1, 4096);
  OpSpec inject = small.transfer(0, 1, bundle);
  inject.destination_slot = 0;
  OpSpec forward = small.transfer(1, 2, bundle, OpRole::kForward);
  forward.source_slot = 0;
  forward.destination_slot = 0;
  OpSpec fan_out = small.transfer(1, 3, bundle, OpRole::kFanOut);
  fan_out.source_slot = 0;
  const OpId landed = small.add(inject);
  const OpId forwarded = small.add(forward, {landed});
  small.add(fan_out, {landed});
  for (auto [rank, after] : {std::pair{1, landed}, std::pair{2, forwarded}}) {
    OpSpec unpack = small.copy(rank, OpRole::kUnpack, bundle);
    unpack.source_slot = 0;
    small.add(unpack, {after});
  }
  expect_new(verified(small.seal()), 3 * 4096);
}

TEST(RunOnHost, StreamChainThroughBuckets) {
  // 300 hops through bucket slots; every rank loads its own columns out of its bucket.
  constexpr std::int32_t kHops = 300;
  for (unsigned threads : {1u, 2u}) {
    SmallPlan small(kHops + 1, 1);
    small.header.piece_bytes = 700;
    const std::uint32_t tensor = small.tensor("w", {32, 128});  // 8192 bytes
    small.shard(0, Side::kSource, tensor, {0, 32, 0, 128});
    const std::int32_t bundle = small.bundle(tensor, {0, 32, 0, 128});
    std::vector<OpId> up;
    std::uint64_t wanted = 0;
    for (std::int32_t rank = 1; rank <= kHops; ++rank) {
      const std::int64_t low = rank % 100;
      small.shard(rank, Side::kDestination, tensor, {0, 32, low, low + 28});
      wanted += 32 * 28 * 2;
      small.builder.set_staging(rank, SlotClass::kLand, 1, 64);  // slot 0; the bucket is slot 1
      small.builder.set_staging(rank, SlotClass::kBucket, 1, 8192);
      OpSpec hop = small.transfer(rank - 1, rank, bundle, OpRole::kCollective);
      hop.source_slot = rank == 1 ? kNone : 1;
      hop.destination_slot = 1;
      up = {small.add(hop, {}, up)};
      OpSpec load = small.copy(rank, OpRole::kLoad, bundle);
      load.source_slot = 1;
      small.add(load, rank % 2 == 0 ? up : std::vector<OpId>{},
                rank % 2 == 0 ? std::vector<OpId>{} : up);
    }
    expect_new(verified(small.seal(), threads), wanted);
  }
}

TEST(RunOnHost, RingOfTwoBucketsWithPartialRanges) {
  // Each rank holds half; each sends its half to the other's bucket, whence all is loaded.
  SmallPlan small(2);
  const std::uint32_t tensor = small.tensor("w", {1024}, DType::kF32);
  const std::int32_t bundle = small.bundle(tensor, {0, 1024});
  small.header.piece_bytes = 100;
  std::vector<OpId> hops;
  for (std::int32_t rank : {0, 1}) {
    small.shard(rank, Side::kSource, tensor, {512 * rank, 512 * rank + 512});
    small.shard(rank, Side::kDestination, tensor, {0, 1024});
    small.builder.set_staging(rank, SlotClass::kBucket, 1, 4096);
    OpSpec hop = small.transfer(rank, 1 - rank, bundle, OpRole::kCollective);
    hop.begin = 2048 * static_cast<std::uint64_t>(rank);
    hop.bytes = 2048;
    hop.destination_slot = 0;
    hops.push_back(small.add(hop));
  }
  for (std::int32_t rank : {0, 1}) {
    OpSpec pack = small.copy(rank, OpRole::kPack, bundle);
    pack.begin = 2048 * static_cast<std::uint64_t>(rank);
    pack.bytes = 2048;
    pack.destination_slot = 0;
    const OpId packed = small.add(pack);
    OpSpec load = small.copy(rank, OpRole::kLoad, bundle);
    load.source_slot = 0;
    small.add(load, {}, {packed, hops[static_cast<std::size_t>(1 - rank)]});
  }
  expect_new(verified(small.seal()), 2 * 4096);
}

TEST(RunOnHost, GroupsMoveTheSameBytes) {
  SmallPlan small(6);
  small.header.discipline = Discipline::kGroups;
  const std::uint32_t tensor = small.tensor("w", {6, 3000});
  for (std::int32_t rank = 0; rank < 6; ++rank) {
    small.shard(rank, Side::kSource, tensor, {rank, rank + 1, 0, 3000});
    small.shard(rank, Side::kDestination, tensor, {0, 6, 500 * rank, 500 * rank + 500});
  }
  for (std::int32_t shift = 0; shift < 6; ++shift)
    for (std::int32_t source = 0; source < 6; ++source) {
      const std::int32_t to = (source + shift) % 6;
      const std::int32_t bundle =
          small.bundle(tensor, {source, source + 1, 500 * to, 500 * to + 500});
      if (shift == 0) {
        small.add(small.copy(source, OpRole::kLocal, bundle));
        continue;
      }
      OpSpec op = small.transfer(source, to, bundle);
      op.group = (shift - 1) / 2;
      small.add(op);
    }
  const Plan plan = small.seal();
  RunOptions options;
  options.verify = true;
  options.trace = true;
  const RunResult result = run_on_host(plan, options);
  expect_new(result, 6 * 3000 * 2);
  const PortLists lists = port_lists(plan);
  for (std::size_t port = 0; port < plan.ports(); ++port) {
    const auto list = lists.of(port);
    EXPECT_EQ(result.posting_order[port], std::vector<OpId>(list.begin(), list.end()));
  }
  EXPECT_EQ(result.times.finish_s.size(), plan.operations());
}

// Wrong plans. Each is wrong for certain, whatever the threads do.

TEST(RunOnHost, ASlotOverwrittenTooEarlyIsDetected) {
  std::int32_t bundle = 0;
  SmallPlan small = one_source(2, {1}, bundle);
  small.builder.set_staging(0, SlotClass::kSend, 1, 2048);
  small.builder.set_staging(1, SlotClass::kLand, 2, 2048);
  const auto half = [](OpSpec op, std::uint64_t c) {
    op.begin = 2048 * c;
    op.bytes = 2048;
    return op;
  };
  std::array<OpId, 2> packed{};
  for (std::uint64_t c : {0u, 1u}) {
    OpSpec pack = half(small.copy(0, OpRole::kPack, bundle), c);
    pack.destination_slot = 0;  // both in one slot, the second right after the first
    packed[c] = small.add(pack, c == 0 ? std::vector<OpId>{} : std::vector<OpId>{packed[0]});
  }
  for (std::uint64_t c : {0u, 1u}) {
    OpSpec transfer = half(small.transfer(0, 1, bundle), c);
    transfer.source_slot = 0;
    transfer.destination_slot = static_cast<std::int32_t>(c);
    const OpId landed = small.add(transfer, {packed[1]});
    OpSpec unpack = half(small.copy(1, OpRole::kUnpack, bundle), c);
    unpack.source_slot = static_cast<std::int32_t>(c);
    small.add(unpack, {landed});
  }
  const RunResult result = verified(small.seal());
  EXPECT_EQ(result.state, "torn");
  // The first half holds the second half's bytes: 1024 elements, but for chance hits of 2^-16.
  EXPECT_GT(result.mismatched_bytes, 2000u);
  EXPECT_LE(result.mismatched_bytes, 2048u);
  ASSERT_EQ(result.mismatches.size(), 1u);
  EXPECT_THAT(result.mismatches[0], HasSubstr("tensor w, rank 1, element 0 [0, 0]"));
}

TEST(RunOnHost, AWrongSlotNumberIsDetected) {
  std::int32_t bundle = 0;
  SmallPlan small = one_source(2, {1}, bundle);
  small.builder.set_staging(0, SlotClass::kSend, 1, 4096);
  small.builder.set_staging(1, SlotClass::kLand, 2, 4096);
  OpSpec transfer = small.transfer(0, 1, bundle);
  transfer.destination_slot = 0;
  OpSpec unpack = small.copy(1, OpRole::kUnpack, bundle);
  unpack.source_slot = 1;  // nothing ever lands there
  const OpId landed = small.add(transfer);
  small.add(unpack, {landed});
  const RunResult result = verified(small.seal());
  EXPECT_EQ(result.state, "torn");
  EXPECT_GT(result.mismatched_bytes, 4000u);
}

TEST(RunOnHost, AWrongByteRangeIsDetected) {
  std::int32_t bundle = 0;
  SmallPlan small = one_source(2, {1}, bundle);
  OpSpec transfer = small.transfer(0, 1, bundle);
  transfer.begin = 1;
  transfer.bytes -= 2;
  small.add(transfer);
  const RunResult result = verified(small.seal());
  EXPECT_EQ(result.state, "torn");
  EXPECT_EQ(result.mismatched_bytes, 4u) << "half of the first and of the last element";
  ASSERT_EQ(result.mismatches.size(), 1u);
  EXPECT_THAT(result.mismatches[0], HasSubstr("2 elements"));
}

TEST(RunOnHost, ElementsThatARankDoesNotHoldAreAnError) {
  SmallPlan small(2);
  const std::uint32_t tensor = small.tensor("w", {64});
  small.shard(0, Side::kSource, tensor, {0, 32});
  small.shard(1, Side::kDestination, tensor, {0, 64});
  small.add(small.transfer(0, 1, small.bundle(tensor, {0, 64})));
  const Plan plan = small.seal();
  try {
    verified(plan);
    FAIL() << "rank 0 holds half of w";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("tensor w, rank 0"));
  }
}

TEST(RunOnHost, OptionsAreChecked) {
  std::int32_t bundle = 0;
  SmallPlan small = one_source(2, {1}, bundle);
  RunOptions options;
  options.iterations = 0;
  EXPECT_THROW(run_on_host(small.seal(), options), InputError);
}

TEST(RunOnHost, WithoutVerificationNothingIsClaimed) {
  std::int32_t bundle = 0;
  SmallPlan small = one_source(2, {1}, bundle);
  small.add(small.transfer(0, 1, bundle));
  const RunResult result = run_on_host(small.seal(), {});
  EXPECT_EQ(result.verified_bytes, 0u);
  EXPECT_EQ(result.state, "new");
  EXPECT_TRUE(result.posting_order.empty());
}

}  // namespace
}  // namespace transload
