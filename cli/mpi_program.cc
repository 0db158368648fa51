#include "cli/mpi_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/error.h"

namespace transload {

void become_mpi_program(const std::vector<std::string>& arguments) {
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "transload-mpi";
  if (!std::filesystem::exists(program))
    throw RunFailure(
        fmt::format("back end mpi: {} is missing; this program was built without MPI "
                    "(Debian: libopenmpi-dev)",
                    program.string()));
  std::vector<std::string> words = {"transload-mpi"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  throw RunFailure(
      fmt::format("back end mpi: cannot start {}: {}", program.string(), std::strerror(errno)));
}

}  // namespace transload
