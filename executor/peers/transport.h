// How bytes of crossing transfers get from one process to another. A transport knows processes,
// tags and memory; it knows nothing of plans.
//
// Both sides begin every part, in any order of tags; bytes travel when both have (no side needs
// memory for what nobody waits for). Completion is reported through a callback from a thread of the
// transport.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <span>

namespace transload {

// Names a part of a transfer in one refit; the same on both sides.
struct PartTag {
  std::uint32_t refit = 0;
  std::uint32_t operation = 0;
  std::uint32_t part = 0;
  friend auto operator<=>(const PartTag&, const PartTag&) = default;
};

// The network or the NVLink side of a process, where both have addresses of their own.
enum class Plane : std::uint8_t { kNetwork, kNvlink };

class Transport {
 public:
  // Null, or TransportFailure (executor/peers/failures.h).
  using Done = std::function<void(std::exception_ptr)>;
  using Notified = std::function<void(std::uint32_t operation)>;

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  // The memory must stay until `done` is called or `stop` has returned. Never blocks for a peer.
  virtual void send(std::int32_t process, Plane plane, const PartTag& tag,
                    std::span<const std::byte> bytes, Done done) = 0;
  virtual void receive(std::int32_t process, Plane plane, const PartTag& tag,
                       std::span<std::byte> bytes, Done done) = 0;
  // A word about an operation; arrives once, in any order.
  virtual void notify(std::int32_t process, std::uint32_t operation) = 0;
  // Notices that came before are handed over at once.
  virtual void on_notice(Notified notified) = 0;
  // Afterwards no memory is touched, no `done` is called, and nothing can be begun.
  virtual void stop() = 0;
};

}  // namespace transload
