// Processes of this same program that a command starts and waits for.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace transload {

// Kills what is still there when it goes.
class ChildProcesses {
 public:
  ChildProcesses() = default;
  ~ChildProcesses();
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;

  // Starts this program with these arguments and, beside ours, these environment variables. Its
  // standard output is dropped. RunFailure where that fails.
  void start(const std::vector<std::string>& arguments,
             const std::vector<std::pair<std::string, std::string>>& environment);
  std::size_t size() const { return ids_.size(); }

  // Returns when all have ended; calls back for each that was ended by a signal or whose exit code
  // is none of ours, with its number and how. Once `give_up` says so, whatever is left is killed (a
  // stopped process never ends by itself).
  void wait_for_all(const std::function<void(std::size_t, const std::string&)>& broke,
                    const std::function<bool()>& give_up);

 private:
  std::size_t take_ended(const std::function<void(std::size_t, const std::string&)>& broke);

  std::vector<pid_t> ids_;  // 0: has ended
};

}  // namespace transload
