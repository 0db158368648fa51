#include "executor/peers/failures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace transload {
namespace {

std::string describe(const Verdict& verdict) {
  if (verdict.dead.empty())
    return fmt::format("epoch {}: the refit was stopped on all processes: {}", verdict.epoch,
                       verdict.reason);
  return fmt::format("epoch {}: lost {} {}: {}", verdict.epoch,
                     verdict.dead.size() == 1 ? "process" : "processes",
                     fmt::join(verdict.dead, ", "), verdict.reason);
}

}  // namespace

PeerLost::PeerLost(Verdict verdict) : RunFailure(describe(verdict)), verdict_(std::move(verdict)) {}

}  // namespace transload
