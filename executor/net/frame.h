// What travels on a connection between two processes: a fixed header, and behind a data frame its
// bytes.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "executor/peers/transport.h"

namespace transload {

enum class FrameKind : std::uint32_t {
  kHello,   // the first frame of a connection: who calls, and about which run
  kReady,   // the receiver has room for a part
  kData,    // the part
  kNotice,  // an operation has finished
};

struct FrameHeader {
  std::uint32_t magic = kMagic;
  FrameKind kind = FrameKind::kHello;
  PartTag tag;
  std::uint32_t sender = 0;  // process
  std::uint64_t bytes = 0;   // that follow; hello: the plane
  std::uint64_t check = 0;   // xxh3 of them; hello: of the run's name

  static constexpr std::uint32_t kMagic = 0x4c52'5401;  // "\1TRL": version and name
};
static_assert(sizeof(FrameHeader) == 40 && std::is_trivially_copyable_v<FrameHeader>);
static_assert(std::endian::native == std::endian::little, "frames are little-endian");

}  // namespace transload
