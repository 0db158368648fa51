#include "planner/strategy/m2n/emission.h"

#include <algorithm>

#include "common/units.h"
#include "planner/strategy/m2n/copy_runs.h"

namespace transload {
namespace {

// Issue groups in the time of a typical transfer. Fewer and a rank waits for its longest transfers,
// more and it waits for latencies (tried on DeepSeek-V3 to 8 x tp32 and to 16 x tp8: 1, 3 and 10
// are 3.0 s and 0.79 s, 2.3 and 0.87, 2.1 and 0.96).
constexpr std::int64_t kGroupsPerTransfer = 4;

}  // namespace

M2nEmission::M2nEmission(PlanBuilder& builder, const ReshardProblem& problem, const Fabric& fabric,
                         Discipline discipline)
    : builder_(builder),
      problem_(problem),
      fabric_(fabric),
      groups_(fabric.port_rate, discipline == Discipline::kGroups),
      loads_(fabric),
      uses_(fabric.port_rate.size()) {}

void M2nEmission::set_typical_bytes(std::int64_t bytes) {
  const std::int64_t time_ps = duration_ps(bytes, fabric_.slowest_nic);
  groups_.set_span_ps(std::max<std::int64_t>(1, time_ps / kGroupsPerTransfer));
}

std::vector<std::int32_t> M2nEmission::add_bundles(const M2nCall& call) {
  std::vector<std::int32_t> bundles;
  for (const M2nReceipt& receipt : call.moves.receipts) {
    std::vector<SliceSpec> slices;
    for (const Box& box : receipt.boxes) {
      const std::vector<SliceSpec> of_box = slices_of(builder_, call.tensor, box);
      slices.insert(slices.end(), of_box.begin(), of_box.end());
    }
    bundles.push_back(builder_.add_bundle(slices));
  }
  return bundles;
}

OpSpec M2nEmission::range(std::int32_t bundle, std::int64_t begin, std::int64_t end) {
  OpSpec op;
  op.bundle = bundle;
  op.begin = static_cast<std::uint64_t>(begin);
  op.bytes = static_cast<std::uint64_t>(end - begin);
  return op;
}

OpId M2nEmission::copy(OpSpec op, OpRole role, Rank rank, std::uint32_t run_bytes,
                       std::vector<OpId> before) {
  const RankPorts& ports = fabric_.ranks[static_cast<std::size_t>(rank)];
  op.kind = OpKind::kCopy;
  op.role = role;
  op.source = op.destination = rank;
  op.out_port = role == OpRole::kUnpack ? ports.unpack : ports.pack;
  op.run_bytes = run_bytes;
  count(op.out_port, true);
  groups_.pass(before);
  return add(op, std::move(before));
}

OpId M2nEmission::transfer(OpSpec op, OpRole role, Rank source, Rank destination,
                           std::vector<OpId> before) {
  const PortPair ports = choose_ports(fabric_, loads_, source, destination);
  loads_.add(ports.out, static_cast<std::int64_t>(op.bytes));
  loads_.add(ports.in, static_cast<std::int64_t>(op.bytes));
  op.kind = OpKind::kTransfer;
  op.role = role;
  op.source = source;
  op.destination = destination;
  op.out_port = ports.out;
  op.in_port = ports.in;
  op.group = groups_.place(ports.out, ports.in, static_cast<std::int64_t>(op.bytes), before);
  count(ports.out, false);
  count(ports.in, false);
  return add(op, std::move(before));
}

OpId M2nEmission::fence(Rank rank, std::vector<OpId> before) {
  OpSpec op;
  op.kind = OpKind::kFence;
  op.role = OpRole::kBarrier;
  op.source = op.destination = rank;
  groups_.pass(before);
  return add(op, std::move(before));
}

OpId M2nEmission::add(OpSpec op, std::vector<OpId> before) {
  op.key = next_key_++;
  const OpId number = builder_.add_op(op);
  std::sort(before.begin(), before.end());
  before.erase(std::unique(before.begin(), before.end()), before.end());
  for (const OpId its : before) builder_.add_after(number, its);
  return number;
}

void M2nEmission::copy_locally(const M2nCall& call, std::int32_t bundle) {
  const Rank rank = call.ranks.front();
  const M2nReceipt& receipt = call.moves.receipts.front();
  const std::uint32_t run =
      copy_run_bytes(problem_, call.tensor, receipt.boxes.front(), rank, Side::kDestination);
  const OpId op =
      copy(range(bundle, 0, receipt.begin.back()), OpRole::kLocal, rank, run, before(call, rank));
  ends_with(call, rank, {op});
}

std::vector<OpId> M2nEmission::before(const M2nCall& call, Rank rank) const {
  std::vector<OpId> all;
  const auto add_all = [&](const auto& table, const auto& key) {
    const auto found = table.find(key);
    if (found != table.end()) all.insert(all.end(), found->second.begin(), found->second.end());
  };
  add_all(last_in_slot_, std::pair{rank, call.slot_of(rank)});
  add_all(last_in_communicator_, std::pair{call.communicator, rank});
  return all;
}

void M2nEmission::ends_with(const M2nCall& call, Rank rank, const std::vector<OpId>& last) {
  last_in_slot_[{rank, call.slot_of(rank)}] = last;
  last_in_communicator_[{call.communicator, rank}] = last;
}

void M2nEmission::count(std::int32_t port, bool copies) {
  PortUse& use = uses_[static_cast<std::size_t>(port)];
  if (use.call != calls_) {
    use.call = calls_;
    use.operations = 0;
  }
  use.most = std::max(use.most, ++use.operations);
  ++use.all;
  use.copies = copies;
}

std::uint32_t M2nEmission::set_port_windows(std::uint32_t slots) {
  std::uint32_t largest = 1;
  for (std::size_t port = 0; port < uses_.size(); ++port) {
    const PortUse& use = uses_[port];
    const bool unlimited = use.copies && groups_.exist();
    const std::uint32_t window = std::max<std::uint32_t>(
        1, unlimited ? use.all
                     : 2 * slots * use.most);  // the second half: calls whose slot came back early
    builder_.set_port_window(static_cast<std::int32_t>(port), window);
    if (!unlimited) largest = std::max(largest, window);
  }
  return largest;
}

}  // namespace transload
