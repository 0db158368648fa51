// How much memory this machine can still give, and the refusal when that is too little.
#pragma once

#include <cstdint>
#include <optional>

namespace transload {

// Bytes that can be allocated without swapping: MemAvailable of /proc/meminfo, or less where the
// process's control group (version 2, at its usual mount) is limited. Nothing where neither can be
// read.
std::optional<std::uint64_t> available_memory();

// Throws RunFailure "needs X, Y available; try --scale N" if `needed` bytes exceed `available`.
void require_memory(std::uint64_t needed, std::optional<std::uint64_t> available);

}  // namespace transload
