#include "topologies/import/text_lines.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

namespace transload::import_text {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool all_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::vector<TextLine> lines_of(std::string_view text) {
  std::vector<TextLine> lines;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back({++number, line});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && is_blank(text[at])) ++at;
    const std::size_t begin = at;
    while (at < text.size() && !is_blank(text[at])) ++at;
    if (at > begin) words.push_back(text.substr(begin, at - begin));
  }
  return words;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  if (text.empty() || !all_digits(text)) return std::nullopt;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<std::int64_t> decimal_times(std::string_view text, std::int64_t unit) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const auto whole = whole_number(text.substr(0, dot));
  if (!whole) return std::nullopt;
  __int128 value = static_cast<__int128>(*whole) * unit;
  if (dot < text.size()) {
    const std::string_view fraction = text.substr(dot + 1);
    if (fraction.empty() || !all_digits(fraction)) return std::nullopt;
    std::int64_t step = unit;
    for (const char digit : fraction) {
      step /= 10;
      value += static_cast<__int128>(digit - '0') * step;
    }
  }
  if (value > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace transload::import_text
