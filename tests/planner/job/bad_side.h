// What the tests of bad sides share: one good job, an edit of one of its sides, and the words that
// the message must have.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "common/error.h"
#include "planner/job/job.h"

namespace transload::testing {

// A tensor of 8 x 6 floats on line 3, its source on line 7, its destination on line 8.
inline constexpr const char* kTensor =
    "topology: {nodes: [{gpus: 8, nic: 50GB/s, nvlink: 450GB/s}]}\n"
    "tensors:\n"
    "  - name: w\n"
    "    shape: [8, 6]\n"
    "    dtype: fp32\n"
    "    dims: [row, column]\n"
    "    source: {mesh: {x: 2, y: 2}, ranks: 0-3, placements: [S(0), R]}\n"
    "    destination: {mesh: {x: 2}, ranks: 4-5, placements: [S(0)]}\n";
inline constexpr const char* kSource = "{mesh: {x: 2, y: 2}, ranks: 0-3, placements: [S(0), R]}";
inline constexpr const char* kDestination = "{mesh: {x: 2}, ranks: 4-5, placements: [S(0)]}";

// One side in place of another, and what the message must say.
struct BadSide {
  std::string name;
  std::string side;
  std::vector<std::string> words;
  friend void PrintTo(const BadSide& bad, std::ostream* out) { *out << bad.side; }
};

inline std::string message_of(const std::string& job) {
  try {
    job_from_text(job, "job.yaml", TRANSLOAD_SOURCE_DIR);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

inline std::string with(const std::string& from, const std::string& to) {
  std::string text = kTensor;
  return text.replace(text.find(from), from.size(), to);
}

inline void expect_words(const std::string& message, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(message.find(word), std::string::npos) << "no \"" << word << "\" in: " << message;
}

inline std::string name_of(const ::testing::TestParamInfo<BadSide>& info) {
  return info.param.name;
}

inline const std::string kMesh = "{mesh: {x: 2, y: 2}, ranks: 0-3, placements: [S(0), R]";
inline const std::string kAt = "job.yaml:7: tensors[0].source";
inline const std::string kTensorSource = "tensor w, source";

}  // namespace transload::testing
