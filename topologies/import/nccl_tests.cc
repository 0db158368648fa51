// What the tables of a log say about links, as measured rates.
//
// A table measures NVLink where all its ranks are in one NVLink domain, and NICs where they are in
// several: then the bytes that leave a domain count. Which ranks share a domain is known only of
// rack-scale systems (one domain per rack) and of what stays in one host.
#include "topologies/import/nccl_tests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/units.h"
#include "topologies/import/readers.h"
#include "topologies/import/scaling.h"
#include "topologies/import/text_lines.h"

namespace transload {
namespace {

// Above this spread, one rate no longer describes a fabric: 20 %, as RC-131 asks of a fit.
constexpr std::int64_t kScalingTolerancePpm = 200'000;

bool is_rack_scale(const NcclTestTable& table) {
  return import_text::contains(table.gpu, "GB200") || import_text::contains(table.gpu, "GB300");
}

std::string title(const NcclTestTable& table) {
  std::string text = table.test.empty() ? "an unnamed test" : table.test;
  if (table.ranks != kUnknown) text += fmt::format(", {} ranks", table.ranks);
  if (table.hosts != kUnknown)
    text += fmt::format(", {} host{}", table.hosts, table.hosts == 1 ? "" : "s");
  if (table.racks > 1) text += fmt::format(", {} racks", table.racks);
  return text;
}

class Interpreter {
 public:
  ImportFindings read(const NcclTestLog& log) {
    findings_.kind = "nccl-tests";
    for (const NcclTestTable& table : log.tables) {
      report_rows(table);
      if (best_row(table) == nullptr)
        findings_.ignored.push_back(title(table) + ": no row that can be used");
      else
        read_table(table);
    }
    return std::move(findings_);
  }

 private:
  void report_rows(const NcclTestTable& table) {
    std::vector<std::int64_t> collapsed;
    std::size_t wrong = 0;
    for (const NcclTestRow& row : table.rows) {
      if (row.flagged) collapsed.push_back(row.size_bytes);
      if (row.out_of_place.wrong > 0 || row.in_place.wrong > 0) ++wrong;
    }
    if (!collapsed.empty())
      findings_.warnings.push_back(fmt::format(
          "{}: bandwidth collapses at {} sizes ({} bytes): below half of the best at a smaller "
          "size; nothing is fitted to these rows",
          title(table), collapsed.size(), fmt::join(collapsed, ", ")));
    if (wrong > 0)
      findings_.warnings.push_back(
          fmt::format("{}: {} rows report wrong elements", title(table), wrong));
  }

  void read_table(const NcclTestTable& table) {
    if (table.test != "alltoall" && table.test != "sendrecv") {
      findings_.ignored.push_back(
          fmt::format("{}: only alltoall and sendrecv say what one link reaches", title(table)));
      return;
    }
    const std::int32_t domain = ranks_per_domain(table);
    if (domain == kUnknown) return;
    if (domain == table.ranks)
      inside_domain(table);
    else
      between_domains(table, domain);
  }

  // kUnknown: asked for.
  std::int32_t ranks_per_domain(const NcclTestTable& table) {
    const bool racks = is_rack_scale(table) && table.hosts != 1;
    const std::int32_t domains = racks ? table.racks : table.hosts;
    if (table.ranks == kUnknown || domains == kUnknown) {
      findings_.asked.push_back(fmt::format("{}: how many {} the ranks of one run were in",
                                            title(table), racks ? "racks" : "hosts"));
      return kUnknown;
    }
    if (table.ranks % domains != 0) {
      findings_.asked.push_back(
          fmt::format("{}: which ranks were in which {}", title(table), racks ? "rack" : "host"));
      return kUnknown;
    }
    return table.ranks / domains;
  }

  void inside_domain(const NcclTestTable& table) {
    if (!is_rack_scale(table)) {
      findings_.asked.push_back(fmt::format(
          "{}: whether the GPUs of this host are joined by NVLink or by PCIe", title(table)));
      return;
    }
    const NcclTestRow& row = *best_row(table);
    add("nvlink", row.out_of_place.bus_rate, table,
        fmt::format("bus bandwidth at {} bytes", row.size_bytes));
  }

  void between_domains(const NcclTestTable& table, std::int32_t domain) {
    const NcclTestRow& row = *best_row(table);
    if (table.test == "alltoall")
      add("nic", alltoall_rate_beyond_group(row, table.ranks, domain), table,
          fmt::format("what each GPU sends beyond its {} ranks, at {} bytes", domain,
                      row.size_bytes));
    else
      add("nic", row.out_of_place.bus_rate, table,
          fmt::format("bus bandwidth at {} bytes", row.size_bytes));
  }

  void add(const char* link, std::int64_t rate, const NcclTestTable& table,
           const std::string& what) {
    findings_.measurements.push_back({link, rate, fitted_latency_ps(table),
                                      fmt::format("nccl-tests {}: {}", title(table), what)});
  }

  ImportFindings findings_;
};

// A NIC's rate is that of the column that is least disturbed; the others tell of the core.
ImportFindings read_scaling(const NcclTestLog& log) {
  ImportFindings findings;
  findings.kind = "nccl-tests";
  std::vector<ScalingPoint> points;
  const NcclTestTable* best = nullptr;
  for (const NcclTestTable& table : log.tables) {
    const NcclTestRow* row = best_row(table);
    points.push_back({table.hosts, row == nullptr ? 0 : row->out_of_place.bus_rate});
    if (points.back().nodes > 1 &&
        (best == nullptr || points.back().rate > best_row(*best)->out_of_place.bus_rate) &&
        row != nullptr)
      best = &table;
  }
  if (best == nullptr || best->test.empty()) {
    findings.asked.push_back("which test made this table, over which links");
    return findings;
  }
  const NcclTestRow& row = *best_row(*best);
  if (best->test != "sendrecv") {
    findings.ignored.push_back(title(*best) + ": only sendrecv says what one link reaches here");
    return findings;
  }
  findings.measurements.push_back(
      {"nic", row.out_of_place.bus_rate, 0,
       fmt::format("nccl-tests {}: bus bandwidth at {} bytes, the best of {} node counts",
                   title(*best), row.size_bytes, log.tables.size())});
  std::vector<std::string> parts;
  const std::vector<std::int64_t> flows = flows_per_link(points);
  for (std::size_t i = 0; i < points.size(); ++i)
    parts.push_back(fmt::format("{} nodes {} ({})", points[i].nodes,
                                format_rate(static_cast<double>(points[i].rate)), flows[i]));
  if (!shared_links_fit(points, std::vector<std::int64_t>(points.size(), 1), kScalingTolerancePpm))
    findings.warnings.push_back(fmt::format(
        "one rate does not describe this fabric; in brackets how many flows would share a link of "
        "its core: {}{}",
        fmt::join(parts, ", "),
        one_core_link_fits(points, kScalingTolerancePpm)
            ? "; one core link that all nodes share fits too"
            : "; one core link that all nodes share does not fit"));
  return findings;
}

bool is_scaling_csv(const std::string& text) {
  for (const import_text::TextLine& line : import_text::lines_of(text)) {
    const std::string_view said = import_text::trimmed(line.text);
    if (said.empty() || said.starts_with('#')) continue;
    return said.starts_with("size,");
  }
  return false;
}

}  // namespace

ImportFindings read_nccl_tests(const std::string& text, const std::string& file) {
  if (is_scaling_csv(text)) return read_scaling(parse_nccl_scaling_csv(text, file));
  return Interpreter().read(parse_nccl_tests_log(text, file));
}

}  // namespace transload
