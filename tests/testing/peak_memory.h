// How much memory a piece of a test needs at most.
#pragma once

#include <sys/resource.h>

#include <fstream>
#include <string>

namespace transload {

// Counts from its construction on: the peak of this process's resident memory above what it had.
// Linux only; forked children are not counted.
class PeakMemory {
 public:
  PeakMemory() {
    // "5" sets the peak (VmHWM) back to what is resident now: proc(5), /proc/pid/clear_refs.
    std::ofstream("/proc/self/clear_refs") << "5";
    before_ = kilobytes("VmRSS:");
  }
  double megabytes() const {
    return static_cast<double>(kilobytes("VmHWM:") - before_) * 1024 / 1e6;
  }

 private:
  static long kilobytes(const std::string& field) {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
      if (word == field) {
        long value = 0;
        status >> value;
        return value;
      }
    return 0;
  }

  long before_ = 0;
};

// Peak resident memory of the largest child process that has ended, everything counted.
inline double children_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;  // Linux: in KiB
}

}  // namespace transload
