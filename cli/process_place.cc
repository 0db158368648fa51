#include "cli/process_place.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string_view>

#include "common/error.h"

namespace transload {
namespace {

using Read = std::function<const char*(const char*)>;

// The variables by which a launcher tells a process its number and their number.
struct Launcher {
  const char* process;
  const char* processes;
};
constexpr std::array<Launcher, 4> kLaunchers = {{{"TRANSLOAD_PROCESS", "TRANSLOAD_PROCESSES"},
                                                 {"RANK", "WORLD_SIZE"},
                                                 {"SLURM_PROCID", "SLURM_NTASKS"},
                                                 {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}}};
constexpr std::int32_t kMostPort = 65535;

std::int32_t number(const Read& read, const char* name, std::int32_t least, std::int32_t most) {
  const std::string_view text = read(name);
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw InputError(
        fmt::format("environment variable {}: found '{}', expected a number from {} "
                    "to {}",
                    name, text, least, most));
  return value;
}

std::string control_endpoint(const Read& read, const Launcher& launcher) {
  if (const char* control = read("TRANSLOAD_CONTROL")) return control;
  const char* address = read("MASTER_ADDR");
  if (address == nullptr || read("MASTER_PORT") == nullptr)
    throw InputError(
        fmt::format("environment variable {} is set, but neither TRANSLOAD_CONTROL "
                    "(ADDRESS:PORT of the control service) nor MASTER_ADDR and "
                    "MASTER_PORT",
                    launcher.process));
  return fmt::format("{}:{}", address, number(read, "MASTER_PORT", 1, kMostPort - 1) + 1);
}

}  // namespace

std::optional<ProcessPlace> place_from_environment(const Read& read) {
  for (const Launcher& launcher : kLaunchers) {
    if (read(launcher.process) == nullptr) continue;
    if (read(launcher.processes) == nullptr)
      throw InputError(fmt::format("environment variable {} is set, but {} is not",
                                   launcher.process, launcher.processes));
    ProcessPlace place;
    place.processes = number(read, launcher.processes, 1, INT32_MAX);
    place.process = number(read, launcher.process, 0, place.processes - 1);
    place.control = control_endpoint(read, launcher);
    place.launched_by_us = read("TRANSLOAD_LAUNCHED") != nullptr;
    place.serves_control = place.process == 0 && !place.launched_by_us;
    return place;
  }
  return std::nullopt;
}

}  // namespace transload
