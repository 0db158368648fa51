// The plans of NVIDIA's own planner, move by move.
#include "planner/strategy/m2n/moves.h"

#include <gtest/gtest.h>

#include "tests/planner/strategy/m2n/recorded_plans.h"

namespace transload {
namespace {

using testing::PairBytes;
using testing::RecordedJob;
using testing::RecordedPlan;

M2nMoves moves_of(const std::string& job_text, M2nMode mode) {
  const Job job = job_from_text(job_text, "job.yaml", "");
  RefusalList refused;
  const std::vector<M2nTensor> tensors = m2n_tensors(job.problem, refused);
  EXPECT_EQ(refused.take(), std::vector<Unsupported>{});
  return m2n_moves(tensors.at(0), mode, testing::domains_of(job.topology));
}

// Ranks from `first` on come back by `shift`.
PairBytes pair_bytes(const M2nMoves& moves, Rank first, Rank shift) {
  const auto back = [&](Rank rank) { return rank >= first ? rank - shift : rank; };
  PairBytes bytes;
  for (const M2nMove& move : moves.moves)
    bytes[{move.role, back(move.source), back(move.destination)}] += move.end - move.begin;
  return bytes;
}

// Of NVIDIA's plan, what is missing or has other bytes in `ours`, in words.
std::string differences(const PairBytes& theirs, const PairBytes& ours) {
  std::string text;
  for (const auto& [move, bytes] : theirs) {
    const auto [role, from, to] = move;
    const auto found = ours.find(move);
    if (found == ours.end() || found->second != bytes)
      text += fmt::format("{} {} > {} {}: {}; ", name_of(role), from, to, bytes,
                          found == ours.end() ? 0 : found->second);
  }
  return text;
}

TEST(M2nMoves, AreThoseOfNvidiasPlanner) {
  const std::vector<RecordedJob> jobs = testing::recorded_m2n_jobs();
  ASSERT_EQ(jobs.size(), 55u);
  std::size_t compared = 0;
  std::size_t moves = 0;
  for (const RecordedJob& job : jobs)
    for (const RecordedPlan& plan : job.plans)
      for (const M2nMode mode : plan.modes) {
        const Rank shift = plan.path == M2nPath::kSplit ? testing::shift_to_domain(job) : 0;
        const M2nMoves ours = moves_of(testing::job_text(job, shift), mode);
        const PairBytes bytes = pair_bytes(ours, job.destination.first + shift, shift);
        EXPECT_EQ(differences(plan.moves, bytes), "") << job.id << " mode " << int(mode);
        EXPECT_EQ(bytes.size(), plan.moves.size()) << job.id << " mode " << int(mode);
        // g29's destinations begin in the middle of a domain. NVIDIA cuts its domains from their
        // first rank, where the chain would change rail, and so takes the parent communicator; cut
        // at the cluster's own borders there is no such hop, and both paths make the same moves.
        const bool at_true_borders = job.id == "g29" && mode == M2nMode::kDefault;
        EXPECT_EQ(name_of(ours.path), name_of(at_true_borders ? M2nPath::kSplit : plan.path))
            << job.id << " mode " << int(mode);
        ++compared;
        moves += plan.moves.size();
      }
  EXPECT_EQ(compared, 3 * 55u);
  EXPECT_GT(moves, 5000u);
}

}  // namespace
}  // namespace transload
