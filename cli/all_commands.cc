// The commands of `transload`.

#include "cli/commands.h"
#include "cli/run_cli.h"

namespace transload {
namespace {

void add_commands(CLI::App& program, Session& session) {
  add_plan(program, session);
  add_transfers(program, session);
  add_show(program, session);
  add_check(program, session);
  add_bound(program, session);
  add_simulate(program, session);
  add_compare(program, session);
  add_explain(program, session);
  add_replan(program, session);
  add_validate(program, session);
  add_sweep(program, session);
  add_run(program, session);
  add_render(program, session);
  add_export(program, session);
  add_model(program, session);
  add_topology(program, session);
}

}  // namespace

int run_cli(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  return run_program(args, out, err, add_commands);
}

}  // namespace transload
