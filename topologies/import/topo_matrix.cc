#include "topologies/import/topo_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <regex>
#include <sstream>

#include "common/error.h"

namespace transload {
namespace {

constexpr std::size_t kMaxColumns = 2048;
constexpr std::size_t kMaxLineLength = 65536;

struct Line {
  std::string text;
  int number = 0;
};

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Terminal sequences such as the underline of the header.
std::string without_colours(const std::string& text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1b') {
      plain += text[at];
      continue;
    }
    while (at + 1 < text.size() && text[at] != 'm') ++at;
  }
  return plain;
}

std::vector<Line> split_lines(const std::string& text, const std::string& file) {
  std::vector<Line> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const int number = static_cast<int>(lines.size()) + 1;
    if (line.size() > kMaxLineLength)
      throw InputError({file, number, ""}, "the line is too long for a table of one node");
    lines.push_back({without_colours(line), number});
  }
  return lines;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> found;
  for (std::string word; stream >> word;) found.push_back(word);
  return found;
}

// Fields between tabs, where empty ones count; words where the line has no tab.
std::vector<std::string> fields(const std::string& line) {
  if (line.find('\t') == std::string::npos) return words(line);
  std::vector<std::string> found;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, '\t');) found.push_back(trimmed(field));
  return found;
}

// Device names of the header; empty if the line is none. Every row has an X, the header none.
std::vector<std::string> header_devices(const Line& line) {
  static const std::regex name("[A-Za-z][A-Za-z0-9_.-]*");
  std::vector<std::string> devices;
  for (const std::string& word : words(line.text)) {
    if (word == "CPU" || word == "NUMA" || word == "GPU") break;
    if (word == "X" || word.size() > 64 || !std::regex_match(word, name)) return {};
    devices.push_back(word);
  }
  if (devices.empty() || !is_gpu_name(devices.front())) return {};
  return devices;
}

// How many fields after the last device the column "NUMA Affinity" comes.
std::optional<std::size_t> numa_column(const Line& header) {
  const std::size_t numa = header.text.find("NUMA Affinity");
  if (numa == std::string::npos) return std::nullopt;
  const std::size_t cpu = header.text.find("CPU Affinity");
  return cpu != std::string::npos && cpu < numa ? 1 : 0;
}

class MatrixReader {
 public:
  MatrixReader(const std::string& text, const std::string& file)
      : lines_(split_lines(text, file)), file_(file) {}

  TopoMatrix read() {
    find_header();
    while (next_ < lines_.size() && !trimmed(lines_[next_].text).empty()) read_row(lines_[next_++]);
    for (std::size_t device = 0; device < matrix_.devices.size(); ++device)
      if (matrix_.lines[device] == 0)
        fail(header_, fmt::format("the table has a column {} but no row of that name; expected one "
                                  "row for each column",
                                  matrix_.devices[device]));
    read_legend();
    return std::move(matrix_);
  }

 private:
  [[noreturn]] void fail(const Line& line, const std::string& problem) const {
    throw InputError({file_, line.number, ""}, problem);
  }

  void find_header() {
    for (; next_ < lines_.size(); ++next_) {
      matrix_.devices = header_devices(lines_[next_]);
      if (!matrix_.devices.empty()) break;
    }
    if (matrix_.devices.empty())
      throw InputError({file_, 0, ""},
                       "no header of a topology table; expected a line with GPU0, "
                       "GPU1, ... as `nvidia-smi topo -m` prints it");
    header_ = lines_[next_++];
    const std::size_t count = matrix_.devices.size();
    if (count > kMaxColumns)
      fail(header_, fmt::format("{} columns; expected at most {}", count, kMaxColumns));
    std::vector<std::string> sorted = matrix_.devices;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) fail(header_, fmt::format("two columns are called {}", *twice));
    numa_column_ = numa_column(header_);
    matrix_.cells.resize(count);
    matrix_.lines.resize(count);
    matrix_.numa.resize(count);
    matrix_.nic_names.resize(count);
  }

  std::size_t device_at(const Line& line, const std::string& name) const {
    const auto found = std::find(matrix_.devices.begin(), matrix_.devices.end(), name);
    if (found == matrix_.devices.end())
      fail(line, fmt::format("expected the name of a column of line {}, found {}", header_.number,
                             name.empty() ? "nothing" : name));
    return static_cast<std::size_t>(found - matrix_.devices.begin());
  }

  void read_row(const Line& line) {
    const std::vector<std::string> row = fields(line.text);
    const std::size_t count = matrix_.devices.size();
    const std::size_t device = device_at(line, row.empty() ? "" : row.front());
    if (matrix_.lines[device] != 0)
      fail(line,
           fmt::format("{} has a row already, in line {}", row.front(), matrix_.lines[device]));
    if (row.size() < count + 1)
      fail(line, fmt::format("{} has {} cells; expected {}, one for each column", row.front(),
                             row.size() - 1, count));
    matrix_.lines[device] = line.number;
    matrix_.cells[device].assign(row.begin() + 1,
                                 row.begin() + 1 + static_cast<std::ptrdiff_t>(count));
    if (numa_column_ && row.size() > count + 1 + *numa_column_)
      matrix_.numa[device] = row[count + 1 + *numa_column_];
  }

  void read_legend() {
    static const std::regex entry("\\s*(NIC[0-9]+):\\s*(\\S+)\\s*");
    for (; next_ < lines_.size(); ++next_) {
      const Line& line = lines_[next_];
      std::smatch parts;
      if (line.text.size() > 256 || !std::regex_match(line.text, parts, entry)) continue;
      std::string& name = matrix_.nic_names[device_at(line, parts[1].str())];
      if (!name.empty()) fail(line, fmt::format("{} has a name already", parts[1].str()));
      name = parts[2].str();
    }
  }

  std::vector<Line> lines_;
  std::string file_;
  std::size_t next_ = 0;
  Line header_;
  std::optional<std::size_t> numa_column_;
  TopoMatrix matrix_;
};

}  // namespace

bool is_gpu_name(const std::string& device) {
  return device.size() > 3 && device.size() <= 9 && device.starts_with("GPU") &&
         std::all_of(device.begin() + 3, device.end(),
                     [](char digit) { return digit >= '0' && digit <= '9'; });
}

TopoMatrix read_topo_matrix(const std::string& text, const std::string& file) {
  return MatrixReader(text, file).read();
}

}  // namespace transload
