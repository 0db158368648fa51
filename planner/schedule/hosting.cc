#include "planner/schedule/hosting.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/check.h"
#include "common/error.h"

namespace transload {

Hosting::Hosting(std::vector<std::int32_t> process_of, std::int32_t self)
    : process_of_(std::move(process_of)), self_(self) {
  for (const std::int32_t process : process_of_) processes_ = std::max(processes_, process + 1);
}

Hosting Hosting::blocks(const Plan& plan, std::int32_t processes, std::int32_t self) {
  std::vector<std::int32_t> participants;
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank)
    if (takes_part(plan, static_cast<std::int32_t>(rank)))
      participants.push_back(static_cast<std::int32_t>(rank));
  const auto count = static_cast<std::int64_t>(participants.size());
  if (processes < 1 || processes > count)
    throw InputError(fmt::format(
        "{} processes for a plan of {} participating ranks; expected one process per rank or fewer",
        processes, count));
  TRANSLOAD_CHECK(self >= 0 && self < processes, "a process is one of them");
  std::vector<std::int32_t> process_of(plan.ranks(), 0);
  for (std::int64_t i = 0; i < count; ++i)
    process_of[static_cast<std::size_t>(participants[static_cast<std::size_t>(i)])] =
        static_cast<std::int32_t>(i * processes / count);
  return Hosting(std::move(process_of), self);
}

bool Hosting::share_a_process(const Plan& plan, OpId a, OpId b) const {
  const std::int32_t source = process_of(plan.op_source[b]);
  const std::int32_t destination = process_of(plan.op_destination[b]);
  for (const std::int32_t rank : {plan.op_source[a], plan.op_destination[a]})
    if (process_of(rank) == source || process_of(rank) == destination) return true;
  return false;
}

bool Hosting::waits_here(const Plan& plan, OpId op, OpId before) const {
  if (!sees(plan, op)) return false;
  if (sees(plan, before)) return true;
  return hosts(plan.op_source[op]) && !share_a_process(plan, op, before);
}

std::vector<std::int32_t> Hosting::to_notify(const Plan& plan, OpId op,
                                             std::span<const OpId> successors) const {
  std::vector<std::int32_t> processes;
  if (!hosts(plan.op_destination[op])) return processes;
  for (const OpId next : successors)
    if (!share_a_process(plan, op, next)) processes.push_back(process_of(plan.op_source[next]));
  std::sort(processes.begin(), processes.end());
  processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
  return processes;
}

}  // namespace transload
