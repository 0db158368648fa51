#include "cli/session.h"

#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "planner/schedule/text.h"

namespace transload {

CLI::App* add_command(CLI::App& parent, Session& session, const std::string& name,
                      const std::string& description, const std::string& example) {
  CLI::App* command = parent.add_subcommand(name, description);
  command->add_flag("--json", session.json, "Print one JSON object and nothing else");
  command->footer("Example:\n  transload " + example);
  return command;
}

void on_chosen(CLI::App* command, Session& session, std::function<int()> action) {
  command->callback([&session, action = std::move(action)] { session.action = action; });
}

void print_json(Session& session, const nlohmann::json& json) {
  session.out << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

void warn(Session& session, const std::string& text) {
  session.err << "transload: warning: " << one_line(text) << std::endl;
}

}  // namespace transload
