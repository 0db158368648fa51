#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "planner/schedule/text.h"

namespace transload {

Table::Table(std::vector<std::string> heading, std::vector<Align> aligns)
    : aligns_(std::move(aligns)) {
  add(std::move(heading));
}

void Table::add(std::vector<std::string> cells) {
  TRANSLOAD_CHECK(cells.size() == aligns_.size(), "a row has a cell per column");
  for (std::string& cell : cells) cell = one_line(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(aligns_.size(), 0);
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - width_of(row[c]), ' ');
      if (c > 0) line += "  ";
      line += aligns_[c] == Align::kLeft ? row[c] + padding : padding + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

Facts& Facts::add(std::string name, std::string value) {
  facts_.emplace_back(std::move(name), std::move(value));
  return *this;
}

std::string Facts::text() const {
  std::size_t width = 0;
  for (const auto& [name, value] : facts_) width = std::max(width, width_of(name));
  std::string text;
  for (const auto& [name, value] : facts_)
    text += fmt::format("  {}{}  {}\n", name, std::string(width - width_of(name), ' '),
                        one_line(value));
  return text;
}

}  // namespace transload
