#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "common/error.h"
#include "topologies/import/nic_choice.h"

namespace transload {
namespace {

struct NicPattern {
  std::string_view name;
  std::optional<int> port;
};

NicPattern parse_pattern(std::string_view text, std::string_view what) {
  const std::size_t colon = text.rfind(':');
  // Names of NICs that a file leaves nameless are PCI addresses: their colons are no ports.
  if (colon == std::string_view::npos || text.find(':') != colon) return {text, std::nullopt};
  const std::string_view digits = text.substr(colon + 1);
  int port = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, port);
  if (error != std::errc{} || rest != end || port < 0)
    throw InputError(
        fmt::format("{}: expected a port number after the colon, found \"{}\"", what, digits));
  return {text.substr(0, colon), port};
}

bool matches(const NicPattern& nic, const NicPattern& pattern, bool exact) {
  const bool name = exact ? nic.name == pattern.name : nic.name.starts_with(pattern.name);
  return name && (!nic.port || !pattern.port || *nic.port == *pattern.port);
}

}  // namespace

std::vector<std::int32_t> select_nics(const std::vector<std::string>& nics,
                                      const std::string& filter) {
  std::string_view list = filter;
  const bool exclude = list.starts_with('^');
  if (exclude) list.remove_prefix(1);
  const bool exact = list.starts_with('=');
  if (exact) list.remove_prefix(1);
  std::vector<NicPattern> patterns;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (end > 0) patterns.push_back(parse_pattern(list.substr(0, end), filter));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  std::vector<std::int32_t> selected;
  for (std::size_t nic = 0; nic < nics.size(); ++nic) {
    const NicPattern parsed = parse_pattern(nics[nic], nics[nic]);
    const bool hit = patterns.empty() ||
                     std::any_of(patterns.begin(), patterns.end(), [&](const NicPattern& pattern) {
                       return matches(parsed, pattern, exact);
                     });
    if (hit != exclude) selected.push_back(static_cast<std::int32_t>(nic));
  }
  return selected;
}

}  // namespace transload
