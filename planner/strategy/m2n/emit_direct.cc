#include <algorithm>
#include <array>
#include <map>

#include "planner/strategy/m2n/copy_runs.h"
#include "planner/strategy/m2n/emission.h"

namespace transload {
namespace {

// DIRECT's staging channel (NCCL_RESHARD_STAGING_CHANNEL_SIZE): what one pair has in flight.
constexpr std::int64_t kChannelBytes = std::int64_t{8} << 20;
// Larger refits move in larger chunks, so that the plan stays readable by everything behind it.
constexpr std::int64_t kMostChunks = 300'000;
// Slots of a pair: one on the wire, one being packed or unpacked.
constexpr std::uint32_t kPairSlots = 2;

std::int64_t channel_bytes(const std::vector<M2nCall>& calls) {
  std::int64_t bytes = 0;
  for (const M2nCall& call : calls)
    for (const M2nMove& move : call.moves.moves) bytes += move.end - move.begin;
  return std::max(kChannelBytes, bytes / kMostChunks);
}

class DirectEmitter {
 public:
  DirectEmitter(M2nEmission& emission, const std::vector<M2nCall>& calls, std::int64_t chunk_bytes)
      : emission_(emission), calls_(calls), chunk_bytes_(chunk_bytes), staging_(emission.ranks()) {}

  void emit() {
    for (const M2nCall& call : calls_) measure(call);
    for (std::size_t rank = 0; rank < staging_.size(); ++rank)
      for (const SlotClass slot_class : {SlotClass::kSend, SlotClass::kLand}) {
        const ClassStaging& its = of(staging_[rank], slot_class);
        emission_.builder().set_staging(static_cast<Rank>(rank), slot_class, its.slots(),
                                        static_cast<std::uint64_t>(its.bytes));
      }
    emission_.set_typical_bytes(chunk_bytes_);
    for (const M2nCall& call : calls_) emit_call(call);
  }

 private:
  struct ClassStaging {
    std::uint32_t pairs = 0;  // of one call
    std::uint32_t calls = 0;  // in flight
    std::int64_t bytes = 0;   // of a slot
    std::uint32_t slots() const { return kPairSlots * pairs * calls; }
  };
  using RankStaging = std::array<ClassStaging, 2>;

  static ClassStaging& of(RankStaging& staging, SlotClass slot_class) {
    return staging[slot_class == SlotClass::kSend ? 0 : 1];
  }

  // One pair of a call, chunk by chunk.
  struct Pair {
    const M2nMove* move = nullptr;
    std::uint32_t at_source = 0;       // number among the source rank's pairs of the call
    std::uint32_t at_destination = 0;  // and among the destination rank's
    std::int64_t chunks = 0;
    std::uint32_t pack_run = 0;
    std::uint32_t unpack_run = 0;
    std::array<std::vector<OpId>, kPairSlots> sent;  // who used the pair's slots last
    std::array<std::vector<OpId>, kPairSlots> unpacked;
  };

  std::vector<Pair> pairs_of(const M2nCall& call) const {
    std::map<Rank, std::uint32_t> out;
    std::map<Rank, std::uint32_t> in;
    std::vector<Pair> pairs;
    for (const M2nMove& move : call.moves.moves) {
      Pair& pair = pairs.emplace_back();
      pair.move = &move;
      pair.at_source = out[move.source]++;
      pair.at_destination = in[move.destination]++;
      pair.chunks = (move.end - move.begin + chunk_bytes_ - 1) / chunk_bytes_;
    }
    return pairs;
  }

  void measure(const M2nCall& call) {
    for (const Pair& pair : pairs_of(call)) {
      const std::int64_t bytes = std::min(chunk_bytes_, pair.move->end - pair.move->begin);
      grow(call, pair.move->source, SlotClass::kSend, pair.at_source + 1, bytes);
      grow(call, pair.move->destination, SlotClass::kLand, pair.at_destination + 1, bytes);
    }
  }

  void grow(const M2nCall& call, Rank rank, SlotClass slot_class, std::uint32_t pairs,
            std::int64_t bytes) {
    ClassStaging& its = of(staging_[static_cast<std::size_t>(rank)], slot_class);
    its.pairs = std::max(its.pairs, pairs);
    its.calls = std::max(its.calls, call.slot_of(rank) + 1);
    its.bytes = std::max(its.bytes, bytes);
  }

  void emit_call(const M2nCall& call) {
    call_ = &call;
    std::vector<Pair> pairs = pairs_of(call);
    std::int64_t most = 1;
    for (Pair& pair : pairs) {
      most = std::max(most, pair.chunks);
      find_runs(pair);
    }
    emission_.begin_call();
    bundles_ = emission_.add_bundles(call);
    if (call.ranks.size() == 1) {
      emission_.copy_locally(call, bundles_.front());
      return;
    }
    for (std::int64_t chunk = 0; chunk < most; ++chunk)
      for (Pair& pair : pairs)
        if (chunk < pair.chunks) emit_chunk(pair, chunk);
    end(pairs);
  }

