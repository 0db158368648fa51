// A child process per replay: SimGrid allows one engine in the life of a process, we want many.
//
// The child works on the parent's plan (fork copies nothing that is only read) and hands its times
// back through memory that both share.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace transload {

// Anonymous memory that children of this process write and the process itself reads; zero at first.
class SharedMemory {
 public:
  // RunFailure if the system has not that much.
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  template <class T>
  std::span<T> at(std::size_t offset, std::size_t count) const {
    return {reinterpret_cast<T*>(static_cast<std::byte*>(base_) + offset), count};
  }

 private:
  void* base_;
  std::size_t bytes_;
};

// `work` in a child process, from the constructor on. The child flushes and destroys nothing of the
// parent's. Only for a process without other threads at that moment: a lock that another thread
// holds (an allocator's, say) stays locked in the child for ever.
class ChildProcess {
 public:
  // `what` begins the messages of failures. RunFailure if no process can be made.
  ChildProcess(std::string what, const std::function<void()>& work);
  // Ends a child that nobody waited for.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Waits for the child's end, once. An exception in `work`, another exit code or a signal becomes
  // a RunFailure with the child's words.
  void wait();

 private:
  std::string what_;
  SharedMemory message_;
  pid_t child_ = -1;
};

}  // namespace transload
