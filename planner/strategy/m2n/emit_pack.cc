#include <algorithm>
#include <map>
#include <tuple>

#include "planner/strategy/m2n/copy_runs.h"
#include "planner/strategy/m2n/emission.h"
#include "planner/strategy/m2n/send_pieces.h"

namespace transload {
namespace {

// Leaders hand on slices as they land (a kernel cuts every message in 8), which a NIC's queue pairs
// send one after the other. Here a part has as many slices, but none below 4 MiB.
constexpr std::int64_t kSlices = 8;
constexpr std::int64_t kLeastSlice = std::int64_t{4} << 20;

// Staging of one rank: send slots (`send_per_call` for each of its calls in flight), then receive
// slots that hold a whole receipt each.
struct RankStaging {
  std::uint32_t send_per_call = 0;
  std::uint32_t sending_calls = 0;
  std::uint32_t receive_slots = 0;
  std::int64_t send_bytes = 0;
  std::int64_t receive_bytes = 0;
  std::uint32_t send_slots() const { return send_per_call * sending_calls; }
};

// Operations that wrote a byte range of a receive slot in the present call, and those that read
// from it.
struct Arrival {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  OpId op = 0;
};
struct ReceiveSlot {
  std::vector<Arrival> writers;
  std::vector<OpId> readers;
};

class PackEmitter {
 public:
  PackEmitter(M2nEmission& emission, const std::vector<M2nCall>& calls, std::int64_t piece_bytes,
              std::int64_t least_slice)
      : emission_(emission),
        calls_(calls),
        piece_bytes_(piece_bytes),
        least_slice_(least_slice),
        staging_(emission.ranks()) {}

  void emit() {
    for (const M2nCall& call : calls_) measure(call);
    for (std::size_t rank = 0; rank < staging_.size(); ++rank) {
      const RankStaging& its = staging_[rank];
      const auto r = static_cast<Rank>(rank);
      emission_.builder().set_staging(r, SlotClass::kSend, its.send_slots(),
                                      static_cast<std::uint64_t>(its.send_bytes));
      emission_.builder().set_staging(r, SlotClass::kBucket, its.receive_slots,
                                      static_cast<std::uint64_t>(its.receive_bytes));
    }
    emission_.set_typical_bytes(typical_bytes());
    for (const M2nCall& call : calls_) emit_call(call);
  }

 private:
  // Size of the transfer in which the average byte travels.
  std::int64_t typical_bytes() const {
    __int128 weighted = 0;
    __int128 all = 0;
    for (const M2nCall& call : calls_)
      for (const M2nMove& move : call.moves.moves) {
        const std::int64_t bytes = move.end - move.begin;
        const std::int64_t size = move.role == M2nRole::kInject ? std::min(bytes, piece_bytes_)
                                                                : bytes / slices_of(bytes);
        weighted += static_cast<__int128>(bytes) * size;
        all += bytes;
      }
    return all == 0 ? 1 : static_cast<std::int64_t>(weighted / all);
  }

  std::int64_t slices_of(std::int64_t bytes) const {
    return std::clamp<std::int64_t>(bytes / least_slice_, 1, kSlices);
  }

  RankStaging& staging(Rank rank) { return staging_[static_cast<std::size_t>(rank)]; }

  static const M2nReceipt& receipt(const M2nCall& call, std::int32_t shard) {
    return call.moves.receipts[static_cast<std::size_t>(shard)];
  }

  static bool copies_to_itself(const M2nCall& call) { return call.ranks.size() == 1; }

  void measure(const M2nCall& call) {
    if (copies_to_itself(call)) return;
    for (const SendPiece& piece : send_pieces(call, piece_bytes_)) {
      RankStaging& its = staging(piece.source);
      its.send_per_call = std::max(its.send_per_call, piece.slot + 1);
      its.sending_calls = std::max(its.sending_calls, call.slot_of(piece.source) + 1);
      its.send_bytes = std::max(its.send_bytes, piece.end - piece.begin);
    }
    const std::int64_t bytes = receipt(call, 0).begin.back();
    for (const Rank rank : call.tensor.destination.ranks) {
      RankStaging& its = staging(rank);
      its.receive_slots = std::max(its.receive_slots, call.slot_of(rank) + 1);
      its.receive_bytes = std::max(its.receive_bytes, bytes);
    }
  }

  std::int32_t receive_slot(Rank rank) {
    return static_cast<std::int32_t>(staging(rank).send_slots() + call_->slot_of(rank));
  }

  ReceiveSlot& received(Rank rank) {
    const std::vector<Rank>& ranks = call_->tensor.destination.ranks;
    const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank);
    return received_[static_cast<std::size_t>(at - ranks.begin())];
  }

  bool barriers() const { return call_->moves.path != M2nPath::kHostPut; }

