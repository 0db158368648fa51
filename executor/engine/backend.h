// What a back end supplies to the engine: moving bytes of an operation between the places that the
// plan names. It resolves addresses and copies; when anything moves, and in which order, is the
// engine's business.
#pragma once

#include <cstdint>

#include "planner/schedule/plan_file.h"

namespace transload {

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  // Moves bytes [begin, begin + bytes) of the packed order of the operation's bundle, a part of the
  // operation's range; they have landed when it returns. Called from several threads at once, never
  // for two parts of the same operation. May throw; the engine then stops everything.
  virtual void move(OpId op, std::uint64_t begin, std::uint64_t bytes) = 0;
};

}  // namespace transload
