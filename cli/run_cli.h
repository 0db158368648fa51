// The command line: from arguments to an exit code.
//
// cli/session.h is what all commands share, cli/commands.h lists them, and each has a file of its
// own (`plan` is plan_command.cc) with its options, its text and its JSON.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/session.h"

namespace transload {

// Runs `transload ARGS...` (without the program's name). Results go to `out`, messages to `err`.
// Returns 0: done; 1: a check did not hold; 2: bad input; 3: run-time failure. Never throws; with 2
// and 3 nothing was written to `out`.
int run_cli(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

// The same of a program that has other commands: `add_commands` adds them.
int run_program(const std::vector<std::string>& args, std::ostream& out, std::ostream& err,
                const std::function<void(CLI::App&, Session&)>& add_commands);

}  // namespace transload
