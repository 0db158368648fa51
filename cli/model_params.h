// The tensors of a model as `transload model params` lists them: as published, as planned, or as a
// quantised checkpoint stores them.
#pragma once

#include <cstddef>
#include <string>

#include "cli/session.h"
#include "models/model.h"

namespace transload {

struct ParamsArguments {
  std::string name;
  std::string filter;     // exact name or glob (*, ?, [...]); empty: all
  bool logical = false;   // the tensors that are planned
  std::string quantised;  // a format of models/quantised.h; empty: none
  std::size_t limit = 100'000;
};

int list_parameters(Session& session, const Model& model, const ParamsArguments& arguments);

}  // namespace transload
