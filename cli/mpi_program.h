// From `transload run --backend mpi` to the program that links MPI (cli/main_mpi.cc).
#pragma once

#include <string>
#include <vector>

namespace transload {

// Goes on as `transload-mpi` beside this program, with the same arguments. Returns never;
// RunFailure where that program is missing, because this one was built without MPI.
[[noreturn]] void become_mpi_program(const std::vector<std::string>& arguments);

}  // namespace transload
