#include "planner/schedule/render/style.h"

#include <fmt/format.h>

#include "planner/schedule/text.h"

namespace transload::render {

Ink ink_of(OpLink link) {
  switch (link) {
    case OpLink::kNetwork:
      return kNetworkInk;
    case OpLink::kNvlink:
      return kNvlinkInk;
    case OpLink::kLocal:
      return kLocalInk;
  }
  return kHostInk;
}

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : one_line(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string dot_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : one_line(text)) {
    if (c == '&') {
      quoted += "&amp;";
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string number_ranges(const std::vector<std::int32_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text +=
        last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string counted(std::uint64_t number, std::string_view thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

}  // namespace transload::render
