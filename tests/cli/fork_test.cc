// A process that forks may have no other thread: a lock that one of them holds, an allocator's for
// example, stays locked in the child for ever.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "tests/cli/cli_fixture.h"

namespace transload::testing {
namespace {

std::atomic<int> forks = 0;
std::atomic<int> most_threads = 0;

int threads_now() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

void before_fork() {
  ++forks;
  most_threads = std::max(most_threads.load(), threads_now());
}

class Fork : public CliTest {};

TEST_F(Fork, NoCommandForksBesideAThread) {
  const int threads_before = threads_now();
  ASSERT_EQ(pthread_atfork(before_fork, nullptr, nullptr), 0);
  const std::string job_file = job();
  const std::vector<std::vector<std::string>> commands = {
      {"compare", job_file},
      {"run", job_file, "--backend", "host", "--verify"},
      {"compare", job_file},
      {"simulate", job_file},
      {"simulate", job_file, "--range"},
      {"sweep", write("sweep.yaml", "job: job.yaml\ngrid: {options.window: [1, 2, 3]}\n"),
       "--results", path("results.jsonl"), "--workers", "2"}};
  for (const std::vector<std::string>& command : commands) {
    const CliResult result = cli(command);
    EXPECT_EQ(result.code, 0) << result.err;
  }
  EXPECT_GE(forks, 3) << "simulations run in processes of their own";
  EXPECT_EQ(most_threads, threads_before);
}

}  // namespace
}  // namespace transload::testing
