// Command-line words of launch scripts as flags with values.
//
// `FlagSet` splits words into flags ("--tensor-model-parallel-size 4", "-tp=4") and what follows
// them, and answers by name. Whoever interprets the flags asks for those it knows; `rest()` names
// the others, so that nothing is dropped without a word.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

namespace transload::importing {

struct Word {
  std::string text;
  int line = 0;
};

class FlagSet {
 public:
  // `words`: the arguments of one launch. Underscores in flag names read as dashes. A flag takes
  // the words up to the next flag.
  FlagSet(const std::vector<Word>& words, std::string file);

  bool has(const std::vector<std::string_view>& names);
  // The value of the flag under any of its names. InputError: the flag stands without a value, with
  // several, or twice with unlike values; nullopt: it does not stand.
  std::optional<std::string> value(const std::vector<std::string_view>& names);
  // As a whole number in low..high; a shell variable that the file does not set is named.
  std::optional<std::int64_t> integer(const std::vector<std::string_view>& names, std::int64_t low,
                                      std::int64_t high);
  // Flags that nobody asked for, once each, in order.
  std::vector<std::string> rest() const;
  // Words before the first flag and surplus words behind flags without one are `positional`.
  const std::vector<Word>& positional() const { return positional_; }
  int line_of(std::string_view name) const;
  [[noreturn]] void fail(std::string_view name, const std::string& problem) const;

 private:
  struct Flag {
    std::string name;
    std::vector<std::string> values;
    int line = 0;
  };

  std::string file_;
  std::vector<Flag> flags_;
  std::vector<Word> positional_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace transload::importing
