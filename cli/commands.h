// The commands of the program. Each function adds one to `program`: its options, its help, and what
// it does when it is chosen.
#pragma once

#include "cli/session.h"

namespace transload {

void add_plan(CLI::App& program, Session& session);
void add_transfers(CLI::App& program, Session& session);
void add_show(CLI::App& program, Session& session);
void add_check(CLI::App& program, Session& session);
void add_bound(CLI::App& program, Session& session);
void add_simulate(CLI::App& program, Session& session);
void add_compare(CLI::App& program, Session& session);
void add_explain(CLI::App& program, Session& session);
void add_replan(CLI::App& program, Session& session);
void add_validate(CLI::App& program, Session& session);
void add_sweep(CLI::App& program, Session& session);
void add_run(CLI::App& program, Session& session);
void add_render(CLI::App& program, Session& session);
void add_export(CLI::App& program, Session& session);
void add_model(CLI::App& program, Session& session);
void add_topology(CLI::App& program, Session& session);

}  // namespace transload
