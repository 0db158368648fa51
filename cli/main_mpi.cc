// `transload-mpi`: the command `run` for processes that mpirun or srun has started. A program of
// its own, because `transload` links SimGrid, which has an MPI under the same names; `transload run
// --backend mpi` becomes this program.

#include <csignal>
#include <iostream>

#include "cli/commands.h"
#include "cli/run_cli.h"
#include "executor/mpi/mpi_company.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const auto add_commands = [](CLI::App& program, transload::Session& session) {
    session.join_mpi = [] {
      const auto company = std::make_shared<transload::MpiCompany>();
      return transload::MpiPlace{company, company->process(), company->processes()};
    };
    transload::add_run(program, session);
  };
  return transload::run_program({argv + 1, argv + argc}, std::cout, std::cerr, add_commands);
}
