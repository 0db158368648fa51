#include "executor/peers/notices.h"

#include <utility>

namespace transload {

void Notices::hear(std::uint32_t operation) {
  const std::lock_guard lock(mutex_);
  if (taker_)
    taker_(operation);
  else
    kept_.push_back(operation);
}

void Notices::hand_to(Transport::Notified taker) {
  const std::lock_guard lock(mutex_);
  taker_ = std::move(taker);
  if (!taker_) return;
  for (const std::uint32_t operation : std::exchange(kept_, {})) taker_(operation);
}

}  // namespace transload
