#include "cli/child_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "cli/session.h"
#include "common/error.h"

extern char** environ;

namespace transload {
namespace {

constexpr auto kPause = std::chrono::milliseconds(5);

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  for (const auto& [name, value] : added) all.push_back(name + "=" + value);
  return all;
}

}  // namespace

ChildProcesses::~ChildProcesses() {
  for (const pid_t id : ids_)
    if (id > 0) kill(id, SIGKILL);
  for (const pid_t id : ids_)
    if (id > 0) waitpid(id, nullptr, 0);
}

void ChildProcesses::start(const std::vector<std::string>& arguments,
                           const std::vector<std::pair<std::string, std::string>>& environment) {
  std::vector<std::string> words = {"transload"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_with(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t id = 0;
  const int error = posix_spawn(&id, "/proc/self/exe", &actions, nullptr, pointers(words).data(),
                                pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw RunFailure(fmt::format("cannot start a process of the run: {}", std::strerror(error)));
  ids_.push_back(id);
}

// Those that have ended since the last call; returns how many are left.
std::size_t ChildProcesses::take_ended(
    const std::function<void(std::size_t, const std::string&)>& broke) {
  std::size_t left = 0;
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    if (ids_[i] == 0) continue;
    int status = 0;
    if (waitpid(ids_[i], &status, WNOHANG) == 0) {
      ++left;
      continue;
    }
    ids_[i] = 0;
    if (WIFSIGNALED(status))
      broke(i, fmt::format("it was ended by signal {}", WTERMSIG(status)));
    else if (WEXITSTATUS(status) > kRunFailed)
      broke(i, fmt::format("it ended with code {}", WEXITSTATUS(status)));
  }
  return left;
}

void ChildProcesses::wait_for_all(const std::function<void(std::size_t, const std::string&)>& broke,
                                  const std::function<bool()>& give_up) {
  while (take_ended(broke) > 0) {
    if (give_up())
      for (const pid_t id : ids_)
        if (id > 0) kill(id, SIGKILL);
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace transload
