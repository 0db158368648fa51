// Short aligned tables for people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/counted.h"

namespace transload {

enum class Align : unsigned char { kLeft, kRight };

class Table {
 public:
  // A heading and how each column is set; two spaces stand between columns.
  Table(std::vector<std::string> heading, std::vector<Align> aligns);

  // Cells are put on one line each; one per column.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.size() == 1; }
  std::string text() const;

 private:
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;  // the heading first
};

// Lines of "name  value", names padded to one width and indented by two.
class Facts {
 public:
  Facts& add(std::string name, std::string value);
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> facts_;
};

}  // namespace transload
