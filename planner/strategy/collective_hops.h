// Lowering collectives on bucket buffers into transfers: who holds which bytes of the bucket
// already, and so which edges a hop needs. Internal to planner/strategy.
//
// Two shapes cover it: a *chain* hands a range from one rank to the next, and a *line all-gather*
// lets every rank of a line collect what the others hold, by one stream to the right and one to the
// left (on full-duplex links as fast as a ring, and without a ring's cyclic streams).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "planner/strategy/buckets.h"
#include "planner/strategy/fabric.h"

namespace transload {

// One collective of one bucket.
struct CollectivePhase {
  std::int32_t id = 0;
  std::int32_t group = kNone;
  OpRole role = OpRole::kCollective;
  bool ordered = false;  // its hops follow the same hops of the previous bucket
};

// Emits the operations of buckets in order. Every rank has `bucket_slots` bucket slots; bucket b
// uses slot b mod bucket_slots, and its first writers wait for everybody who used the slot before.
// The rank that a bucket is assembled on may have one more slot for that, behind the others.
class CollectiveEmitter {
 public:
  static constexpr std::uint32_t kBucketSlots = 2;

  // Keys begin after those of the builder's operations, bucket slots after the staging that its
  // ranks have already.
  CollectiveEmitter(PlanBuilder& builder, const Fabric& fabric,
                    std::uint32_t bucket_slots = kBucketSlots);

  void begin_bucket(const Bucket& bucket);
  // What follows is about bucket `number` (from 1, rising but for returns to buckets that are still
  // in their slots), which lies in the assembly slot of `assembler`; kNone: nobody has one.
  void select_bucket(const Bucket& bucket, std::uint64_t number, Rank assembler);
  // Everything that follows waits for these operations, besides what it needs for its data.
  void set_gate(std::vector<OpId> gate) { gate_ = std::move(gate); }
  // A barrier, drawn at `rank`, that waits for the gate and for `operations`.
  OpId fence(Rank rank, const std::vector<OpId>& operations);
  // The operations made since the last call.
  std::vector<OpId> take_made() { return std::exchange(made_, {}); }

  // Copies the owner's part from its shards into its bucket slot.
  void pack(const BucketPart& part, std::uint32_t run_bytes, std::int64_t cost_ps);
  // Converts what lies whole in the rank's slot of bucket `raw`, number `raw_number`, into its slot
  // of the selected bucket.
  void convert(Rank rank, const Bucket& raw, std::uint64_t raw_number);
  // Moves the bucket from the owner's shards straight into the slot of `to`.
  void read(const CollectivePhase& phase, Rank owner, Rank to);
  // One transfer per non-empty range. In an ordered phase the same call of the previous bucket must
  // be done first: one communicator runs its operations in issue order.
  void hop(const CollectivePhase& phase, Rank from, Rank to, const std::vector<ByteRange>& ranges,
           std::size_t rail);
  // held[j]: ranges that the j-th rank of the line holds when the collective begins.
  void line_all_gather(const CollectivePhase& phase, const std::vector<Rank>& line,
                       const std::vector<std::vector<ByteRange>>& held);
  // Moves the range from the slot of `from` straight into the shards of `to`.
  void deliver(const CollectivePhase& phase, Rank from, Rank to, const ByteRange& range);
  // Copies the range, which the rank wants, out of its bucket slot.
  void load_range(Rank rank, const ByteRange& range);
  // Copies what the rank wants out of its bucket slot.
  void load(Rank rank, std::uint32_t run_bytes, std::int64_t cost_ps);

  std::int64_t largest_bucket() const { return largest_; }

 private:
  struct Writer {
    ByteRange range;
    OpId op;
    std::int32_t collective;  // kNone: a pack
  };
  // What happened to one rank's slot in the current generation.
  struct SlotUse {
    std::uint64_t bucket = 0;
    std::vector<Writer> writers;
    std::vector<OpId> users;           // readers and writers
    std::vector<OpId> previous_users;  // of the bucket before in this slot
  };

  std::uint32_t bucket_slot(Rank rank) const;  // within the class
  std::int32_t slot_of(Rank rank) const;
  SlotUse& use(Rank rank);
  OpSpec base(const ByteRange& range);
  OpId add(const OpSpec& op);
  void set_ports(OpSpec& op, std::size_t rail) const;
  // `op` reads the range from the rank's slot: after what wrote it there, or along with it if that
  // is a hop of the same collective.
  void read_slot(Rank rank, const ByteRange& range, OpId op, std::int32_t collective);
  void add_writer(Rank rank, const ByteRange& range, OpId op, std::int32_t collective);
  OpId transfer(const CollectivePhase& phase, Rank from, Rank to, const ByteRange& range,
                std::size_t rail);

  PlanBuilder& builder_;
  const Fabric& fabric_;
  std::uint32_t bucket_slots_;
  std::vector<SlotUse> slots_;  // rank x (bucket_slots + 1)
  const Bucket* bucket_ = nullptr;
  std::uint64_t number_ = 0;  // of the bucket, from 1
  Rank assembler_ = kNone;
  std::vector<OpId> gate_;
  std::vector<OpId> made_;
  std::uint64_t next_key_ = 0;
  std::int64_t largest_ = 0;
  std::vector<std::vector<OpId>> previous_hops_;  // ordered phases, by call of `hop`
  std::vector<std::vector<OpId>> hops_;
};

// Merges ranges that touch; the result is ascending.
std::vector<ByteRange> merge_ranges(std::vector<ByteRange> ranges);

}  // namespace transload