  void find_runs(Pair& pair) const {
    const M2nMove& move = *pair.move;
    const M2nReceipt& receipt = call_->moves.receipts[static_cast<std::size_t>(move.shard)];
    const auto at = std::lower_bound(receipt.begin.begin(), receipt.begin.end(), move.begin);
    const Box& box = receipt.boxes[static_cast<std::size_t>(at - receipt.begin.begin())];
    pair.pack_run =
        copy_run_bytes(emission_.problem(), call_->tensor, box, move.source, Side::kSource);
    pair.unpack_run = copy_run_bytes(emission_.problem(), call_->tensor, box, move.destination,
                                     Side::kDestination);
  }

  std::int32_t slot(Rank rank, SlotClass slot_class, std::uint32_t pair, std::size_t turn) {
    RankStaging& its = staging_[static_cast<std::size_t>(rank)];
    const std::uint32_t first = slot_class == SlotClass::kSend ? 0 : its[0].slots();
    const std::uint32_t of_call = kPairSlots * of(its, slot_class).pairs * call_->slot_of(rank);
    return static_cast<std::int32_t>(first + of_call + kPairSlots * pair + turn);
  }

  void emit_chunk(Pair& pair, std::int64_t chunk) {
    const M2nMove& move = *pair.move;
    const auto cut = [&](std::int64_t i) {
      return move.begin + static_cast<std::int64_t>(static_cast<__int128>(move.end - move.begin) *
                                                    i / pair.chunks);
    };
    const auto turn = static_cast<std::size_t>(chunk % kPairSlots);
    OpSpec op =
        emission_.range(bundles_[static_cast<std::size_t>(move.shard)], cut(chunk), cut(chunk + 1));
    op.chunk = static_cast<std::uint32_t>(chunk);
    const std::int32_t send = slot(move.source, SlotClass::kSend, pair.at_source, turn);
    const std::int32_t land = slot(move.destination, SlotClass::kLand, pair.at_destination, turn);
    // A pair's first chunks begin when both ranks are done with the call before.
    const auto before = [&](Rank rank, std::int32_t slot) {
      std::vector<OpId> ops = std::move(emission_.users(rank, slot));
      if (chunk >= kPairSlots) return ops;
      const std::vector<OpId> own = emission_.before(*call_, rank);
      ops.insert(ops.end(), own.begin(), own.end());
      return ops;
    };

    op.destination_slot = send;
    const OpId pack =
        emission_.copy(op, OpRole::kPack, move.source, pair.pack_run, before(move.source, send));
    op.source_slot = send;
    op.destination_slot = land;
    op.hop = 1;
    std::vector<OpId> landing = before(move.destination, land);
    landing.push_back(pack);
    const OpId sent =
        emission_.transfer(op, OpRole::kInject, move.source, move.destination, std::move(landing));
    op.source_slot = land;
    op.destination_slot = kNone;
    op.hop = 2;
    const OpId unpack =
        emission_.copy(op, OpRole::kUnpack, move.destination, pair.unpack_run, {sent});
    emission_.users(move.source, send) = {sent};
    emission_.users(move.destination, land) = {unpack};
    pair.sent[turn] = {sent};
    pair.unpacked[turn] = {unpack};
  }

  // Every rank is done with the call when the last chunks of its pairs are.
  void end(const std::vector<Pair>& pairs) {
    std::map<Rank, std::vector<OpId>> last;
    for (const Pair& pair : pairs)
      for (std::size_t turn = 0; turn < kPairSlots; ++turn) {
        auto& at_source = last[pair.move->source];
        at_source.insert(at_source.end(), pair.sent[turn].begin(), pair.sent[turn].end());
        auto& at_destination = last[pair.move->destination];
        at_destination.insert(at_destination.end(), pair.unpacked[turn].begin(),
                              pair.unpacked[turn].end());
      }
    for (const auto& [rank, ops] : last) emission_.ends_with(*call_, rank, ops);
  }

  M2nEmission& emission_;
  const std::vector<M2nCall>& calls_;
  const std::int64_t chunk_bytes_;
  std::vector<RankStaging> staging_;  // by rank
  const M2nCall* call_ = nullptr;
  std::vector<std::int32_t> bundles_;
};

}  // namespace

M2nEmitResult emit_direct(M2nEmission& emission, const std::vector<M2nCall>& calls,
                          const M2nEmitOptions& options) {
  const std::int64_t chunk_bytes =
      options.chunk_bytes > 0 ? options.chunk_bytes : channel_bytes(calls);
  DirectEmitter(emission, calls, chunk_bytes).emit();
  return {chunk_bytes, emission.set_port_windows(options.slots)};
}

}  // namespace transload
