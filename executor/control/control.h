// The control plane as a process sees it: a small store that all processes of a run share, and the
// word about who is lost. Five calls, so that a framework's own store can stand behind them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "executor/peers/failures.h"

namespace transload {

class ControlPlane {
 public:
  ControlPlane() = default;
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;
  virtual ~ControlPlane() = default;

  // Sets a key for all. A key that begins with "failure/" says that something went wrong here; its
  // value is the reason, and a verdict will follow.
  virtual void put(const std::string& key, const std::string& value) = 0;
  // Waits until the key is set. Throws PeerLost when a verdict falls meanwhile (one that had fallen
  // before ends no wait), RunFailure when `timeout_s` passes first.
  virtual std::string wait(const std::string& key, double timeout_s) = 0;
  // Adds to a counter, which begins at zero, and returns its new value.
  virtual std::int64_t add(const std::string& key, std::int64_t amount) = 0;
  // Calls back once, from any thread, when the verdict falls; at once if it has fallen. Returns
  // when no call is under way; an empty function ends the watch.
  virtual void watch(std::function<void(const Verdict&)> fallen) = 0;
  // This process goes in good order: from here on it is neither missed nor dead.
  virtual void leave() = 0;
};

// Returns when `processes` have called it with this name. Throws as `ControlPlane::wait`.
void barrier(ControlPlane& control, const std::string& name, std::int32_t processes,
             double timeout_s);

}  // namespace transload
