#include "topologies/import/ibnetdiscover_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "common/error.h"
#include "topologies/import/infiniband_rate.h"
#include "topologies/import/text_lines.h"

namespace transload {
namespace {

using import_text::TextLine;
using import_text::trimmed;
using import_text::whole_number;
using import_text::words_of;

// Eats a line from its left end.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool skip(char c) {
    rest_ = trimmed(rest_);
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // What stands between `open` and `close`, which come next.
  std::optional<std::string_view> between(char open, char close) {
    if (!skip(open)) return std::nullopt;
    const std::size_t end = rest_.find(close);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return inside;
  }

  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

class RecordReader {
 public:
  RecordReader(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  std::vector<IbRecord> read() {
    for (const TextLine& line : import_text::lines_of(text_)) read_line(line);
    check_both_ends();
    return std::move(records_);
  }

 private:
  [[noreturn]] void fail(int line, const std::string& problem) const {
    throw InputError({file_, line, ""}, problem);
  }

  void read_line(const TextLine& line) {
    const std::string_view said = trimmed(line.text);
    if (said.empty() || said.starts_with('#')) return;
    if (said.starts_with('[')) return read_cable(said, line.number);
    const std::string_view first = words_of(said)[0];
    if (first == "Switch") return read_head(IbRecord::Kind::kSwitch, said, line.number);
    if (first == "Ca") return read_head(IbRecord::Kind::kCard, said, line.number);
    if (first == "Rt") return read_head(IbRecord::Kind::kRouter, said, line.number);
    // vendid=, devid=, sysimgguid=, switchguid=, caguid=, rtguid=
    if (import_text::contains(first, "=")) return;
    fail(
        line.number,
        fmt::format("\"{}\": expected a line of ibnetdiscover: Switch, Ca, Rt, a cable that begins "
                    "with [PORT], or KEY=VALUE",
                    said.substr(0, 60)));
  }

  // Switch 65 "S-..." # "MF0;leaf1:MQM9700/U1" enhanced port 0 lid 73 lmc 0
  void read_head(IbRecord::Kind kind, std::string_view said, int line) {
    const std::size_t quote = said.find('"');
    Cursor cursor(said.substr(std::min(quote, said.size())));
    const auto id = cursor.between('"', '"');
    const bool hash = cursor.skip('#');
    const auto description = cursor.between('"', '"');
    if (!id || id->empty() || !hash || !description)
      fail(line, "expected KIND PORTS \"ID\" # \"DESCRIPTION\"; cut off?");
    IbRecord record;
    record.kind = kind;
    record.id = *id;
    record.description = trimmed(*description);
    record.line = line;
    if (!index_.emplace(record.id, records_.size()).second)
      fail(line, fmt::format("{} has two records", record.id));
    records_.push_back(std::move(record));
  }

  // [1](guid) "S-..."[65](guid) # ... "description" lid 73 4xNDR
  void read_cable(std::string_view said, int line) {
    if (records_.empty()) fail(line, "a cable before the first Switch or Ca");
    Cursor cursor(said);
    const auto port = cursor.between('[', ']');
    skip_extras(cursor);
    const auto peer = cursor.between('"', '"');
    const auto peer_port = cursor.between('[', ']');
    skip_extras(cursor);
    const bool hash = cursor.skip('#');
    const auto number = port ? whole_number(*port) : std::nullopt;
    const auto peer_number = peer_port ? whole_number(*peer_port) : std::nullopt;
    const auto words = words_of(cursor.rest());
    if (!number || !peer || !peer_number || !hash || words.empty())
      fail(line, "expected [PORT] \"ID\"[PORT] # \"DESCRIPTION\" lid LID RATE; cut off?");
    const auto rate = infiniband_rate(words.back());
    if (!rate) fail(line, fmt::format("\"{}\" is no rate such as 4xNDR; cut off?", words.back()));
    records_.back().cables.push_back({*number, std::string(*peer), *peer_number, *rate, line});
  }

  // GUIDs in round brackets, and "[ext 3]" of modular switches.
  static void skip_extras(Cursor& cursor) {
    while (cursor.between('(', ')') || cursor.between('[', ']')) {
    }
  }

  void check_both_ends() const {
    // record, port, peer, peer's port, rate
    std::set<
        std::tuple<std::string_view, std::int64_t, std::string_view, std::int64_t, std::int64_t>>
        ends;
    for (const IbRecord& record : records_)
      for (const IbCable& cable : record.cables)
        ends.emplace(record.id, cable.port, cable.peer, cable.peer_port, cable.rate);
    for (const IbRecord& record : records_) {
      for (const IbCable& cable : record.cables) {
        const auto peer = index_.find(cable.peer);
        if (peer == index_.end())
          fail(cable.line, fmt::format("a cable to {}, which has no record: the output is cut off",
                                       cable.peer));
        if (!ends.contains({cable.peer, cable.peer_port, record.id, cable.port, cable.rate}))
          fail(cable.line,
               fmt::format("a cable to port {} of {}, whose record (line {}) does not list it at "
                           "the same rate: the output is cut off or altered",
                           cable.peer_port, cable.peer, records_[peer->second].line));
      }
    }
  }

  const std::string& text_;
  const std::string& file_;
  std::vector<IbRecord> records_;
  std::map<std::string, std::size_t> index_;
};

}  // namespace

std::vector<IbRecord> read_ibnetdiscover_records(const std::string& text, const std::string& file) {
  return RecordReader(text, file).read();
}

}  // namespace transload
