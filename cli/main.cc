#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <iostream>

#include "cli/run_cli.h"

namespace {

// Nobody reads on: `transload show big.plan | head` ends well, whatever is left to print.
bool output_is_a_pipe() {
  struct stat status {};
  return fstat(STDOUT_FILENO, &status) == 0 &&
         (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::ios::sync_with_stdio(false);
  const int code = transload::run_cli({argv + 1, argv + argc}, std::cout, std::cerr);
  std::cout.flush();
  if (std::cout || output_is_a_pipe()) return code;
  std::cerr << "transload: error: the output could not be written\n";
  return code == 0 ? 3 : code;
}
