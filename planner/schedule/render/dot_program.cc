#include "planner/schedule/render/dot_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "common/error.h"
#include "planner/schedule/text.h"

extern char** environ;

namespace transload::render {
namespace {

constexpr std::chrono::milliseconds kPoll{5};
constexpr std::size_t kMessageCharacters = 400;

// A file without a name. The streams of the program are files, not pipes, so that neither side can
// block the other however much it writes.
class ScratchFile {
 public:
  ScratchFile() {
    std::string path = (std::filesystem::temp_directory_path() / "transload-dot-XXXXXX").string();
    fd_ = mkostemp(path.data(), O_CLOEXEC);
    if (fd_ < 0)
      throw RunFailure(fmt::format("render: no temporary file {}: {}", path, std::strerror(errno)));
    unlink(path.c_str());
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() { close(fd_); }

  int fd() const { return fd_; }

  void fill(const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t n = write(fd_, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw RunFailure(fmt::format("render: temporary file: {}", std::strerror(errno)));
      done += static_cast<std::size_t>(n);
    }
    lseek(fd_, 0, SEEK_SET);
  }

  std::string content() const {
    lseek(fd_, 0, SEEK_SET);
    std::string text;
    char block[1 << 16];
    for (;;) {
      const ssize_t n = read(fd_, block, sizeof block);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw RunFailure(fmt::format("render: temporary file: {}", std::strerror(errno)));
      if (n == 0) return text;
      text.append(block, static_cast<std::size_t>(n));
    }
  }

 private:
  int fd_ = -1;
};

pid_t start(const DotProgram& dot, const std::vector<std::string>& arguments, int in, int out,
            int error) {
  std::vector<std::string> words = {dot.program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, error, STDERR_FILENO);
  pid_t child = 0;
  const int failure =
      posix_spawnp(&child, dot.program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure == ENOENT || failure == EACCES)
    throw InputError(
        fmt::format("the Graphviz program '{}' is not installed: install graphviz, or use "
                    "--format dot",
                    dot.program));
  if (failure != 0)
    throw RunFailure(
        fmt::format("render: cannot run '{}': {}", dot.program, std::strerror(failure)));
  return child;
}

// The exit status as waitpid gives it.
int wait_for(pid_t child, const DotProgram& dot) {
  const auto deadline = std::chrono::steady_clock::now() + dot.limit;
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR)
      throw RunFailure(fmt::format("render: lost '{}': {}", dot.program, std::strerror(errno)));
    if (std::chrono::steady_clock::now() >= deadline) {
      kill(child, SIGKILL);
      while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      throw RunFailure(
          fmt::format("render: '{}' was not done after {:.1f} s and was stopped: the picture is "
                      "too large, restrict it with --tensor or --rank, or take --view domains",
                      dot.program, std::chrono::duration<double>(dot.limit).count()));
    }
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace

std::string run_dot(const std::string& text, const std::vector<std::string>& arguments,
                    const DotProgram& dot) {
  ScratchFile in;
  const ScratchFile out;
  const ScratchFile error;
  in.fill(text);
  const int status = wait_for(start(dot, arguments, in.fd(), out.fd(), error.fd()), dot);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const std::string said = shortened(one_line(error.content()), kMessageCharacters);
    throw RunFailure(WIFSIGNALED(status) ? fmt::format("render: '{}' was ended by signal {}: {}",
                                                       dot.program, WTERMSIG(status), said)
                                         : fmt::format("render: '{}' failed with status {}: {}",
                                                       dot.program, WEXITSTATUS(status), said));
  }
  return out.content();
}

}  // namespace transload::render
