#include "planner/strategy/m2n/send_pieces.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace transload {
namespace {

// Smaller pieces save no memory worth their operations.
constexpr std::int64_t kLeastPiece = std::int64_t{1} << 20;

struct SentBox {
  Rank source = 0;
  std::int32_t shard = 0;
  std::size_t number = 0;
  std::int64_t bytes = 0;
};

// Each box once, however many replicas it goes to.
std::vector<SentBox> sent_boxes(const M2nCall& call) {
  std::vector<SentBox> boxes;
  std::set<std::tuple<std::int32_t, Rank, std::int64_t>> seen;
  for (const M2nMove& move : call.moves.moves) {
    if (move.role != M2nRole::kInject) continue;
    if (!seen.insert({move.shard, move.source, move.begin}).second) continue;
    const M2nReceipt& receipt = call.moves.receipts[static_cast<std::size_t>(move.shard)];
    const auto at = std::lower_bound(receipt.begin.begin(), receipt.begin.end(), move.begin);
    boxes.push_back({move.source, move.shard, static_cast<std::size_t>(at - receipt.begin.begin()),
                     move.end - move.begin});
  }
  return boxes;
}

std::int64_t pieces_of(std::int64_t bytes, std::int64_t piece_bytes) {
  return (bytes + piece_bytes - 1) / piece_bytes;
}

}  // namespace

std::vector<SendPiece> send_pieces(const M2nCall& call, std::int64_t piece_bytes) {
  std::vector<SendPiece> pieces;
  std::map<Rank, std::uint32_t> next_slot;
  for (const SentBox& box : sent_boxes(call)) {
    const std::int64_t first =
        call.moves.receipts[static_cast<std::size_t>(box.shard)].begin[box.number];
    const std::int64_t count = pieces_of(box.bytes, piece_bytes);
    std::int64_t at = 0;
    for (std::int64_t i = 1; i <= count; ++i) {
      const auto end = static_cast<std::int64_t>(static_cast<__int128>(box.bytes) * i / count);
      pieces.push_back(
          {box.source, box.shard, box.number, first + at, first + end, next_slot[box.source]++});
      at = end;
    }
  }
  return pieces;
}

std::int64_t choose_piece_bytes(const std::vector<M2nCall>& calls) {
  // What one rank sends in one call, as sizes of boxes and how often each occurs. Calls of the
  // layers of a model look alike, so few are different.
  using Sizes = std::map<std::int64_t, std::int64_t>;
  std::map<Rank, std::set<Sizes>> sends;
  std::int64_t largest = 1;
  for (const M2nCall& call : calls) {
    std::map<Rank, Sizes> of_call;
    for (const SentBox& box : sent_boxes(call)) {
      ++of_call[box.source][box.bytes];
      largest = std::max(largest, box.bytes);
    }
    for (auto& [rank, sizes] : of_call) sends[rank].insert(std::move(sizes));
  }
  const auto staging = [&](std::int64_t piece_bytes) {
    std::int64_t most = 0;
    for (const auto& [rank, distinct] : sends) {
      std::int64_t slots = 0;
      for (const Sizes& sizes : distinct) {
        std::int64_t need = 0;
        for (const auto& [bytes, count] : sizes) need += count * pieces_of(bytes, piece_bytes);
        slots = std::max(slots, need);
      }
      most = std::max(most, slots * piece_bytes);
    }
    return most;
  };
  std::int64_t best = largest;
  std::int64_t best_staging = staging(largest);
  for (std::int64_t piece = largest / 2; piece >= kLeastPiece; piece /= 2)
    if (const std::int64_t need = staging(piece); need < best_staging - best_staging / 5) {
      best = piece;
      best_staging = need;
    }
  return best;
}

}  // namespace transload
