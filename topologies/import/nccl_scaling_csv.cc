#include <fmt/format.h>

#include <algorithm>
#include <optional>
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

constexpr std::int64_t kGigabyte = 1'000'000'000;
constexpr std::int64_t kMaxRate = 1'000'000 * kGigabyte;
constexpr std::int64_t kMaxNodes = std::int64_t{1} << 20;
constexpr std::string_view kNodesSuffix = "_nodes";

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t comma = std::min(line.find(','), line.size());
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == line.size()) return cells;
    line.remove_prefix(comma + 1);
  }
}

class CsvReader {
 public:
  CsvReader(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  NcclTestLog read() {
    for (const TextLine& line : import_text::lines_of(text_)) {
      const std::string_view said = trimmed(line.text);
      if (said.empty()) continue;
      if (said.starts_with('#'))
        read_comment(said.substr(1));
      else if (log_.tables.empty())
        read_header(cells_of(said), line.number);
      else
        read_row(cells_of(said), line.number);
    }
    if (log_.tables.empty() || log_.tables[0].rows.empty())
      throw InputError({file_, 0, ""}, "expected a header size,N_nodes,... and rows of GB/s");
    if (!says_bus_bandwidth_)
      throw InputError({file_, 0, ""},
                       "no comment says which bandwidth the table holds; write \"# busbw\" for bus "
                       "bandwidth; algorithm bandwidth cannot be read without the test's factor");
    for (NcclTestTable& table : log_.tables) flag_collapsed_rows(table.rows);
    return std::move(log_);
  }

 private:
  void read_comment(std::string_view comment) {
    if (import_text::contains(comment, "busbw")) says_bus_bandwidth_ = true;
    for (std::string_view word : words_of(comment)) {
      if (std::string name = nccl_test_name(word); !name.empty()) test_ = std::move(name);
      constexpr std::string_view kPerNode = "GPUs/node";
      if (word.starts_with(kPerNode) && gpus_before_) gpus_per_node_ = *gpus_before_;
      gpus_before_ = whole_number(word);
    }
  }

  void read_header(const std::vector<std::string_view>& cells, int line) {
    if (cells[0] != "size" || cells.size() < 2)
      throw InputError({file_, line, ""}, "expected the header size,N_nodes,...");
    for (std::size_t i = 1; i < cells.size(); ++i) {
      const std::string_view cell = cells[i];
      const auto nodes = cell.ends_with(kNodesSuffix)
                             ? whole_number(cell.substr(0, cell.size() - kNodesSuffix.size()))
                             : std::nullopt;
      if (!nodes || *nodes < 1 || *nodes > kMaxNodes)
        throw InputError({file_, line, std::string(cell)}, "expected a column such as 4_nodes");
      NcclTestTable table;
      table.test = test_;
      table.hosts = static_cast<std::int32_t>(*nodes);
      if (gpus_per_node_ > 0 && gpus_per_node_ <= kMaxNodes / *nodes)
        table.ranks = static_cast<std::int32_t>(*nodes * gpus_per_node_);
      log_.tables.push_back(std::move(table));
    }
  }

  void read_row(const std::vector<std::string_view>& cells, int line) {
    if (cells.size() != log_.tables.size() + 1)
      throw InputError({file_, line, ""}, fmt::format("{} columns; the header has {}", cells.size(),
                                                      log_.tables.size() + 1));
    const std::int64_t size = size_of(cells[0], line);
    for (std::size_t i = 0; i < log_.tables.size(); ++i) {
      const auto rate = decimal_times(cells[i + 1], kGigabyte);
      if (!rate || *rate > kMaxRate)
        throw InputError({file_, line, ""},
                         fmt::format("\"{}\": expected a number of GB/s", cells[i + 1]));
      NcclTestRow row;
      row.size_bytes = size;
      row.ranks = log_.tables[i].ranks;
      row.out_of_place.bus_rate = *rate;
      row.line = line;
      log_.tables[i].rows.push_back(row);
    }
  }

  // "256K": nccl-tests counts sizes in powers of 1024.
  std::int64_t size_of(std::string_view text, int line) const {
    constexpr std::string_view kSuffixes = "KMG";
    std::int64_t factor = 1;
    std::string_view digits = text;
    if (!text.empty() && kSuffixes.find(text.back()) != std::string_view::npos) {
      factor = std::int64_t{1} << (10 * (kSuffixes.find(text.back()) + 1));
      digits.remove_suffix(1);
    }
    const auto number = whole_number(digits);
    if (!number || *number > (std::int64_t{1} << 50) / factor)
      throw InputError({file_, line, "size"},
                       fmt::format("\"{}\": expected a size such as 256K", text));
    return *number * factor;
  }

  const std::string& text_;
  const std::string& file_;
  NcclTestLog log_;
  std::string test_;
  std::optional<std::int64_t> gpus_before_;
  std::int64_t gpus_per_node_ = 0;
  bool says_bus_bandwidth_ = false;
};

}  // namespace

NcclTestLog parse_nccl_scaling_csv(const std::string& text, const std::string& file) {
  return CsvReader(text, file).read();
}

}  // namespace transload
