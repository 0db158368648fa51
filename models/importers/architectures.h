// Which family of ours a Hugging Face architecture is, and what a config must not say for the
// family's list of parameters to be the checkpoint's.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "common/yaml.h"

namespace transload::importing {

struct Architecture {
  std::string_view architecture;  // of `architectures`
  std::string_view model_type;    // empty: none of its own
  std::string_view family;        // empty: known, and refused because of `why`
  std::string_view why;
};

std::span<const Architecture> architectures();

// A key that a family has no parameters for unless it has its harmless value.
struct HarmlessValue {
  std::string_view key;
  std::string_view value;  // as text; "[]": an empty list, "absent": no value at all
  std::string_view what;   // it would add or change
};

std::span<const HarmlessValue> harmless_values();

// What only the checkpoint itself tells: the config's key that makes the question arise, the
// hyper-parameter that answers it.
struct Question {
  std::string_view family;
  std::string_view when;  // > 0
  std::string_view key;
  std::string_view answer;  // what --set takes: "true or false"
  bool from_names;          // the names of a checkpoint's index tell
  std::string_view text;
};

std::span<const Question> questions();

// Keys that other writers of configs use for the same figure.
struct Alias {
  std::string_view family;
  std::string_view key;
  std::string_view also;
};

std::span<const Alias> aliases();

}  // namespace transload::importing
