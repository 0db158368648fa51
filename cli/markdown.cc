#include "cli/markdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace transload {
namespace {

std::string line(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

}  // namespace

std::string markdown_table(const std::vector<std::string>& heading,
                           const std::vector<std::vector<std::string>>& rows) {
  std::string text = line(heading) + "|";
  for (std::size_t i = 0; i < heading.size(); ++i) text += "---|";
  text += "\n";
  for (const std::vector<std::string>& cells : rows) text += line(cells);
  return text;
}

}  // namespace transload
