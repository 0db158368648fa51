// How long 4,096 GPUs take, and how much memory: the topology, and the platform that the simulator
// makes of it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "tests/property/traffic.h"
#include "tests/testing/peak_memory.h"

namespace transload {
namespace {

// Every GPU sends to the one half the cluster away, and over NVLink to the next of its domain: the
// simulator makes no links that nobody uses.
void load_every_port(const Topology& topology, Traffic& traffic) {
  const auto count = static_cast<std::int32_t>(topology.gpus.size());
  for (std::int32_t gpu = 0; gpu < count; ++gpu) {
    const std::int32_t far = (gpu + count / 2) % count;
    traffic.network(gpu, topology.gpus[static_cast<std::size_t>(gpu)].nics.at(0), far,
                    topology.gpus[static_cast<std::size_t>(far)].nics.at(0), kBytes);
    const std::int32_t next = gpu % 4 == 3 ? gpu - 3 : gpu + 1;
    traffic.send(gpu, next, gpu_paths(topology, gpu, next).at(0), kBytes);
  }
}

// Of this process and of its children that have ended: others on the machine do not count.
double cpu_seconds() {
  double seconds = 0;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  }
  return seconds;
}

// What loading a topology costs, and simulating it with every port in use.
// Leaves the process: the memory of the simulator's own process shows in that of its parent only.
void measure_and_exit(const char* request) {
  const PeakMemory memory;
  const double start = cpu_seconds();
  const Topology topology = load(request);
  const double load_s = cpu_seconds() - start;
  const double load_mb = memory.megabytes();
  Traffic traffic(topology);
  load_every_port(topology, traffic);
  traffic.simulated();
  const double all_s = cpu_seconds() - start;
  const double all_mb = memory.megabytes();
  const double simulator_mb = children_megabytes();
  std::printf(
      "%s: %zu GPUs loaded in %.3f CPU s and %.1f MB; with plan and platform %.3f s and %.1f MB, "
      "beside a simulator process of %.1f MB in all\n",
      request, topology.gpus.size(), load_s, load_mb, all_s, all_mb, simulator_mb);
  std::fflush(stdout);
  const bool holds = topology.gpus.size() >= 4096 && all_s < 1 && load_mb < 100 && all_mb < 100 &&
                     simulator_mb < 100;
  _exit(holds ? 0 : 1);
}

TEST(FullTopologySize, FourThousandGpusInASecondAndAHundredMegabytes) {
  EXPECT_EXIT(measure_and_exit("{name: dgx-h100, nodes: 512, oversubscription: 2}"),
              testing::ExitedWithCode(0), "");
  EXPECT_EXIT(measure_and_exit("{name: gb200-nvl72, racks: 57}"), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace transload
