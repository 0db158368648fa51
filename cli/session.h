// What one call of the program carries from command to command: where to write, and how.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace transload {

inline constexpr int kDone = 0;
inline constexpr int kCheckFailed = 1;
inline constexpr int kBadInput = 2;
inline constexpr int kRunFailed = 3;

class Company;

// The company of a run under MPI, and this process's place in it.
struct MpiPlace {
  std::shared_ptr<Company> company;
  std::int32_t process = 0;
  std::int32_t processes = 1;
};

struct Session {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;                 // err is one: progress may be shown
  bool json = false;                     // --json
  std::function<int()> action{};         // what the arguments chose; returns the exit code
  std::vector<std::string> arguments{};  // of the program
  // Joins the run that mpirun or srun has started; only `transload-mpi` can.
  std::function<MpiPlace()> join_mpi{};
};

// A command with --json and an example (without the program's name) under its help.
CLI::App* add_command(CLI::App& parent, Session& session, const std::string& name,
                      const std::string& description, const std::string& example);

// What the command does once all arguments have been read.
void on_chosen(CLI::App* command, Session& session, std::function<int()> action);

// One JSON object, indented by two; text that is not UTF-8 is mended.
void print_json(Session& session, const nlohmann::json& json);

// A line on `err`: "transload: warning: ...".
void warn(Session& session, const std::string& text);

}  // namespace transload
