// Launch scripts read as far as launches need it: words, quotes, comments, continuation lines,
// variables with defaults, arrays and products of numbers. Nothing is executed.
//
// What a script computes in other ways (command substitution, a variable that the file does not
// set, one that it sets to two different values) stays as written, dollar sign and all, so that
// whoever needs that value can name it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/importers/flags.h"

namespace transload::importing {

struct Command {
  int line = 0;
  std::vector<std::pair<std::string, std::string>> environment;  // NAME=value in front of it
  std::vector<Word> words;
};

struct Script {
  std::vector<Command> commands;
  std::map<std::string, std::string> variables;  // those with one value
  std::map<std::string, std::vector<Word>> arrays;
  // "TP: 8": variables that the environment may set, and whose default in the file was taken.
  std::vector<std::string> defaults_taken;
};

// `variables`: set before the script starts. InputError: a quote or an array that never closes.
Script read_script(const std::string& text, const std::string& file,
                   std::map<std::string, std::string> variables = {}, int first_line = 1);

}  // namespace transload::importing
