// The data rate of an InfiniBand link as its tools print it: "4xNDR" is four lanes of NDR.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace transload {

// Bytes/s in one direction after line coding, or nothing for another word. Source: the InfiniBand
// Trade Association's roadmap (SDR to QDR carry 8 of 10 bits, FDR and later 64 of 66).
std::optional<std::int64_t> infiniband_rate(std::string_view width_and_speed);

}  // namespace transload
