#include "cli/sweep_results.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/error.h"

namespace transload {
namespace {

namespace fs = std::filesystem;

// A finished point, if the line is one. A line that says nothing of the kind belongs to another
// file.
enum class LineKind : unsigned char { kPoint, kCut, kForeign };

LineKind read_line(const std::string& line, FinishedPoints& points) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (json.is_discarded())
    return line.starts_with("{\"key\":") ? LineKind::kCut : LineKind::kForeign;
  if (!json.is_object() || !json.contains("key") || !json.contains("rows") ||
      !json["key"].is_string() || !json["rows"].is_array())
    return LineKind::kForeign;
  points[json["key"].get<std::string>()] = json["rows"];
  return LineKind::kPoint;
}

void append(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) throw RunFailure(fmt::format("{}: {}", path, std::strerror(errno)));
  // One call, so that lines of several writers do not mix.
  const ssize_t written = write(file, text.data(), text.size());
  const int reason = errno;
  close(file);
  if (written != static_cast<ssize_t>(text.size()))
    throw RunFailure(fmt::format("{}: cannot append: {}", path,
                                 written < 0 ? std::strerror(reason) : "the disk is full"));
}

}  // namespace

FinishedPoints read_results(const std::string& path) {
  FinishedPoints points;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return points;
  if (!fs::is_regular_file(path, ignored))
    throw InputError({path, 0, "--results"}, "expected a file of results, this is no plain file");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw InputError({path, 0, "--results"}, "cannot open the file");
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (!line.empty() && read_line(line, points) == LineKind::kForeign)
      throw InputError({path, number, "--results"},
                       "this is not a file of results; expected one that `transload sweep` wrote, "
                       "or none yet");
  }
  return points;
}

void open_results(const std::string& path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  bool cut = false;
  if (stream && stream.tellg() > 0) {
    stream.seekg(-1, std::ios::end);
    cut = stream.get() != '\n';
  }
  try {
    append(path, cut ? "\n" : "");
  } catch (const RunFailure& error) {
    throw InputError({path, 0, "--results"}, error.what());
  }
}

void append_result(const std::string& path, const std::string& key, const nlohmann::json& rows) {
  nlohmann::ordered_json line;
  line["key"] = key;  // first: what tells a cut line from a foreign one
  line["rows"] = rows;
  append(path, line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace transload
