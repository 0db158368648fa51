// What can go wrong between processes, as types: all are RunFailure (exit code 3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/error.h"

namespace transload {

// One process's own view: a connection broke or a checksum did not match. It may name the wrong
// peer (one that itself gave up), so it is reported to the control service and not to the user.
class TransportFailure : public RunFailure {
 public:
  TransportFailure(std::int32_t process, const std::string& problem)
      : RunFailure(problem), process_(process) {}
  std::int32_t process() const { return process_; }

 private:
  std::int32_t process_;
};

// What all survivors agree on: the same epoch, dead processes and reason in every one of them.
struct Verdict {
  std::uint64_t epoch = 0;
  std::vector<std::int32_t> dead;  // ascending; empty where a transfer broke and nobody died
  std::string reason;              // what was reported, in words
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

class PeerLost : public RunFailure {
 public:
  explicit PeerLost(Verdict verdict);
  const Verdict& verdict() const { return verdict_; }

 private:
  Verdict verdict_;
};

}  // namespace transload
