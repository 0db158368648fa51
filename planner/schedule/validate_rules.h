// What every part of plan_validate says and asks: how a plan that is not well formed is refused,
// and the questions that several tables share.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "common/error.h"
#include "planner/schedule/plan_file.h"

namespace transload {

inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 50;
inline constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 60;

class ValidateRules {
 public:
  // The plan must outlive the rules; `name` stands for the file in messages.
  ValidateRules(const Plan& plan, std::string name) : plan_(plan), name_(std::move(name)) {}

  const Plan& plan() const { return plan_; }

  [[noreturn]] void fail(std::string_view table, std::size_t row, std::string_view expected) const {
    throw InputError({name_, 0, fmt::format("{} row {}", table, row)},
                     fmt::format("the plan is not well formed: expected {}", expected));
  }

  void same_length(std::string_view table, std::size_t wanted,
                   std::initializer_list<std::size_t> found) const {
    for (std::size_t length : found)
      if (length != wanted) fail(table, length, fmt::format("{} rows", wanted));
  }

  template <class T>
  void csr(std::string_view table, std::span<const T> first, std::size_t rows,
           std::size_t targets) const {
    if (first.size() != rows + 1) fail(table, first.size(), fmt::format("{} offsets", rows + 1));
    if (first[0] != 0) fail(table, 0, "a first offset of 0");
    for (std::size_t i = 0; i < rows; ++i)
      if (first[i] > first[i + 1]) fail(table, i, "rising offsets");
    if (first[rows] != targets) fail(table, rows, fmt::format("a last offset of {}", targets));
  }

  void name_offset(std::string_view table, std::size_t row, std::uint64_t offset) const {
    if (offset >= plan_.names.size()) fail(table, row, "a name inside the text table");
  }

  // A box inside the bounds table and inside the shape of every tensor of the range.
  void box(std::string_view table, std::size_t row, std::uint64_t offset, std::uint32_t first,
           std::uint32_t count, std::uint32_t step) const {
    if (count == 0 || step == 0) fail(table, row, "a range of at least one tensor");
    if (first + static_cast<std::uint64_t>(count - 1) * step >= plan_.tensors())
      fail(table, row, "tensors that exist");
    const std::uint8_t dims = plan_.tensor_dims[first];
    if (offset > plan_.bounds.size() || plan_.bounds.size() - offset < 2u * dims)
      fail(table, row, "a box inside the bounds table");
    // Ranges share one shape in a planned plan; a mutated one may mix them, so look at each tensor.
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t tensor = first + i * step;
      if (plan_.tensor_dims[tensor] != dims ||
          plan_.tensor_dtype[tensor] != plan_.tensor_dtype[first])
        fail(table, row, "tensors of one shape and dtype in a range");
      if (i > 0 && plan_.tensor_shape[tensor] == plan_.tensor_shape[tensor - step]) continue;
      for (std::uint8_t d = 0; d < dims; ++d) {
        const std::int64_t low = plan_.bounds[offset + 2 * d];
        const std::int64_t high = plan_.bounds[offset + 2 * d + 1];
        const std::int64_t extent = plan_.extents[plan_.tensor_shape[tensor] + d];
        if (low < 0 || high < low || high > extent) fail(table, row, "a box inside its tensor");
      }
    }
  }

  void rank_index(std::string_view table, std::size_t row, std::int32_t rank) const {
    if (rank < 0 || static_cast<std::size_t>(rank) >= plan_.ranks()) fail(table, row, "a rank");
  }

 private:
  const Plan& plan_;
  std::string name_;
};

// The parts of validate_plan, in the order in which they rely on one another.
// Text, tensors, ranks, buffers.
void validate_tables(const ValidateRules& rules);
// Shards and zero fills: where elements and padding lie in buffers.
void validate_memory(const ValidateRules& rules);
// Bundles, ports, operations, programs.
void validate_operations(const ValidateRules& rules);

}  // namespace transload
