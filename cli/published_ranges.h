// Refits of which only the time is published: predicted as a range over the layouts and clusters
// that are not. simulator/validation/ranges.yaml lists them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/progress.h"
#include "simulator/simulate.h"

namespace transload {

struct PublishedRange {
  std::string id;
  std::string title;
  std::string source;
  std::string unpublished;  // what the range is over, in words
  std::string job;          // path below the installation: the likely case
  std::string sweep;        // likewise: the grid of all cases
  std::string source_memory;
  std::map<std::string, std::string> phase_names;  // what the system calls a phase, by its role
  double published_s = 0;
  double low_s = 0;               // the best of the grid's points, a closed-form estimate
  double likely_s = 0;            // the job, simulated, with its framework's host costs
  double high_s = 0;              // the worst of the points
  std::size_t points = 0;         // of the grid that can be planned
  std::vector<PhaseTime> phases;  // of the likely case
};

// The list alone, without any time predicted. InputError naming file and field.
std::vector<PublishedRange> listed_ranges();

// Plans every point of every sweep and simulates every likely case: about a minute.
std::vector<PublishedRange> predict_ranges(Progress& progress);

// A section of docs/accuracy.md.
std::string range_section(const std::vector<PublishedRange>& ranges);

}  // namespace transload
