// A child process per replay: SimGrid allows one engine in the life of a process, we want many.
//
// The child works on the parent's plan (fork copies nothing that is only read) and hands its times
// back through memory that both share.
#pragma once

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

// Runs `work` in a child and waits for its end. An exception in `work`, another exit code or a
// signal becomes a RunFailure with the child's words. The child flushes and destroys nothing of the
// parent's.
void run_in_child(const std::string& what, const std::function<void()>& work);

}  // namespace transload
