// Launch lines of vLLM and SGLang: the destination side of a job each.
#pragma once

#include <string>
#include <vector>

#include "models/importers/importers.h"
#include "models/importers/shell.h"

namespace transload::importing {

// Where a command starts a server: which engine, and the words behind that.
struct Launch {
  std::string engine;  // "vllm" or "sglang"
  Command command;     // its arguments only
};

// The launches among a script's commands, in order.
std::vector<Launch> find_launches(const Script& script);

// The side that a launch describes; appends to the lists of `imported`, each sentence starting with
// `origin` where there are several launches.
ImportedSide read_launch(const Launch& launch, const std::string& path, const std::string& origin,
                         Imported& imported);

}  // namespace transload::importing
