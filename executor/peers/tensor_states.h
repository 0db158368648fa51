// What lies in the destinations of a rank after a run that may have failed: never unknown.
//
// A tensor is `old` if no operation that writes it has started, `new` if all have finished, else
// `torn`. A tensor that no operation writes is `new`: there was nothing to do.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "planner/schedule/plan_file.h"

namespace transload {

enum class TensorState : std::uint8_t { kOld, kNew, kTorn };
std::string_view name_of(TensorState state);

struct TensorStateRow {
  std::uint32_t tensor = 0;
  TensorState state = TensorState::kNew;
  friend bool operator==(const TensorStateRow&, const TensorStateRow&) = default;
};

// How far an operation got on the process that hosts its destination.
struct OperationProgress {
  std::function<bool(OpId)> started;
  std::function<bool(OpId)> finished;
};

// Every tensor that the rank receives, by number.
std::vector<TensorStateRow> tensor_states(const Plan& plan, std::int32_t rank,
                                          const OperationProgress& progress);

// The state of a rank as a whole: `new` or `old` if all its tensors are, else `torn`.
TensorState rank_state(const std::vector<TensorStateRow>& rows);

// The tensors of bytes [begin, begin + bytes) of a bundle's packed order; a tensor may be visited
// several times.
void for_each_tensor(const Plan& plan, std::int32_t bundle, std::uint64_t begin,
                     std::uint64_t bytes, const std::function<void(std::uint32_t)>& visit);

}  // namespace transload
