// What a back end supplies to the engine: moving bytes of an operation between the places that the
// plan names. It resolves addresses and copies; when anything moves, and in which order, is the
// engine's business.
//
// A back end whose ranks are spread over processes has transfers that cross from one process to
// another: those it only begins (`post`), in parts of equal size on both sides, and says later that
// a part has landed, or may be overwritten at its source.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>

#include "planner/schedule/hosting.h"
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

  // Which ranks are here; null: all of them. Lives as long as the back end.
  virtual const Hosting* hosting() const { return nullptr; }

  // Begins the half of part `part` of a crossing transfer that is done here, and returns. `done` is
  // called once, from any thread, with null or with what went wrong.
  using Done = std::function<void(std::exception_ptr)>;
  virtual void post(OpId op, std::uint32_t part, std::uint64_t begin, std::uint64_t bytes,
                    Done done);
  // Tells a process that an operation has finished that it cannot see but waits for.
  virtual void notify(std::int32_t process, OpId op);
  // What to do with such notices from others; called from any thread. Empty: none is taken.
  using Notified = std::function<void(OpId)>;
  virtual void on_notice(Notified notified);
  // Returns once nothing in flight touches memory any more and no `done` is called any more.
  virtual void stop() {}
};

}  // namespace transload
