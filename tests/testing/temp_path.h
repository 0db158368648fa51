// Paths of files that a test writes: tests run side by side, so no two processes may share one.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace transload::testing {

inline std::string temp_path(const std::string& name) {
  return ::testing::TempDir() + "transload-" + std::to_string(getpid()) + "-" + name;
}

}  // namespace transload::testing
