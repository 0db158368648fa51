// Expectations on check_plan that every test of a broken plan shares.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "planner/schedule/check/check_plan.h"
#include "planner/schedule/plan_validate.h"
#include "tests/testing/hand_plans.h"

namespace transload::testing {

inline std::string all_text(const CheckReport& report) {
  std::string text;
  for (const Violation& violation : report.violations)
    text += violation.invariant + ": " + violation.text + "\n";
  return text;
}

// The plan is well formed, and every violation is of `invariant`; the first says all of `words`.
inline void expect_violation(const Plan& plan, const std::string& invariant,
                             const std::vector<std::string>& words) {
  ASSERT_NO_THROW(validate_plan(plan, "plan"));
  const CheckReport report = check_plan(plan);
  EXPECT_FALSE(report.ok);
  ASSERT_FALSE(report.violations.empty());
  for (const Violation& violation : report.violations) EXPECT_EQ(violation.invariant, invariant);
  for (const std::string& word : words)
    EXPECT_THAT(report.violations[0].text, ::testing::HasSubstr(word)) << all_text(report);
}

inline void expect_right(const Plan& plan) {
  ASSERT_NO_THROW(validate_plan(plan, "plan"));
  const CheckReport report = check_plan(plan);
  EXPECT_TRUE(report.ok) << all_text(report);
  EXPECT_TRUE(report.violations.empty());
  EXPECT_FALSE(report.truncated);
}

}  // namespace transload::testing
