// Host costs: the file's rules, the arithmetic of phases, and that every framework of the contract
// has a file that keeps them.
#include "simulator/calibration/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/error.h"

namespace transload {
namespace {

const std::string kCost =
    "costs:\n"
    "  loader:\n"
    "    phase: engine loader\n"
    "    unit: s\n"
    "    per: tensor\n"
    "    value: 2ms\n"
    "    limits: [1ms, 10ms]\n"
    "    kind: assumed\n"
    "    meaning: m\n"
    "    source: s\n";

HostWork work_of(double tensors, double bytes) {
  HostWork work;
  work[WorkUnit::kRefit] = 1;
  work[WorkUnit::kTensor] = tensors;
  work[WorkUnit::kByte] = bytes;
  return work;
}

TEST(Calibration, SecondsPerUnitAddUp) {
  const Calibration calibration = calibration_from_text(kCost, "c");
  const HostPrediction prediction = add_host_costs(calibration, "p2p", work_of(1000, 0), 3);
  EXPECT_DOUBLE_EQ(prediction.transport_s, 3);
  EXPECT_DOUBLE_EQ(prediction.refit_s, 5);  // 1000 tensors x 2 ms
  ASSERT_EQ(prediction.phases.size(), 1u);
  EXPECT_EQ(prediction.phases[0].name, "engine loader");
  EXPECT_DOUBLE_EQ(prediction.phases[0].exposed_s, 2);
}

TEST(Calibration, WorkBesideTheTransportCountsAsFarAsItIsLonger) {
  const Calibration calibration =
      calibration_from_text(kCost + "    beside_transport: true\n", "c");
  EXPECT_DOUBLE_EQ(add_host_costs(calibration, "p2p", work_of(1000, 0), 3).refit_s, 3);
  const HostPrediction longer = add_host_costs(calibration, "p2p", work_of(2000, 0), 3);
  EXPECT_DOUBLE_EQ(longer.refit_s, 4);
  EXPECT_DOUBLE_EQ(longer.phases[0].seconds, 4);
  EXPECT_DOUBLE_EQ(longer.phases[0].exposed_s, 1);
}

TEST(Calibration, ShareStretchesTheTransportOfItsStrategiesOnly) {
  const Calibration calibration = calibration_from_text(
      "costs:\n  share: {phase: p, unit: share, value: 0.5, limits: [0.1, 1], kind: assumed, "
      "strategies: [\"checkpoint-engine:p2p\", m2n], meaning: m, source: s}\n",
      "c");
  const HostWork work = work_of(0, 0);
  EXPECT_DOUBLE_EQ(add_host_costs(calibration, "checkpoint-engine:p2p", work, 2).refit_s, 4);
  EXPECT_DOUBLE_EQ(add_host_costs(calibration, "checkpoint-engine", work, 2).refit_s, 2);
  EXPECT_DOUBLE_EQ(add_host_costs(calibration, "m2n:direct", work, 2).refit_s, 4);
}

TEST(Calibration, RefusesWhatIsImpossible) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = kCost;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_THROW(calibration_from_text(with("2ms", "20ms"), "c"), InputError);  // outside the limits
  EXPECT_THROW(calibration_from_text(with("assumed", "fitted"), "c"), InputError);  // on no row
  EXPECT_THROW(calibration_from_text(with("tensor", "tensors"), "c"), InputError);
  EXPECT_THROW(calibration_from_text(with("unit: s", "unit: share"), "c"), InputError);
}

TEST(Calibration, EveryFrameworkHasAFile) {
  const std::vector<std::string> names = calibrated_frameworks();
  for (const char* name : {"nemo-rl", "miles", "verl", "skyrl", "slime", "checkpoint-engine",
                           "transferengine", "modelexpress", "prime-rl", "m2n-bench"}) {
    ASSERT_TRUE(std::binary_search(names.begin(), names.end(), name)) << name;
    EXPECT_LE(load_calibration(name).costs.size(), kMostConstants) << name;
  }
  EXPECT_EQ(names.size(), 10u);
  EXPECT_THROW(load_calibration("nemo"), InputError);
}

}  // namespace
}  // namespace transload
