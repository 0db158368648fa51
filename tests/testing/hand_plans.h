// Small plans made by hand, right in every respect, for tests of whatever reads plans: the checker,
// the plan file, the issue rule. Tests break them one rule at a time with `edit`.
#pragma once

#include <functional>
#include <vector>

#include "planner/schedule/builder.h"

namespace transload::testing {

// A builder with `ranks` GPUs, `per_node` to a node, which is an NVLink domain; every rank has one
// port of every kind. All links run at 1 GB/s without latency.
class HandPlan {
 public:
  HandPlan(std::int32_t ranks, std::int32_t per_node, std::uint32_t window = 4);

  PlanBuilder builder;
  PlanHeader header;

  std::int32_t port(std::int32_t rank, PortKind kind) const;
  // Operations take their key from the order of the calls. `after` holds earlier return values.
  OpId copy(OpRole role, std::int32_t rank, std::int32_t bundle, std::uint64_t begin,
            std::uint64_t bytes, std::int32_t source_slot, std::int32_t destination_slot,
            const std::vector<OpId>& after = {});
  // Out of shards, on the pack port.
  OpId convert(std::int32_t rank, std::int32_t bundle, std::uint64_t begin, std::uint64_t bytes,
               std::int32_t destination_slot, const std::vector<OpId>& after = {});
  OpId transfer(OpRole role, std::int32_t source, std::int32_t destination, std::int32_t bundle,
                std::uint64_t begin, std::uint64_t bytes, std::int32_t source_slot,
                std::int32_t destination_slot, const std::vector<OpId>& after = {},
                std::int32_t group = kNone);
  // A hop of collective 0, streaming from `upstream`.
  OpId hop(std::int32_t source, std::int32_t destination, std::int32_t bundle, std::uint64_t bytes,
           std::int32_t slot, const std::vector<OpId>& after, const std::vector<OpId>& upstream);
  Plan seal() { return builder.seal(header); }

 private:
  OpId add(OpSpec op, const std::vector<OpId>& after);

  std::int32_t per_node_;
  std::vector<std::int32_t> ports_;  // rank x kind
};

// Rank 0 sends a [4, 8] fp32 tensor to rank 1 without staging. Operation 0 is the transfer.
Plan direct_plan();

// Rank 0 holds a [8, 16] fp32 tensor, rank 1 (another node) wants columns [0, 8): 256 bytes in
// chunks of 64 through two send and two land slots. Chunk c is operations 3c (pack), 3c + 1
// (transfer), 3c + 2 (unpack). Slots on either rank: send 0-1, land 2-3 (every class has two).
Plan staged_plan();
// The same in groups: chunk c travels in group c, at most one transfer of a rank in a group.
Plan grouped_plan();

// Rank 0 sends an [8, 8] fp32 tensor to rank 2, which unpacks it (operation 2) and fans it out to
// rank 3 of its node (operation 3, straight into its shard). 0: pack, 1: inject.
Plan fan_out_plan();

// Two broadcasts of a bucket of two tensors of 128 bytes from rank 0 through rank 1 to rank 2, all
// on different nodes, in one bucket slot (number 0) per rank. Rank 1 wants tensor 0 and 2, rank 2
// tensor 1 and 3 of each round: unpacking clips. Round k is operations 5k: pack, hop 0->1, hop 1->2
// (streams from the first), unpack on 1, unpack on 2.
Plan broadcast_plan();

// Shared buffers, padding and a tied name. Rank 0 holds q [8, 4], k [4, 4] and v [4, 4] (fp32) in
// one buffer, two groups of q 4 rows, k 2, v 2, and embed [6, 4] in another. Rank 1 (another node)
// wants all of q, k, v one after the other in a buffer with 16 zero bytes behind k and 16 bytes
// behind v that nobody writes (operation 0: directly), and lm_head, another name of embed, in rows
// of 5 elements of which the last is zero, with two rows of zeros behind them (1: pack, 2:
// transfer, 3: unpack).
Plan shared_plan();

// The plan with its tables changed and sealed again; header changes through the second argument.
Plan edit(const Plan& plan, const std::function<void(PlanTables&)>& change,
          const std::function<void(PlanHeader&)>& change_header = {});
// Removes / adds an edge of `op` in a CSR of the tables.
void erase_edge(std::vector<std::uint64_t>& first, std::vector<OpId>& edges, OpId op, OpId before);
void insert_edge(std::vector<std::uint64_t>& first, std::vector<OpId>& edges, OpId op, OpId before);

}  // namespace transload::testing
