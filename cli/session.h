// What one call of the program carries from command to command: where to write, and how.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace transload {

inline constexpr int kDone = 0;
inline constexpr int kCheckFailed = 1;
inline constexpr int kBadInput = 2;
inline constexpr int kRunFailed = 3;

struct Session {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;          // err is one: progress may be shown
  bool json = false;              // --json
  std::function<int()> action{};  // what the arguments chose; returns the exit code
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
