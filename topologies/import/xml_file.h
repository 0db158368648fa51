// An XML file that a reader walks: parsed once, with the line of every element for messages.
//
// pugixml does the parsing. This wrapper turns its failures into InputError, bounds the depth (the
// readers recurse), and reads attributes with types.
#pragma once

#include <cstdint>
#include <optional>
#include <pugixml.hpp>
#include <string>

#include "common/error.h"

namespace transload {

class XmlFile {
 public:
  // Throws InputError where `text` is not well-formed or is nested deeper than any machine is.
  XmlFile(const std::string& text, const std::string& file);

  // The outermost element.
  pugi::xml_node root() const { return document_.document_element(); }
  // Line of an element, from 1.
  int line(const pugi::xml_node& node) const;
  // Throws; the message names file, line, element and, where given, attribute.
  [[noreturn]] void fail(const pugi::xml_node& node, const std::string& problem,
                         const std::string& attribute = "") const;

  // Attributes; nothing where the attribute is absent or empty. The numbers throw InputError for
  // text that is not one. `hex` takes "0x10de" and "10DE".
  std::optional<std::string> text(const pugi::xml_node& node, const char* attribute) const;
  std::optional<std::int64_t> integer(const pugi::xml_node& node, const char* attribute) const;
  std::optional<std::int64_t> hex(const pugi::xml_node& node, const char* attribute) const;
  // The attribute, or an InputError that says it is missing.
  std::string required(const pugi::xml_node& node, const char* attribute) const;

 private:
  int line_at(std::ptrdiff_t offset) const;

  std::string text_;
  std::string file_;
  pugi::xml_document document_;
};

}  // namespace transload
