// transload model import: hung below the model command.
#pragma once

#include "cli/session.h"

namespace transload {

void add_model_import(CLI::App& model, Session& session);

}  // namespace transload
