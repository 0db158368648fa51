#include "topologies/import/xml_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace transload {
namespace {

// A PCI tree has a handful of levels, hwloc's CPU side about ten.
constexpr int kMaxDepth = 128;

struct DepthLimit : pugi::xml_tree_walker {
  bool for_each(pugi::xml_node& node) override {
    deepest = node;
    return depth() < kMaxDepth;
  }
  pugi::xml_node deepest;
};

std::optional<std::int64_t> parse(std::string_view text, int base) {
  if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

}  // namespace

XmlFile::XmlFile(const std::string& text, const std::string& file) : text_(text), file_(file) {
  const pugi::xml_parse_result result =
      document_.load_buffer(text_.data(), text_.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result)
    throw InputError({file_, line_at(result.offset), ""},
                     fmt::format("not well-formed XML: {}", result.description()));
  DepthLimit limit;
  if (!document_.traverse(limit))
    fail(limit.deepest, fmt::format("nested deeper than {} levels", kMaxDepth));
}

int XmlFile::line_at(std::ptrdiff_t offset) const {
  const std::ptrdiff_t end = std::min(offset, static_cast<std::ptrdiff_t>(text_.size()));
  return 1 + static_cast<int>(
                 std::count(text_.begin(), text_.begin() + std::max<std::ptrdiff_t>(end, 0), '\n'));
}

int XmlFile::line(const pugi::xml_node& node) const { return line_at(node.offset_debug()); }

void XmlFile::fail(const pugi::xml_node& node, const std::string& problem,
                   const std::string& attribute) const {
  std::string field = node.name();
  if (!attribute.empty()) field += "." + attribute;
  throw InputError({file_, line(node), field}, problem);
}

std::optional<std::string> XmlFile::text(const pugi::xml_node& node, const char* attribute) const {
  const std::string value = node.attribute(attribute).value();
  if (value.empty()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> XmlFile::integer(const pugi::xml_node& node,
                                             const char* attribute) const {
  const auto value = text(node, attribute);
  if (!value) return std::nullopt;
  const auto number = parse(*value, 10);
  if (!number) fail(node, fmt::format("expected a whole number, found {}", *value), attribute);
  return number;
}

std::optional<std::int64_t> XmlFile::hex(const pugi::xml_node& node, const char* attribute) const {
  const auto value = text(node, attribute);
  if (!value) return std::nullopt;
  const auto number = parse(*value, 16);
  if (!number)
    fail(node, fmt::format("expected a hexadecimal number, found {}", *value), attribute);
  return number;
}

std::string XmlFile::required(const pugi::xml_node& node, const char* attribute) const {
  const auto value = text(node, attribute);
  if (!value) fail(node, fmt::format("the attribute {} is missing", attribute));
  return *value;
}

}  // namespace transload
