// The min-max flow against the same problem as a linear program, solved by CLP.
#include <gtest/gtest.h>

#include <random>

#include "planner/bound/min_max_flow.h"
#include "tests/testing/random_job.h"

#ifdef TRANSLOAD_HAS_CLP
#include <ClpSimplex.hpp>
#include <CoinPackedMatrix.hpp>
#endif

namespace transload {
namespace {

#ifdef TRANSLOAD_HAS_CLP

// min T with sum_p x[i,p] = w_i and sum_i x[i,p] - E_p T <= 0, x >= 0.
double lp_optimum(const std::vector<FlowDemand>& demands, const std::vector<std::int64_t>& rates) {
  std::vector<int> rows;
  std::vector<int> columns;
  std::vector<double> values;
  int column = 1;  // column 0 is T
  const int first_port_row = static_cast<int>(demands.size());
  const auto add = [&](int row, int at, double value) {
    rows.push_back(row);
    columns.push_back(at);
    values.push_back(value);
  };
  for (std::size_t i = 0; i < demands.size(); ++i)
    for (std::uint32_t p : demands[i].ports) {
      add(static_cast<int>(i), column, 1);
      add(first_port_row + static_cast<int>(p), column, 1);
      ++column;
    }
  for (std::size_t p = 0; p < rates.size(); ++p)
    add(first_port_row + static_cast<int>(p), 0, -static_cast<double>(rates[p]));
  const CoinPackedMatrix matrix(false, rows.data(), columns.data(), values.data(),
                                static_cast<int>(values.size()));
  const std::size_t n = static_cast<std::size_t>(column);
  const std::vector<double> lower(n, 0);
  const std::vector<double> upper(n, COIN_DBL_MAX);
  std::vector<double> cost(n, 0);
  cost[0] = 1;
  std::vector<double> row_lower;
  std::vector<double> row_upper;
  for (const FlowDemand& demand : demands) {
    row_lower.push_back(static_cast<double>(demand.bytes));
    row_upper.push_back(static_cast<double>(demand.bytes));
  }
  row_lower.resize(demands.size() + rates.size(), -COIN_DBL_MAX);
  row_upper.resize(demands.size() + rates.size(), 0);
  ClpSimplex simplex;
  simplex.setLogLevel(0);
  simplex.loadProblem(matrix, lower.data(), upper.data(), cost.data(), row_lower.data(),
                      row_upper.data());
  simplex.dual();
  EXPECT_TRUE(simplex.isProvenOptimal());
  return simplex.objectiveValue();
}

TEST(LpOracle, TheFlowOptimumIsTheOptimumOfTheLinearProgram) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    const auto ports = static_cast<std::size_t>(testing::pick(random, 1, 12));
    std::vector<std::int64_t> rates;
    for (std::size_t p = 0; p < ports; ++p) rates.push_back(testing::pick(random, 1, 100));
    std::vector<FlowDemand> demands(static_cast<std::size_t>(testing::pick(random, 1, 60)));
    for (FlowDemand& demand : demands) {
      demand.bytes = testing::pick(random, 1, 100'000);
      for (std::uint32_t p = 0; p < ports; ++p)
        if (testing::pick(random, 0, 3) == 0) demand.ports.push_back(p);
      if (demand.ports.empty())
        demand.ports.push_back(static_cast<std::uint32_t>(
            testing::pick(random, 0, static_cast<std::int64_t>(ports) - 1)));
    }
    const MinMaxCut cut = min_max_cut(demands, rates);
    const double flow = static_cast<double>(cut.bytes) / static_cast<double>(cut.rate);
    EXPECT_NEAR(lp_optimum(demands, rates) / flow, 1, 1e-9) << "round " << round;
  }
}

#else

TEST(LpOracle, NeedsClp) {
  GTEST_SKIP() << "CLP is not installed: scripts/install-dependencies --tests brings it";
}

#endif

}  // namespace
}  // namespace transload
