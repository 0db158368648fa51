// Computes the points of a sweep, a process a core.
#pragma once

#include <string>
#include <vector>

#include "cli/progress.h"
#include "cli/sweep_file.h"

namespace transload {

// Computes the points of these numbers and appends each to the results file when it is done. The
// workers are processes (a simulation forks, which a process with threads may not) that take one
// point after the other from a common counter. RunFailure, after all the others are done, if a
// worker ends before its time; what is finished by then is in the file. Only for a process without
// threads.
void compute_points(const Sweep& sweep, const std::vector<std::size_t>& numbers,
                    const std::string& results, std::size_t workers, Progress& progress);

}  // namespace transload
