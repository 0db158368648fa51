// What a reader says when it refuses a text, and all that it says beside its findings.
#pragma once

#include <string>
#include <vector>

#include "common/error.h"

namespace transload::testing {

// The message, or "accepted".
template <typename Read>
std::string refusal(const Read& read, const std::string& text) {
  try {
    read(text, "FILE");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

inline std::string joined(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += sentence + "\n";
  return text;
}

// `text` with the first `from` made `to`; unchanged text would make a test that cannot fail.
inline std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return "the text has no \"" + from + "\"";
  return text.replace(at, from.size(), to);
}

}  // namespace transload::testing
