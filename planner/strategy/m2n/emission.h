// What M2N's two transports have in common when their calls become operations: keys, ports, issue
// groups, slots, and who waits for whom between calls. Internal to planner/strategy/m2n.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "planner/strategy/m2n/calls.h"
#include "planner/strategy/m2n/issue_groups.h"
#include "planner/strategy/routes.h"

namespace transload {

// Settings of the job that bear on emission.
struct M2nEmitOptions {
  std::int64_t chunk_bytes = 0;  // 0: the transport's own rule
  std::uint32_t slots = 1;       // of a rank: calls in flight
};

// What was settled on.
struct M2nEmitResult {
  std::int64_t chunk_bytes = 0;
  std::uint32_t window = 1;  // the largest of any port
};

class M2nEmission {
 public:
  M2nEmission(PlanBuilder& builder, const ReshardProblem& problem, const Fabric& fabric,
              Discipline discipline);

  PlanBuilder& builder() { return builder_; }
  const ReshardProblem& problem() const { return problem_; }
  std::size_t ranks() const { return fabric_.ranks.size(); }

  // Bytes of a typical transfer, which tell how much time an issue group stands for.
  void set_typical_bytes(std::int64_t bytes);
  void begin_call() { ++calls_; }

  // One bundle per destination shard: its receipt, source shard after source shard.
  std::vector<std::int32_t> add_bundles(const M2nCall& call);

  // A byte range of a bundle, not yet anywhere.
  static OpSpec range(std::int32_t bundle, std::int64_t begin, std::int64_t end);

  // Each waits for all of `before`, in which operations may stand twice.
  OpId copy(OpSpec op, OpRole role, Rank rank, std::uint32_t run_bytes, std::vector<OpId> before);
  // Over the ports of least load that join the ranks.
  OpId transfer(OpSpec op, OpRole role, Rank source, Rank destination, std::vector<OpId> before);
  OpId fence(Rank rank, std::vector<OpId> before);
  // A call of one rank: a copy from its shards to its shards.
  void copy_locally(const M2nCall& call, std::int32_t bundle);

  // What must be done on `rank` before the call may begin there: its communicator's call before and
  // whoever had its staging slot last.
  std::vector<OpId> before(const M2nCall& call, Rank rank) const;
  // The operations whose end is the call's end on `rank`.
  void ends_with(const M2nCall& call, Rank rank, const std::vector<OpId>& last);
  // Whoever must be done with a slot of the plan before it is written again.
  std::vector<OpId>& users(Rank rank, std::int32_t slot) { return users_[{rank, slot}]; }

  // Gives every port a window that `slots` calls cannot fill, and returns the largest. In issue
  // groups copies have no window: a call whose slot is taken must not hold back later ones, whose
  // transfers may stand in earlier groups.
  std::uint32_t set_port_windows(std::uint32_t slots);

 private:
  OpId add(OpSpec op, std::vector<OpId> before);
  void count(std::int32_t port, bool copies);

  struct PortUse {
    std::uint32_t call = 0;
    std::uint32_t operations = 0;
    std::uint32_t most = 0;  // of any call
    std::uint32_t all = 0;
    bool copies = false;
  };

  PlanBuilder& builder_;
  const ReshardProblem& problem_;
  const Fabric& fabric_;
  IssueGroups groups_;
  PortLoads loads_;
  std::vector<PortUse> uses_;
  std::map<std::pair<std::uint32_t, Rank>, std::vector<OpId>> last_in_communicator_;
  std::map<std::pair<Rank, std::uint32_t>, std::vector<OpId>> last_in_slot_;
  std::map<std::pair<Rank, std::int32_t>, std::vector<OpId>> users_;
  std::uint64_t next_key_ = 0;
  std::uint32_t calls_ = 0;
};

// PACK: copies into send slots, a barrier, injects into the leaders' slots, chain and fan-out, a
// barrier, copies out of the slots. On the host-put path there are no barriers: every rank only
// waits for its own part of the call before.
M2nEmitResult emit_pack(M2nEmission& emission, const std::vector<M2nCall>& calls,
                        const M2nEmitOptions& options);

// DIRECT: every pair in chunks, each packed, sent and unpacked through two slots of its own.
M2nEmitResult emit_direct(M2nEmission& emission, const std::vector<M2nCall>& calls,
                          const M2nEmitOptions& options);

}  // namespace transload
