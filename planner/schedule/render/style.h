// How pictures look: colours, escapes and the pieces that every view shares.
//
// Colours are those of Okabe and Ito ("Color Universal Design", 2008), which people with any of the
// common colour vision deficiencies can tell apart, and light tints of them as fills. Colour never
// stands alone: roles are also words, and NVLink is also dashed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/schedule/op_facts.h"

namespace transload::render {

struct Ink {
  std::string_view line;
  std::string_view fill;
};

inline constexpr Ink kSourceInk{"#0072B2", "#DCEBF7"};
inline constexpr Ink kDestinationInk{"#B87700", "#FDF0D0"};
inline constexpr Ink kBothInk{"#A8487F", "#F6E3EE"};
inline constexpr Ink kHelperInk{"#6B6B6B", "#F0F0F0"};
inline constexpr Ink kNetworkInk{"#D55E00", "#FBE3D3"};
inline constexpr Ink kNvlinkInk{"#009E73", "#D5F0E7"};
inline constexpr Ink kLocalInk{"#4A7FA5", "#E6F0F7"};
inline constexpr Ink kHostInk{"#6B6B6B", "#F0F0F0"};
inline constexpr std::string_view kTextColour = "#1F2933";
inline constexpr std::string_view kQuietColour = "#5B6670";
inline constexpr std::string_view kFont = "Helvetica,Arial,sans-serif";

Ink ink_of(OpLink link);

// For text inside XML, HTML and Graphviz's HTML-like labels; attribute values too.
std::string xml_escaped(std::string_view text);

// For a double-quoted dot string: quotes, backslashes and entities mean themselves.
std::string dot_quoted(std::string_view text);

// "3", "0-7", "0-3, 8": ascending numbers.
std::string number_ranges(const std::vector<std::int32_t>& numbers);

// "8 ranks", "1 rank".
std::string counted(std::uint64_t number, std::string_view thing);

// One entry of a legend.
struct Key {
  Ink ink;
  bool line = false;  // an arrow rather than a box
  bool dashed = false;
  std::string_view meaning;
};

}  // namespace transload::render
