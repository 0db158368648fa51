#include "planner/strategy/collective_hops.h"

#include <algorithm>

#include "common/check.h"

namespace transload {
namespace {

bool overlap(const ByteRange& a, const ByteRange& b) { return a.begin < b.end && b.begin < a.end; }

}  // namespace

std::vector<ByteRange> merge_ranges(std::vector<ByteRange> ranges) {
  std::erase_if(ranges, [](const ByteRange& range) { return range.empty(); });
  std::sort(ranges.begin(), ranges.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  std::vector<ByteRange> merged;
  for (const ByteRange& range : ranges) {
    if (!merged.empty() && range.begin <= merged.back().end)
      merged.back().end = std::max(merged.back().end, range.end);
    else
      merged.push_back(range);
  }
  return merged;
}

CollectiveEmitter::CollectiveEmitter(PlanBuilder& builder, const Fabric& fabric)
    : builder_(builder), fabric_(fabric), slots_(fabric.ranks.size() * kBucketSlots) {}

void CollectiveEmitter::begin_bucket(const Bucket& bucket) {
  bucket_ = &bucket;
  ++number_;
  largest_ = std::max(largest_, bucket.bytes);
  previous_hops_ = std::move(hops_);
  hops_.clear();
}

CollectiveEmitter::SlotUse& CollectiveEmitter::use(Rank rank) {
  SlotUse& slot =
      slots_[static_cast<std::size_t>(rank) * kBucketSlots + (number_ - 1) % kBucketSlots];
  if (slot.bucket != number_) {
    slot.bucket = number_;
    slot.writers.clear();
    slot.previous_users = std::move(slot.users);
    slot.users.clear();
  }
  return slot;
}

OpSpec CollectiveEmitter::base(const ByteRange& range) {
  OpSpec op;
  op.key = next_key_++;
  op.bundle = bucket_->bundle;
  op.begin = static_cast<std::uint64_t>(range.begin);
  op.bytes = static_cast<std::uint64_t>(range.end - range.begin);
  op.chunk = static_cast<std::uint32_t>(number_ - 1);
  return op;
}

void CollectiveEmitter::add_writer(Rank rank, const ByteRange& range, OpId op,
                                   std::int32_t collective) {
  SlotUse& slot = use(rank);
  for (OpId before : slot.previous_users) builder_.add_after(op, before);
  slot.writers.push_back({range, op, collective});
  slot.users.push_back(op);
}

void CollectiveEmitter::pack(const BucketPart& part, std::uint32_t run_bytes,
                             std::int64_t cost_ps) {
  OpSpec op = base(part.range);
  op.kind = OpKind::kCopy;
  op.role = OpRole::kPack;
  op.source = op.destination = part.owner;
  op.out_port = fabric_.ranks[static_cast<std::size_t>(part.owner)].pack;
  op.destination_slot = static_cast<std::int32_t>((number_ - 1) % kBucketSlots);
  op.run_bytes = run_bytes;
  op.cost_ps = cost_ps;
  add_writer(part.owner, part.range, builder_.add_op(op), kNone);
}

OpId CollectiveEmitter::transfer(const CollectivePhase& phase, Rank from, Rank to,
                                 const ByteRange& range, std::size_t rail) {
  const RankPorts& source = fabric_.ranks[static_cast<std::size_t>(from)];
  const RankPorts& destination = fabric_.ranks[static_cast<std::size_t>(to)];
  const bool one_domain = fabric_.domain[static_cast<std::size_t>(from)] ==
                          fabric_.domain[static_cast<std::size_t>(to)];
  OpSpec op = base(range);
  op.kind = OpKind::kTransfer;
  op.role = phase.role;
  op.source = from;
  op.destination = to;
  if (one_domain && source.nvlink_out != kNone && destination.nvlink_in != kNone) {
    op.out_port = source.nvlink_out;
    op.in_port = destination.nvlink_in;
  } else {
    TRANSLOAD_CHECK(!source.nic_out.empty() && !destination.nic_in.empty(), "ranks have NICs");
    op.out_port = source.nic_out[rail % source.nic_out.size()];
    op.in_port = destination.nic_in[rail % destination.nic_in.size()];
  }
  op.source_slot = op.destination_slot = static_cast<std::int32_t>((number_ - 1) % kBucketSlots);
  op.group = phase.group;
  op.collective = phase.id;
  op.hop = 1;
  const OpId number = builder_.add_op(op);
  SlotUse& slot = use(from);
  for (const Writer& writer : slot.writers) {
    if (!overlap(writer.range, range)) continue;
    if (writer.collective == phase.id)
      builder_.add_stream(number, writer.op);
    else
      builder_.add_after(number, writer.op);
  }
  slot.users.push_back(number);
  add_writer(to, range, number, phase.id);
  return number;
}

void CollectiveEmitter::hop(const CollectivePhase& phase, Rank from, Rank to,
                            const std::vector<ByteRange>& ranges, std::size_t rail) {
  std::vector<OpId> transfers;
  for (const ByteRange& range : merge_ranges(ranges))
    transfers.push_back(transfer(phase, from, to, range, rail));
  if (!phase.ordered) return;
  if (hops_.size() < previous_hops_.size())
    for (OpId number : transfers)
      for (OpId before : previous_hops_[hops_.size()]) builder_.add_after(number, before);
  hops_.push_back(std::move(transfers));
}

void CollectiveEmitter::line_all_gather(const CollectivePhase& phase, const std::vector<Rank>& line,
                                        const std::vector<std::vector<ByteRange>>& held) {
  std::vector<ByteRange> carried;
  for (std::size_t j = 0; j + 1 < line.size(); ++j) {
    carried.insert(carried.end(), held[j].begin(), held[j].end());
    hop(phase, line[j], line[j + 1], carried, 0);
  }
  carried.clear();
  for (std::size_t j = line.size(); j-- > 1;) {
    carried.insert(carried.end(), held[j].begin(), held[j].end());
    hop(phase, line[j], line[j - 1], carried, 0);
  }
}

void CollectiveEmitter::load(Rank rank, std::uint32_t run_bytes, std::int64_t cost_ps) {
  SlotUse& slot = use(rank);
  OpSpec op = base({0, bucket_->bytes});
  op.kind = OpKind::kCopy;
  op.role = OpRole::kLoad;
  op.source = op.destination = rank;
  op.out_port = fabric_.ranks[static_cast<std::size_t>(rank)].unpack;
  op.source_slot = static_cast<std::int32_t>((number_ - 1) % kBucketSlots);
  op.run_bytes = run_bytes;
  op.cost_ps = cost_ps;
  op.hop = 2;
  const OpId number = builder_.add_op(op);
  for (const Writer& writer : slot.writers) builder_.add_after(number, writer.op);
  slot.users.push_back(number);
}

}  // namespace transload
