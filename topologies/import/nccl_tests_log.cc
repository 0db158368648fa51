#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/error.h"
#include "topologies/import/nccl_tests.h"
#include "topologies/import/text_lines.h"

namespace transload {
namespace {

using import_text::decimal_times;
using import_text::TextLine;
using import_text::trimmed;
using import_text::whole_number;
using import_text::words_of;
using Words = std::vector<std::string_view>;

constexpr std::int64_t kPicosecondsPerMicrosecond = 1'000'000;
constexpr std::int64_t kGigabyte = 1'000'000'000;
constexpr std::int64_t kMaxRate = 1'000'000 * kGigabyte;
constexpr std::int64_t kMaxRanks = std::int64_t{1} << 20;
// time, algbw, busbw, #wrong: out of place and in place, at the end of a row.
constexpr std::size_t kResultColumns = 4;

class LogReader {
 public:
  LogReader(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  NcclTestLog read() {
    for (const TextLine& line : import_text::lines_of(text_)) {
      const std::string_view said = trimmed(line.text);
      // Other lines are NCCL's own messages.
      if (said.starts_with('#'))
        read_comment(said.substr(1));
      else if (!said.empty() && said.front() >= '0' && said.front() <= '9')
        read_row(words_of(said), line.number);
    }
    close_table();
    if (log_.tables.empty())
      throw InputError({file_, 0, ""},
                       "no row of a benchmark: size, count, type, ..., time, "
                       "algbw, busbw, #wrong (twice)");
    return std::move(log_);
  }

 private:
  void close_table() {
    if (!table_.rows.empty()) {
      flag_collapsed_rows(table_.rows);
      log_.tables.push_back(std::move(table_));
    }
    const std::string test = log_.tables.empty() ? table_.test : log_.tables.back().test;
    const std::string gpu = log_.tables.empty() ? table_.gpu : log_.tables.back().gpu;
    table_ = NcclTestTable{};
    table_.test = test;
    table_.gpu = gpu;
    host_names_.clear();
  }

  void read_comment(std::string_view comment) {
    const Words words = words_of(comment);
    if (words.empty()) return;
    for (const std::string_view word : words) read_test_name(word);
    if (words[0] == "Rank") return read_rank(words);
    if (import_text::contains(comment, "Avg bus bandwidth")) return close_table();
    read_counts(words);
  }

  void read_test_name(std::string_view word) {
    std::string name = nccl_test_name(word);
    if (name.empty()) return;
    if (!table_.rows.empty()) close_table();
    table_.test = std::move(name);
  }

  // Rank 0 Group 0 Pid 1000 on HOST device 0 [0008:06:00] NVIDIA GB300
  void read_rank(const Words& words) {
    const auto rank = words.size() > 1 ? whole_number(words[1]) : std::nullopt;
    if (!rank || *rank >= kMaxRanks) return;
    if (!table_.rows.empty()) close_table();
    table_.ranks = std::max(table_.ranks, static_cast<std::int32_t>(*rank + 1));
    const auto on = std::find(words.begin(), words.end(), "on");
    if (on != words.end() && on + 1 != words.end()) host_names_.insert(std::string(*(on + 1)));
    if (!host_names_.empty()) table_.hosts = static_cast<std::int32_t>(host_names_.size());
    const auto bus = std::find_if(words.begin(), words.end(),
                                  [](std::string_view word) { return word.ends_with(']'); });
    if (bus == words.end()) return;
    table_.gpu.clear();
    for (auto word = bus + 1; word != words.end(); ++word) {
      if (!table_.gpu.empty()) table_.gpu += ' ';
      table_.gpu += *word;
    }
  }

  // "32 hosts over 2 racks, 128 ranks": what a person noted about the run that follows.
  void read_counts(const Words& words) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      std::string_view unit = words[i + 1];
      while (unit.ends_with(',') || unit.ends_with(')')) unit.remove_suffix(1);
      if (unit.ends_with('s')) unit.remove_suffix(1);
      std::string_view number = words[i];
      while (number.starts_with('(')) number.remove_prefix(1);
      const auto count = number == "one" ? std::optional<std::int64_t>(1) : whole_number(number);
      if (!count || *count < 1 || *count > kMaxRanks) continue;
      if (unit != "rank" && unit != "host" && unit != "rack") continue;
      if (!table_.rows.empty()) close_table();
      (unit == "rank"   ? table_.ranks
       : unit == "host" ? table_.hosts
                        : table_.racks) = static_cast<std::int32_t>(*count);
    }
  }

  void read_row(const Words& words, int line) {
    const auto size = whole_number(words[0]);
    if (!size || words.size() < 3 + 2 * kResultColumns)
      throw InputError({file_, line, ""},
                       "expected a row: size, count, type, ..., then time, algbw, busbw and #wrong "
                       "out of place and in place; cut off?");
    NcclTestRow row;
    row.size_bytes = *size;
    row.ranks = table_.ranks;
    row.line = line;
    row.out_of_place = result(words, words.size() - 2 * kResultColumns, line);
    row.in_place = result(words, words.size() - kResultColumns, line);
    table_.rows.push_back(row);
  }

  NcclTestResult result(const Words& words, std::size_t at, int line) const {
    const auto column = [&](std::size_t i, const char* name, std::int64_t unit) {
      const auto value = decimal_times(words[at + i], unit);
      if (!value)
        throw InputError({file_, line, name},
                         fmt::format("\"{}\": expected a number", words[at + i]));
      return *value;
    };
    NcclTestResult result;
    result.time_ps = column(0, "time", kPicosecondsPerMicrosecond);
    result.algorithm_rate = column(1, "algbw", kGigabyte);
    result.bus_rate = column(2, "busbw", kGigabyte);
    if (std::max(result.algorithm_rate, result.bus_rate) > kMaxRate)
      throw InputError({file_, line, "busbw"}, "more than a million GB/s");
    if (words[at + 3] != "N/A") result.wrong = column(3, "#wrong", 1);
    return result;
  }

  const std::string& text_;
  const std::string& file_;
  NcclTestLog log_;
  NcclTestTable table_;
  std::set<std::string> host_names_;
};

}  // namespace

NcclTestLog parse_nccl_tests_log(const std::string& text, const std::string& file) {
  return LogReader(text, file).read();
}

}  // namespace transload