  void emit_call(const M2nCall& call) {
    call_ = &call;
    emission_.begin_call();
    bundles_ = emission_.add_bundles(call);
    if (copies_to_itself(call)) {
      emission_.copy_locally(call, bundles_.front());
      return;
    }
    received_.assign(call.tensor.destination.ranks.size(), {});
    transfers_.clear();
    sent_by_.clear();
    pack();
    if (barriers()) entry_ = enter();
    inject();
    const bool split = call.moves.path == M2nPath::kSplit;
    if (split) injected_ = barrier(transfers_);
    hand_on();
    if (barriers()) exit_ = barrier(transfers_);
    end_sources(split ? injected_ : exit_);
    unpack();
  }

  OpId barrier(const std::vector<OpId>& before) {
    return emission_.fence(call_->tensor.destination.ranks.front(), before);
  }

  std::int32_t bundle(std::int32_t shard) const {
    return bundles_[static_cast<std::size_t>(shard)];
  }

  void pack() {
    pieces_ = send_pieces(*call_, piece_bytes_);
    packed_.clear();
    first_piece_.clear();
    for (const SendPiece& piece : pieces_) {
      first_piece_.try_emplace({piece.shard, piece.source, piece.begin}, packed_.size());
      OpSpec op = M2nEmission::range(bundle(piece.shard), piece.begin, piece.end);
      op.destination_slot = send_slot(piece);
      const Box& box = receipt(*call_, piece.shard).boxes[piece.number];
      const std::uint32_t run =
          copy_run_bytes(emission_.problem(), call_->tensor, box, piece.source, Side::kSource);
      std::vector<OpId>& users = emission_.users(piece.source, op.destination_slot);
      std::vector<OpId> before = emission_.before(*call_, piece.source);
      before.insert(before.end(), users.begin(), users.end());
      users.clear();
      packed_.push_back(emission_.copy(op, OpRole::kPack, piece.source, run, std::move(before)));
    }
  }

  std::int32_t send_slot(const SendPiece& piece) {
    return static_cast<std::int32_t>(
        call_->slot_of(piece.source) * staging(piece.source).send_per_call + piece.slot);
  }

  // The kernel's barrier at entry: everybody has packed, and is done with the call before.
  OpId enter() {
    std::vector<OpId> before = packed_;
    for (const Rank rank : call_->ranks) {
      const std::vector<OpId> of_rank = emission_.before(*call_, rank);
      before.insert(before.end(), of_rank.begin(), of_rank.end());
    }
    return barrier(before);
  }

  void inject() {
    for (const M2nMove& move : call_->moves.moves) {
      if (move.role != M2nRole::kInject) continue;
      // A box that goes to several replicas has its pieces once.
      for (std::size_t i = first_piece_.at({move.shard, move.source, move.begin});
           i < pieces_.size() && belongs(pieces_[i], move); ++i) {
        std::vector<OpId> before = {packed_[i]};
        if (barriers()) before.push_back(entry_);
        const std::int32_t slot = send_slot(pieces_[i]);
        const OpId op = put(move, pieces_[i].begin, pieces_[i].end, slot, std::move(before));
        emission_.users(move.source, slot).push_back(op);
        sent_by_.push_back({move.source, op});
      }
    }
  }

  static bool belongs(const SendPiece& piece, const M2nMove& move) {
    return piece.source == move.source && piece.shard == move.shard && piece.end <= move.end;
  }

  // Into the receive slot, when those who had it are done with it.
  OpId put(const M2nMove& move, std::int64_t begin, std::int64_t end, std::int32_t source_slot,
           std::vector<OpId> before) {
    OpSpec op = M2nEmission::range(bundle(move.shard), begin, end);
    op.source_slot = source_slot;
    op.destination_slot = receive_slot(move.destination);
    op.hop = static_cast<std::uint16_t>(move.hop);
    const std::vector<OpId>& users = emission_.users(move.destination, op.destination_slot);
    before.insert(before.end(), users.begin(), users.end());
    if (!barriers()) {
      const std::vector<OpId> own = emission_.before(*call_, move.destination);
      before.insert(before.end(), own.begin(), own.end());
    }
    const OpRole role = move.role == M2nRole::kInject    ? OpRole::kInject
                        : move.role == M2nRole::kForward ? OpRole::kForward
                                                         : OpRole::kFanOut;
    const OpId number =
        emission_.transfer(op, role, move.source, move.destination, std::move(before));
    received(move.destination).writers.push_back({begin, end, number});
    transfers_.push_back(number);
    return number;
  }

