// Running Graphviz: dot text in, a picture out. No shell, no files with names anybody has to quote.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace transload::render {

struct DotProgram {
  std::string program = "dot";  // looked for in PATH
  std::chrono::milliseconds limit = std::chrono::seconds(60);
};

// What the program prints for `text`, given these arguments. InputError if it is not installed;
// RunFailure with what it said if it fails, or if it is not done by the limit, when it is killed.
std::string run_dot(const std::string& text, const std::vector<std::string>& arguments,
                    const DotProgram& dot = {});

}  // namespace transload::render
