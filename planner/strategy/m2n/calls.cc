#include "planner/strategy/m2n/calls.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace transload {
namespace {

// Where a tensor stands in the order of issue.
struct Turn {
  std::uint32_t kind = 0;          // by first appearance
  std::uint32_t round = 0;         // among its communicator's tensors of the kind
  std::uint32_t communicator = 0;  // by first appearance
  std::size_t tensor = 0;
  friend bool operator<(const Turn& a, const Turn& b) {
    return std::tie(a.kind, a.round, a.communicator) < std::tie(b.kind, b.round, b.communicator);
  }
};

std::vector<Turn> turns_of(const std::vector<M2nTensor>& tensors) {
  std::map<std::pair<std::vector<Rank>, std::vector<Rank>>, std::uint32_t> communicators;
  std::map<std::string, std::uint32_t> kinds;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> rounds;
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Turn turn;
    turn.tensor = i;
    turn.communicator = communicators
                            .try_emplace({tensors[i].source.ranks, tensors[i].destination.ranks},
                                         static_cast<std::uint32_t>(communicators.size()))
                            .first->second;
    turn.kind =
        kinds.try_emplace(kind_of_name(tensors[i].name), static_cast<std::uint32_t>(kinds.size()))
            .first->second;
    turn.round = rounds[{turn.kind, turn.communicator}]++;
    turns.push_back(turn);
  }
  std::sort(turns.begin(), turns.end());
  return turns;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::uint32_t M2nCall::slot_of(Rank rank) const {
  const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank);
  return slot[static_cast<std::size_t>(at - ranks.begin())];
}

std::vector<M2nCall> m2n_calls(std::vector<M2nTensor> tensors, std::vector<M2nMoves> moves,
                               std::uint32_t slots) {
  std::map<Rank, std::uint32_t> calls_of_rank;
  std::vector<M2nCall> calls;
  calls.reserve(tensors.size());
  for (const Turn& turn : turns_of(tensors)) {
    M2nCall& call = calls.emplace_back();
    call.communicator = turn.communicator;
    call.tensor = std::move(tensors[turn.tensor]);
    call.moves = std::move(moves[turn.tensor]);
    std::set_union(call.tensor.source.ranks.begin(), call.tensor.source.ranks.end(),
                   call.tensor.destination.ranks.begin(), call.tensor.destination.ranks.end(),
                   std::back_inserter(call.ranks));
    for (const Rank rank : call.ranks) call.slot.push_back(calls_of_rank[rank]++ % slots);
  }
  return calls;
}

std::string kind_of_name(const std::string& name) {
  std::string kind;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool begins = i == 0 || name[i - 1] == '.';
    std::size_t end = i;
    while (begins && end < name.size() && is_digit(name[end])) ++end;
    if (end > i && (end == name.size() || name[end] == '.')) {
      kind += '*';
      i = end - 1;
    } else {
      kind += name[i];
    }
  }
  return kind;
}

}  // namespace transload
