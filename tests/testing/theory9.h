// The ten layouts of examples/theory-9 (docs/theory-9.md) and what theory says of them.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace transload::testing {

struct Theory9Row {
  std::string job;     // "01-pp8-ep32-to-ep128"
  double bound_s = 0;  // what no schedule can beat
  double p2p_s = 0;    // a copy to every GPU; row 10: a copy to every NVLink domain
};

inline std::string theory9_folder() {
  return std::string(TRANSLOAD_SOURCE_DIR) + "/examples/theory-9/";
}

// examples/theory-9/expected.csv: job, bound, p2p, m2n uniform, m2n node-aware; milliseconds.
inline std::vector<Theory9Row> theory9_rows() {
  std::vector<Theory9Row> rows;
  std::ifstream file(theory9_folder() + "expected.csv");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    Theory9Row row;
    std::string bound;
    std::string p2p;
    std::getline(cells, row.job, ',');
    std::getline(cells, bound, ',');
    std::getline(cells, p2p, ',');
    row.bound_s = std::stod(bound) * 1e-3;
    row.p2p_s = std::stod(p2p) * 1e-3;
    rows.push_back(row);
  }
  return rows;
}

// The job's text with lines `KEY: ...` replaced: {"dtype: fp8-e4m3", "topology: ..."}.
inline std::string theory9_text(const std::string& job, const std::vector<std::string>& lines) {
  std::ifstream file(theory9_folder() + job + ".yaml");
  std::string text;
  for (std::string line; std::getline(file, line);) {
    for (const std::string& other : lines)
      if (line.starts_with(other.substr(0, other.find(':') + 1))) line = other;
    text += line + "\n";
  }
  return text;
}

// The same layout with one byte a parameter on machines of the topology library, as
// benchmarks/theory9 --variant fp8 (dgx-h100) or fp8-h200 (hgx-h200).
inline std::string theory9_on_library(const std::string& job,
                                      const std::string& machine = "dgx-h100") {
  const std::string nodes = job.starts_with("10") ? "20" : job.starts_with("06") ? "32" : "48";
  std::string topology = "{name: " + machine + ", nodes: " + nodes + "}";
  if (job.starts_with("06")) topology = "[" + topology + ", {name: gb200-nvl72, racks: 2}]";
  return theory9_text(job, {"dtype: fp8-e4m3", "topology: " + topology});
}

}  // namespace transload::testing