  // Chain and fan-out, hop by hop. On the split path they are a kernel of their own, which begins
  // when all injects are done; else a leader hands on what it has.
  void hand_on() {
    std::vector<const M2nMove*> moves;
    bool forwards = false;
    for (const M2nMove& move : call_->moves.moves) {
      if (move.role != M2nRole::kInject) moves.push_back(&move);
      forwards |= move.role == M2nRole::kForward;
    }
    std::stable_sort(moves.begin(), moves.end(),
                     [](const M2nMove* a, const M2nMove* b) { return a->hop < b->hop; });
    // Without a chain and with everything there before it begins, slices change nothing.
    const bool sliced = forwards || call_->moves.path != M2nPath::kSplit;
    std::map<std::pair<Rank, Rank>, OpId> latest;
    for (const M2nMove* move : moves) {
      const std::int64_t bytes = move->end - move->begin;
      const std::int64_t slices = sliced ? slices_of(bytes) : 1;
      for (std::int64_t i = 0; i < slices; ++i) {
        const auto cut = [&](std::int64_t part) {
          return move->begin +
                 static_cast<std::int64_t>(static_cast<__int128>(bytes) * part / slices);
        };
        std::vector<OpId> before;
        const auto [last, first_of_pair] = latest.try_emplace({move->source, move->destination}, 0);
        if (!first_of_pair) before.push_back(last->second);
        last->second = hand_on_slice(*move, cut(i), cut(i + 1), std::move(before));
      }
    }
  }

  OpId hand_on_slice(const M2nMove& move, std::int64_t begin, std::int64_t end,
                     std::vector<OpId> before) {
    ReceiveSlot& from = received(move.source);
    for (const Arrival& arrival : from.writers)
      if (arrival.begin < end && begin < arrival.end) before.push_back(arrival.op);
    if (call_->moves.path == M2nPath::kSplit) before.push_back(injected_);
    const OpId op = put(move, begin, end, receive_slot(move.source), std::move(before));
    from.readers.push_back(op);
    return op;
  }

  // A source is done with the call when its kernel is; where no kernel runs, with its own puts.
  void end_sources(OpId kernel_end) {
    std::stable_sort(sent_by_.begin(), sent_by_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<OpId> own;
    for (const Rank rank : call_->tensor.source.ranks) {
      own.clear();
      for (auto at = std::lower_bound(sent_by_.begin(), sent_by_.end(), std::pair{rank, OpId{0}});
           at != sent_by_.end() && at->first == rank; ++at)
        own.push_back(at->second);
      if (barriers())
        emission_.ends_with(*call_, rank, {kernel_end});
      else if (!own.empty())
        emission_.ends_with(*call_, rank, own);
    }
  }

  void unpack() {
    const M2nMesh& mesh = call_->tensor.destination;
    for (std::int32_t shard = 0; shard < mesh.shards; ++shard)
      for (std::int32_t replica = 0; replica < mesh.replicas; ++replica)
        unpack_on(mesh.rank(replica, shard), shard);
  }

  void unpack_on(Rank rank, std::int32_t shard) {
    const M2nReceipt& its = receipt(*call_, shard);
    OpSpec op = M2nEmission::range(bundle(shard), 0, its.begin.back());
    op.source_slot = receive_slot(rank);
    op.hop = 1;
    std::vector<OpId> before = received(rank).readers;
    if (barriers()) before.push_back(exit_);
    for (const Arrival& arrival : received(rank).writers) before.push_back(arrival.op);
    const std::uint32_t run = copy_run_bytes(emission_.problem(), call_->tensor, its.boxes.front(),
                                             rank, Side::kDestination);
    const OpId number = emission_.copy(op, OpRole::kUnpack, rank, run, std::move(before));
    emission_.users(rank, op.source_slot) = {number};
    emission_.ends_with(*call_, rank, {number});
  }

  M2nEmission& emission_;
  const std::vector<M2nCall>& calls_;
  const std::int64_t piece_bytes_;
  const std::int64_t least_slice_;
  std::vector<RankStaging> staging_;  // by rank
  // Of the present call:
  const M2nCall* call_ = nullptr;
  std::vector<std::int32_t> bundles_;  // by destination shard
  std::vector<SendPiece> pieces_;
  std::map<std::tuple<std::int32_t, Rank, std::int64_t>, std::size_t> first_piece_;  // of a box
  std::vector<OpId> packed_;                                                         // by piece
  OpId entry_ = 0;  // its barriers, where its path has them
  OpId injected_ = 0;
  OpId exit_ = 0;
  std::vector<OpId> transfers_;
  std::vector<std::pair<Rank, OpId>> sent_by_;
  std::vector<ReceiveSlot> received_;  // by position among the destination ranks
};

}  // namespace

M2nEmitResult emit_pack(M2nEmission& emission, const std::vector<M2nCall>& calls,
                        const M2nEmitOptions& options) {
  const bool chosen = options.chunk_bytes > 0;
  const std::int64_t piece_bytes = chosen ? options.chunk_bytes : choose_piece_bytes(calls);
  PackEmitter(emission, calls, piece_bytes, chosen ? options.chunk_bytes : kLeastSlice).emit();
  return {piece_bytes, emission.set_port_windows(options.slots)};
}

}  // namespace transload
