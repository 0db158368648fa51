#include "simulator/replay/child_process.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include "common/error.h"

namespace transload {
namespace {

constexpr std::size_t kMessageBytes = 4096;
constexpr int kChildFailed = 1;

[[noreturn]] void run_child(pid_t parent, const std::function<void()>& work,
                            std::span<char> message) {
  // The replay must not outlive a parent that was killed; the second look closes the race before
  // the call.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kChildFailed);
  try {
    work();
    _exit(0);
  } catch (const std::exception& error) {
    const std::size_t length = std::min(std::strlen(error.what()), message.size() - 1);
    std::memcpy(message.data(), error.what(), length);
  } catch (...) {
    std::memcpy(message.data(), "unknown exception", sizeof("unknown exception"));
  }
  _exit(kChildFailed);
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      throw RunFailure(fmt::format("waiting for the simulation: {}", std::strerror(errno)));
  return status;
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes)
    : base_(mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
      bytes_(std::max<std::size_t>(bytes, 1)) {
  if (base_ == MAP_FAILED)
    throw RunFailure(
        fmt::format("no memory for the simulation ({} bytes): {}", bytes_, std::strerror(errno)));
}

SharedMemory::~SharedMemory() { munmap(base_, bytes_); }

ChildProcess::ChildProcess(std::string what, const std::function<void()>& work)
    : what_(std::move(what)), message_(kMessageBytes) {
  const pid_t parent = getpid();
  std::fflush(nullptr);  // or the child, too, might write what the parent has buffered
  child_ = fork();
  if (child_ < 0) throw RunFailure(fmt::format("{}: no process: {}", what_, std::strerror(errno)));
  if (child_ == 0) run_child(parent, work, message_.at<char>(0, kMessageBytes));
}

ChildProcess::~ChildProcess() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void ChildProcess::wait() {
  const int status = wait_for(std::exchange(child_, -1));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (WIFSIGNALED(status))
    throw RunFailure(fmt::format("{}: its process was ended by signal {} ({})", what_,
                                 WTERMSIG(status), strsignal(WTERMSIG(status))));
  const std::span<const char> message = message_.at<char>(0, kMessageBytes);
  if (message[0] != '\0') throw RunFailure(fmt::format("{}: {}", what_, message.data()));
  throw RunFailure(fmt::format("{}: its process ended with code {}", what_, WEXITSTATUS(status)));
}

}  // namespace transload
