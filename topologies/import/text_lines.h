// Lines, words and exact numbers of plain-text files, for the readers of this folder.
//
// Views point into the text that they were taken from; lines count from 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transload::import_text {

struct TextLine {
  int number = 0;
  std::string_view text;  // without the line's end
};

// All lines; a carriage return before the line's end is no part of a line.
std::vector<TextLine> lines_of(std::string_view text);

std::string_view trimmed(std::string_view text);

// What stands between blanks and tabs.
std::vector<std::string_view> words_of(std::string_view text);

std::string lower_case(std::string_view text);

bool contains(std::string_view text, std::string_view part);

// Digits only, no sign; nothing else may stand beside them, and it has to fit.
std::optional<std::int64_t> whole_number(std::string_view text);

// "41.67" times `unit`, a power of ten, rounded down: exact, no floating point. No sign, no
// exponent.
std::optional<std::int64_t> decimal_times(std::string_view text, std::int64_t unit);

}  // namespace transload::import_text
