// transload topology import: files that people have about their clusters, as a topology file.
#pragma once

#include "cli/session.h"

namespace transload {

void add_topology_import(CLI::App& topology, Session& session);

}  // namespace transload
