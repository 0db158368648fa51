#include "cli/run_cli.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <new>

#include "common/error.h"
#include "common/yaml.h"
#include "planner/schedule/text.h"

namespace transload {
namespace {

int report(std::ostream& err, const std::string& problem, int code) {
  err << "transload: error: " << one_line(problem) << std::endl;
  return code;
}

// The word of this level that is no command, if that is what is wrong: CLI11 would only call it
// "not expected".
void refuse_unknown_command(const CLI::App& program, const std::vector<std::string>& args) {
  const CLI::App* level = &program;
  std::string path = "transload";
  for (const std::string& word : args) {
    const auto children = level->get_subcommands([](const CLI::App*) { return true; });
    if (children.empty() || word.starts_with("-")) return;
    std::vector<std::string> names;
    for (const CLI::App* child : children) names.push_back(child->get_name());
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end()) {
      const auto near = nearest_word(word, {names.begin(), names.end()});
      throw InputError("unknown command " + word + (near ? " (did you mean " + *near + "?)" : "") +
                       "; " + path + " --help lists the commands");
    }
    path += " " + word;
    level = children[static_cast<std::size_t>(found - names.begin())];
  }
}

std::string chosen_command(const CLI::App& program) {
  std::string words = "transload";
  const CLI::App* level = &program;
  while (!level->get_subcommands().empty()) {
    level = level->get_subcommands().front();
    words += " " + level->get_name();
  }
  return words;
}

int parse_and_run(CLI::App& program, Session& session, const std::vector<std::string>& args) {
  refuse_unknown_command(program, args);
  try {
    // CLI11 takes them from the back.
    program.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::Success& wanted) {  // --help, --version
    return program.exit(wanted, session.out, session.err);
  } catch (const CLI::ParseError& error) {
    throw InputError(std::string(error.what()) + "; " + chosen_command(program) +
                     " --help shows what is expected");
  }
  return session.action();
}

}  // namespace

int run_program(const std::vector<std::string>& args, std::ostream& out, std::ostream& err,
                const std::function<void(CLI::App&, Session&)>& add_commands) {
  Session session{out, err, &err == &std::cerr && isatty(STDERR_FILENO) == 1};
  session.arguments = args;
  try {
    CLI::App program(
        "Plans, predicts, checks and runs the transfer of model weights from trainers "
        "to inference engines.",
        "transload");
    program.set_version_flag("--version", "transload " TRANSLOAD_VERSION);
    program.require_subcommand(1);
    program.footer(
        "Example:\n  transload compare examples/8x8.yaml\n\n"
        "transload COMMAND --help explains a command.");
    add_commands(program, session);
    return parse_and_run(program, session, args);
  } catch (const InputError& error) {
    return report(err, error.what(), kBadInput);
  } catch (const RunFailure& error) {
    return report(err, error.what(), kRunFailed);
  } catch (const std::bad_alloc&) {
    return report(err, "out of memory", kRunFailed);
  } catch (const std::exception& error) {
    return report(err, error.what(), kRunFailed);
  }
}

}  // namespace transload
