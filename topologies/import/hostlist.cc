#include "topologies/import/hostlist.h"

#include <fmt/format.h>

#include <algorithm>

#include "topologies/import/text_lines.h"

namespace transload {
namespace {

using import_text::trimmed;
using import_text::whole_number;

constexpr std::size_t kMaxNameLength = 255;  // of a host name in the domain name system

struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::size_t width = 0;  // at least this many digits

  std::int64_t count() const { return high - low + 1; }
};

// A part of a name: plain text, or numbers of which each makes a name.
struct Piece {
  std::string_view text;
  std::vector<Range> ranges;  // empty: plain text

  std::int64_t count() const {
    std::int64_t sum = 0;
    for (const Range& range : ranges) sum += range.count();
    return sum;
  }
};

class Expander {
 public:
  Expander(std::string_view list, const InputPlace& place, std::int64_t& budget)
      : list_(list), place_(place), budget_(budget) {}

  std::vector<std::string> expand() {
    std::vector<std::string> names;
    for (const std::string_view item : split(list_)) expand_item(item, names);
    return names;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    const std::string shown(list_.substr(0, 80));
    throw InputError(place_, fmt::format("{} in the list of names \"{}{}\"", problem, shown,
                                         list_.size() > 80 ? "..." : ""));
  }

  // Cuts at the commas that stand outside brackets.
  std::vector<std::string_view> split(std::string_view text) const {
    std::vector<std::string_view> items;
    std::size_t begin = 0;
    bool inside = false;
    for (std::size_t at = 0; at <= text.size(); ++at) {
      const char c = at < text.size() ? text[at] : ',';
      if (c == '[' && inside) fail("a bracket inside a bracket");
      if (c == ']' && !inside) fail("a closing bracket without an opening one");
      if (c == '[') inside = true;
      if (c == ']') inside = false;
      if (at < text.size() && (c != ',' || inside)) continue;
      if (inside) fail("a bracket that is not closed");
      items.push_back(trimmed(text.substr(begin, at - begin)));
      if (items.back().empty()) fail("an empty name");
      begin = at + 1;
    }
    return items;
  }

  Range range_of(std::string_view text) const {
    const std::size_t dash = std::min(text.find('-'), text.size());
    const std::string_view low = text.substr(0, dash);
    const std::string_view high = dash < text.size() ? text.substr(dash + 1) : low;
    const auto first = whole_number(low);
    const auto last = whole_number(high);
    if (!first || !last || low.size() > 18 || high.size() > 18)
      fail(fmt::format("\"{}\" is no number and no range of numbers", text));
    if (*last < *first) fail(fmt::format("the range {} falls", text));
    return {*first, *last, low.size()};
  }

  std::vector<Range> ranges_of(std::string_view text) const {
    std::vector<Range> ranges;
    while (true) {
      const std::size_t comma = std::min(text.find(','), text.size());
      ranges.push_back(range_of(text.substr(0, comma)));
      // Checked range by range, so that sums stay far from overflow.
      if (ranges.back().count() > budget_) fail_budget();
      if (comma == text.size()) return ranges;
      text.remove_prefix(comma + 1);
    }
  }

  [[noreturn]] void fail_budget() const {
    fail(fmt::format("more than {} names, the most that one file may bring,", kMaxHostlistNames));
  }

  std::vector<Piece> pieces_of(std::string_view item) const {
    std::vector<Piece> pieces;
    std::size_t length = 0;
    while (!item.empty()) {
      Piece piece;
      const std::size_t open = std::min(item.find('['), item.size());
      if (open > 0) {
        piece.text = item.substr(0, open);
        item.remove_prefix(open);
        length += piece.text.size();
        for (const unsigned char c : piece.text)
          if (c <= ' ' || c == 127) fail("a blank or a control character in a name");
      } else {
        const std::size_t close = item.find(']');
        piece.ranges = ranges_of(item.substr(1, close - 1));
        item.remove_prefix(close + 1);
        length += 18;
      }
      if (length > kMaxNameLength + 18)
        fail(fmt::format("a name longer than {} characters", kMaxNameLength));
      pieces.push_back(std::move(piece));
    }
    return pieces;
  }

  void expand_item(std::string_view item, std::vector<std::string>& names) {
    const std::vector<Piece> pieces = pieces_of(item);
    std::int64_t count = 1;
    for (const Piece& piece : pieces) {
      if (piece.ranges.empty()) continue;
      const std::int64_t factor = piece.count();
      if (factor > budget_ || count * factor > budget_) fail_budget();
      count *= factor;
    }
    if (count > budget_) fail_budget();
    budget_ -= count;
    std::vector<std::string> made = {""};
    for (const Piece& piece : pieces) made = crossed(made, piece);
    names.insert(names.end(), made.begin(), made.end());
  }

  static std::vector<std::string> crossed(const std::vector<std::string>& heads,
                                          const Piece& piece) {
    std::vector<std::string> made;
    for (const std::string& head : heads) {
      if (piece.ranges.empty()) made.push_back(head + std::string(piece.text));
      for (const Range& range : piece.ranges)
        for (std::int64_t number = range.low; number <= range.high; ++number)
          made.push_back(head + fmt::format("{:0{}}", number, range.width));
    }
    return made;
  }

  std::string_view list_;
  const InputPlace& place_;
  std::int64_t& budget_;
};

}  // namespace

std::vector<std::string> expand_hostlist(std::string_view list, const InputPlace& place,
                                         std::int64_t& budget) {
  return Expander(trimmed(list), place, budget).expand();
}

}  // namespace transload
