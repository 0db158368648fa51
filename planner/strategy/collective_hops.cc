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

CollectiveEmitter::CollectiveEmitter(PlanBuilder& builder, const Fabric& fabric,
                                     std::uint32_t bucket_slots)
    : builder_(builder),
      fabric_(fabric),
      bucket_slots_(bucket_slots),
      slots_(fabric.ranks.size() * (bucket_slots + 1)),
      next_key_(builder.next_key()) {}

void CollectiveEmitter::begin_bucket(const Bucket& bucket) {
  select_bucket(bucket, number_ + 1, kNone);
  previous_hops_ = std::move(hops_);
  hops_.clear();
}

void CollectiveEmitter::select_bucket(const Bucket& bucket, std::uint64_t number, Rank assembler) {
  bucket_ = &bucket;
  number_ = number;
  assembler_ = assembler;
  largest_ = std::max(largest_, bucket.bytes);
}

std::uint32_t CollectiveEmitter::bucket_slot(Rank rank) const {
  return rank == assembler_ ? bucket_slots_
                            : static_cast<std::uint32_t>((number_ - 1) % bucket_slots_);
}

std::int32_t CollectiveEmitter::slot_of(Rank rank) const {
  return builder_.first_slot(rank, SlotClass::kBucket) +
         static_cast<std::int32_t>(bucket_slot(rank));
}

CollectiveEmitter::SlotUse& CollectiveEmitter::use(Rank rank) {
  SlotUse& slot = slots_[static_cast<std::size_t>(rank) * (bucket_slots_ + 1) + bucket_slot(rank)];
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

OpId CollectiveEmitter::add(const OpSpec& op) {
  const OpId number = builder_.add_op(op);
  for (const OpId before : gate_) builder_.add_after(number, before);
  made_.push_back(number);
  return number;
}

OpId CollectiveEmitter::fence(Rank rank, const std::vector<OpId>& operations) {
  OpSpec op;
  op.key = next_key_++;
  op.kind = OpKind::kFence;
  op.role = OpRole::kBarrier;
  op.source = op.destination = rank;
  const OpId number = builder_.add_op(op);
  for (const OpId before : gate_) builder_.add_after(number, before);
  for (const OpId before : operations) builder_.add_after(number, before);
  return number;
}

void CollectiveEmitter::set_ports(OpSpec& op, std::size_t rail) const {
  const RankPorts& source = fabric_.ranks[static_cast<std::size_t>(op.source)];
  const RankPorts& destination = fabric_.ranks[static_cast<std::size_t>(op.destination)];
  const bool one_domain = fabric_.domain[static_cast<std::size_t>(op.source)] ==
                          fabric_.domain[static_cast<std::size_t>(op.destination)];
  if (one_domain && source.nvlink_out != kNone && destination.nvlink_in != kNone) {
    op.out_port = source.nvlink_out;
    op.in_port = destination.nvlink_in;
  } else {
    TRANSLOAD_CHECK(!source.nic_out.empty() && !destination.nic_in.empty(), "ranks have NICs");
    op.out_port = source.nic_out[rail % source.nic_out.size()];
    op.in_port = destination.nic_in[rail % destination.nic_in.size()];
  }
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
  op.destination_slot = slot_of(part.owner);
  op.run_bytes = run_bytes;
  op.cost_ps = cost_ps;
  add_writer(part.owner, part.range, add(op), kNone);
}

void CollectiveEmitter::convert(Rank rank, const Bucket& raw, std::uint64_t raw_number) {
  const ByteRange all{0, bucket_->bytes};
  OpSpec op = base(all);
  op.kind = OpKind::kConvert;
  op.role = OpRole::kConvert;
  op.source = op.destination = rank;
  op.out_port = fabric_.ranks[static_cast<std::size_t>(rank)].pack;
  op.destination_slot = slot_of(rank);
  op.hop = 1;
  const Bucket* const made = std::exchange(bucket_, &raw);
  const std::uint64_t number = std::exchange(number_, raw_number);
  op.read_bundle = raw.bundle;
  op.source_slot = slot_of(rank);
  const OpId convert = add(op);
  read_slot(rank, {0, raw.bytes}, convert, kNone);
  bucket_ = made;
  number_ = number;
  add_writer(rank, all, convert, kNone);
}

void CollectiveEmitter::read(const CollectivePhase& phase, Rank owner, Rank to) {
  const ByteRange range{0, bucket_->bytes};
  OpSpec op = base(range);
  op.kind = OpKind::kTransfer;
  op.role = phase.role;
  op.source = owner;
  op.destination = to;
  set_ports(op, 0);
  op.destination_slot = slot_of(to);
  op.group = phase.group;
  op.hop = 1;
  add_writer(to, range, add(op), kNone);
}

void CollectiveEmitter::read_slot(Rank rank, const ByteRange& range, OpId op,
                                  std::int32_t collective) {
  SlotUse& slot = use(rank);
  for (const Writer& writer : slot.writers) {
    if (!overlap(writer.range, range)) continue;
    if (collective != kNone && writer.collective == collective)
      builder_.add_stream(op, writer.op);
    else
      builder_.add_after(op, writer.op);
  }
  slot.users.push_back(op);
}

void CollectiveEmitter::deliver(const CollectivePhase& phase, Rank from, Rank to,
                                const ByteRange& range) {
  OpSpec op = base(range);
  op.kind = OpKind::kTransfer;
  op.source = from;
  op.destination = to;
  set_ports(op, 0);
  const bool nvlink = op.out_port == fabric_.ranks[static_cast<std::size_t>(from)].nvlink_out;
  op.role = nvlink ? OpRole::kFanOut : phase.role;
  op.source_slot = slot_of(from);
  op.group = phase.group;
  op.hop = 2;
  read_slot(from, range, add(op), kNone);
}

void CollectiveEmitter::load_range(Rank rank, const ByteRange& range) {
  OpSpec op = base(range);
  op.kind = OpKind::kCopy;
  op.role = OpRole::kUnpack;
  op.source = op.destination = rank;
  op.out_port = fabric_.ranks[static_cast<std::size_t>(rank)].unpack;
  op.source_slot = slot_of(rank);
  op.hop = 2;
  read_slot(rank, range, add(op), kNone);
}

OpId CollectiveEmitter::transfer(const CollectivePhase& phase, Rank from, Rank to,
                                 const ByteRange& range, std::size_t rail) {
  OpSpec op = base(range);
  op.kind = OpKind::kTransfer;
  op.role = phase.role;
  op.source = from;
  op.destination = to;
  set_ports(op, rail);
  op.source_slot = slot_of(from);
  op.destination_slot = slot_of(to);
  op.group = phase.group;
  op.collective = phase.id;
  op.hop = 1;
  const OpId number = add(op);
  read_slot(from, range, number, phase.id);
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
  op.source_slot = slot_of(rank);
  op.run_bytes = run_bytes;
  op.cost_ps = cost_ps;
  op.hop = 2;
  const OpId number = add(op);
  for (const Writer& writer : slot.writers) builder_.add_after(number, writer.op);
  slot.users.push_back(number);
}

}  // namespace transload
