// Both engines of the replay against an independent simulator, on random plans.
#include "tests/simulator/fluid_oracle.h"

#include <gtest/gtest.h>

#include <random>

#include "simulator/simulate.h"
#include "tests/simulator/sketch.h"

namespace transload {
namespace {

class RandomPlan {
 public:
  RandomPlan(std::uint32_t seed, Discipline discipline)
      : random_(seed), ranks_(pick(2, 7)), sketch_(ranks_, {{128, 250'000}, {1024, 900'000}}) {
    sketch_.header().discipline = discipline;
    for (int rank = 0; rank < ranks_; ++rank) add_ports(rank);
    for (int operations = pick(5, 60); operations > 0; --operations) add_operation();
  }

  Plan seal() { return sketch_.seal(); }

 private:
  struct Ports {
    std::int32_t nic_out, nic_in, nvlink_out, nvlink_in, pack, unpack;
  };

  int pick(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint32_t>(high - low + 1));
  }
  PortSketch random_port(std::int64_t rate) {
    return {.rate = rate * pick(1, 4),
            .window = static_cast<std::uint32_t>(pick(1, 4)),
            .latency_ps = pick(0, 2) * 1'234'567'891LL,
            .occupancy_ps = pick(0, 2) * 123'456'789LL};
  }

  void add_ports(int rank) {
    Ports ports{};
    // Every third rank shares the NIC of the rank before it.
    const bool shares = rank % 3 == 2;
    const PortSketch out = random_port(10 * kGigabyte);
    const PortSketch in = random_port(10 * kGigabyte);
    ports.nic_out = shares ? sketch_.port_on(PortKind::kNicOut,
                                             sketch_.link_of(ports_.back().nic_out), rank, out)
                           : sketch_.nic_out(rank, out);
    ports.nic_in =
        shares ? sketch_.port_on(PortKind::kNicIn, sketch_.link_of(ports_.back().nic_in), rank, in)
               : sketch_.nic_in(rank, in);
    ports.nvlink_out =
        sketch_.port(PortKind::kNvlinkOut, LinkKind::kNvlinkOut, rank, random_port(50 * kGigabyte));
    ports.nvlink_in =
        sketch_.port(PortKind::kNvlinkIn, LinkKind::kNvlinkIn, rank, random_port(50 * kGigabyte));
    ports.pack = sketch_.port(PortKind::kPack, LinkKind::kHbm, rank, random_port(90 * kGigabyte));
    ports.unpack =
        sketch_.port_on(PortKind::kUnpack, sketch_.link_of(ports.pack), rank, random_port(1));
    ports_.push_back(ports);
  }

  void add_operation() {
    const auto bytes = static_cast<std::uint64_t>(pick(1'000'000, 1'000'000'000));
    const int source = pick(0, ranks_ - 1);
    const Ports& from = ports_[static_cast<std::size_t>(source)];
    // Edges between groups only go to later ones, so that no group waits for itself.
    const std::int32_t group = count_ / 6;
    OpId op = 0;
    if (pick(0, 3) == 0) {
      op = sketch_.copy(OpRole::kLocal, source, pick(0, 1) == 0 ? from.pack : from.unpack, bytes,
                        pick(0, 1) == 0 ? 0 : 256);
    } else {
      const int destination = (source + pick(1, ranks_ - 1)) % ranks_;
      const Ports& to = ports_[static_cast<std::size_t>(destination)];
      const bool nvlink = pick(0, 2) == 0;
      op = sketch_.transfer(source, nvlink ? from.nvlink_out : from.nic_out, destination,
                            nvlink ? to.nvlink_in : to.nic_in, bytes, group);
    }
    for (int edges = pick(0, 2); edges > 0 && group > 0; --edges)
      sketch_.after(op, static_cast<OpId>(pick(0, 6 * group - 1)));
    ++count_;
  }

  std::mt19937 random_;
  int ranks_;
  Sketch sketch_;
  std::vector<Ports> ports_;
  std::int32_t count_ = 0;
};

void expect_same_times(Discipline discipline) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    const Plan plan = RandomPlan(seed, discipline).seal();
    const std::vector<double> expected = FluidOracle(plan).run();
    for (const ReplayEngine engine : {ReplayEngine::kSimGrid, ReplayEngine::kMaxMin}) {
      SCOPED_TRACE(name_of(engine));
      const SimulationResult result = simulate(plan, {.exact = true, .engine = engine});
      for (OpId op = 0; op < plan.operations(); ++op)
        ASSERT_NEAR(result.times.finish_s[op], expected[op], 1e-6 * expected[op])
            << "operation " << op;
    }
  }
}

TEST(FluidOracle, AgreesUnderWindows) { expect_same_times(Discipline::kWindows); }
TEST(FluidOracle, AgreesUnderGroups) { expect_same_times(Discipline::kGroups); }

}  // namespace
}  // namespace transload
