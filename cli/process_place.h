// Which of several processes of a run this one is, as its launcher says in environment variables.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace transload {

struct ProcessPlace {
  std::int32_t process = 0;
  std::int32_t processes = 1;
  std::string control;          // endpoint of the control service
  bool serves_control = false;  // process 0, unless the launcher serves
  bool launched_by_us = false;  // by `transload run`, which prints the result
};

// From our own TRANSLOAD_PROCESS, TRANSLOAD_PROCESSES and TRANSLOAD_CONTROL, or from those of
// torchrun (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT: one port further, for the given one is
// torchrun's), Slurm or Open MPI with TRANSLOAD_CONTROL beside them. Nothing where none is set;
// InputError where they are incomplete or contradict each other. `read` is getenv in tests' hands.
std::optional<ProcessPlace> place_from_environment(
    const std::function<const char*(const char*)>& read);

}  // namespace transload
