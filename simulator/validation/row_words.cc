#include "simulator/validation/row_words.h"

#include <algorithm>
#include <cctype>
#include <regex>

namespace transload {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool holds(const std::string& text, const std::string& part) {
  return lower(text).find(part) != std::string::npos;
}

std::optional<double> bucket_bytes_said(const std::string& text) {
  static const std::regex kBucket("([0-9]+(?:\\.[0-9]+)?) ?([MG])(i?)B bucket");
  std::smatch match;
  if (!std::regex_search(text, match, kBucket)) return std::nullopt;
  const bool binary = match[3].length() > 0;
  const double kilo = binary ? 1024 : 1000;
  return std::stod(match[1]) * kilo * kilo * (match[2] == "G" ? kilo : 1);
}

}  // namespace transload
