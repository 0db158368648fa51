#include "executor/host/available_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "common/error.h"
#include "common/units.h"

namespace transload {
namespace {

std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;  // "max" is no number: no limit
  return std::nullopt;
}

std::optional<std::uint64_t> machine_available() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word) {
    std::uint64_t kibibytes = 0;
    if (word == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> group_available() {
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return std::nullopt;
  return *limit > *used ? *limit - *used : 0;
}

}  // namespace

std::optional<std::uint64_t> available_memory() {
  const auto machine = machine_available();
  const auto group = group_available();
  if (machine && group) return std::min(*machine, *group);
  return machine ? machine : group;
}

void require_memory(std::uint64_t needed, std::optional<std::uint64_t> available) {
  if (!available || needed <= *available) return;
  const auto bytes = [](std::uint64_t n) { return format_bytes(static_cast<double>(n)); };
  // A tenth is left for everything that is not a buffer.
  const std::uint64_t usable = std::max<std::uint64_t>(*available / 10 * 9, 1);
  throw RunFailure(
      fmt::format("the buffers and staging of all ranks need {} of host memory, {} are available; "
                  "try --scale {}",
                  bytes(needed), bytes(*available), (needed + usable - 1) / usable));
}

}  // namespace transload
