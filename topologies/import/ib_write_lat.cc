#include "topologies/import/ib_write_lat.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/error.h"
#include "common/units.h"
#include "topologies/import/readers.h"
#include "topologies/import/text_lines.h"

namespace transload {
namespace {

using import_text::contains;
using import_text::decimal_times;
using import_text::TextLine;
using import_text::trimmed;
using import_text::whole_number;
using import_text::words_of;
using Words = std::vector<std::string_view>;

constexpr std::int64_t kPicosecondsPerMicrosecond = 1'000'000;

class Parser {
 public:
  Parser(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  std::vector<PortLatency> parse() {
    for (const TextLine& line : import_text::lines_of(text_)) {
      const std::string_view said = trimmed(line.text);
      const Words words = words_of(said);
      if (words.empty()) continue;
      if (contains(said, "t_typical"))
        read_columns(words, line.number);
      else if (said.starts_with('#'))
        read_comment(words);
      else if (contains(said, "->"))
        read_summary(words, line.number);
      else if (typical_column_ > 0 && whole_number(words[0]))
        read_table_row(words, line.number);
    }
    if (rows_.empty())
      throw InputError({file_, 0, ""},
                       "no latency: expected lines HOST HOST NIC -> NUMA N: MICROSECONDS, or the "
                       "table of ib_write_lat with the column t_typical");
    return std::move(rows_);
  }

 private:
  // "8-byte ib_write_lat, microseconds, per port"
  void read_comment(const Words& words) {
    for (std::string_view word : words) {
      if (word.starts_with("microseconds") || contains(word, "usec")) microseconds_ = true;
      if (word.ends_with("-byte"))
        bytes_ = whole_number(word.substr(0, word.size() - 5)).value_or(0);
    }
  }

  // HOST HOST NIC -> NUMA N: MICROSECONDS
  void read_summary(const Words& words, int line) {
    const bool form =
        words.size() == 7 && words[3] == "->" && words[4] == "NUMA" && words[5].ends_with(':');
    const auto numa = form ? whole_number(words[5].substr(0, words[5].size() - 1)) : std::nullopt;
    const auto latency = form ? decimal_times(words[6], kPicosecondsPerMicrosecond) : std::nullopt;
    if (!numa || !latency || *numa > 4096)
      throw InputError({file_, line, ""}, "expected HOST HOST NIC -> NUMA N: MICROSECONDS");
    if (!microseconds_)
      throw InputError({file_, line, ""},
                       "no comment names the unit before this line; expected \"# microseconds\"");
    rows_.push_back({std::string(words[0]), std::string(words[1]), std::string(words[2]),
                     static_cast<std::int32_t>(*numa), bytes_, *latency});
  }

  // #bytes #iterations t_min[usec] t_max[usec] t_typical[usec] ...; names may hold blanks further
  // right ("99% percentile[usec]"), not before this column.
  void read_columns(const Words& words, int line) {
    for (std::size_t i = 0; i < words.size(); ++i)
      if (words[i].starts_with("t_typical")) typical_column_ = i;
    if (typical_column_ == 0 || !contains(words[typical_column_], "usec"))
      throw InputError({file_, line, ""}, "expected a column t_typical[usec] after #bytes");
  }

  void read_table_row(const Words& words, int line) {
    const auto latency = typical_column_ < words.size()
                             ? decimal_times(words[typical_column_], kPicosecondsPerMicrosecond)
                             : std::nullopt;
    if (!latency) throw InputError({file_, line, "t_typical"}, "expected a number; cut off?");
    rows_.push_back({"", "", "", -1, *whole_number(words[0]), *latency});
  }

  const std::string& text_;
  const std::string& file_;
  std::vector<PortLatency> rows_;
  std::size_t typical_column_ = 0;  // 0: no table yet
  std::int64_t bytes_ = 0;
  bool microseconds_ = false;
};

std::string between(const PortLatency& row) {
  if (row.source.empty()) return "one pair of ports";
  return fmt::format("{} to {}", row.source, row.destination);
}

std::string microseconds(std::int64_t picoseconds) {
  return format_seconds(to_seconds(picoseconds));
}

}  // namespace

std::vector<PortLatency> parse_ib_write_lat(const std::string& text, const std::string& file) {
  return Parser(text, file).parse();
}

// One measurement for each pair of hosts, in the file's order: the lower median over its ports, of
// the smallest messages.
ImportFindings read_ib_write_lat(const std::string& text, const std::string& file) {
  const std::vector<PortLatency> rows = parse_ib_write_lat(text, file);
  ImportFindings findings;
  findings.kind = "ib_write_lat";
  std::int64_t smallest = rows[0].bytes;
  for (const PortLatency& row : rows) smallest = std::min(smallest, row.bytes);
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> pairs;
  bool numa = false;
  for (const PortLatency& row : rows) {
    if (row.bytes != smallest) continue;
    numa = numa || row.numa >= 0;
    const std::string name = between(row);
    auto found = std::find_if(pairs.begin(), pairs.end(),
                              [&](const auto& pair) { return pair.first == name; });
    if (found == pairs.end()) found = pairs.insert(pairs.end(), {name, {}});
    found->second.push_back(row.latency_ps);
  }
  for (auto& [name, latencies] : pairs) {
    std::sort(latencies.begin(), latencies.end());
    const std::int64_t median = latencies[(latencies.size() - 1) / 2];
    findings.measurements.push_back(
        {"nic", 0, median,
         fmt::format("ib_write_lat {}: median of {} ports, {} to {}", name, latencies.size(),
                     microseconds(latencies.front()), microseconds(latencies.back()))});
  }
  if (pairs.size() > 1)
    findings.asked.push_back(
        "which of the pairs of hosts stands for the fabric: their latencies differ by the switches "
        "between them");
  if (numa) findings.ignored.push_back("the NUMA node of each port: a node's own file says it");
  return findings;
}

}  // namespace transload
