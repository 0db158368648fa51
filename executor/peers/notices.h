// Notices of finished operations between a transport, which hears them, and the engine, which
// wants them: those that come before anybody wants them are kept.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "executor/peers/transport.h"

namespace transload {

class Notices {
 public:
  // Held while a notice is handed over, so that whoever takes notices may go once it has said so.
  void hear(std::uint32_t operation);
  // What was kept is handed over at once. Empty: from here on they are kept.
  void hand_to(Transport::Notified taker);

 private:
  std::mutex mutex_;
  Transport::Notified taker_;
  std::vector<std::uint32_t> kept_;
};

}  // namespace transload
