// What people ask about an operation: which tensors it carries, over what kind of link it goes, and
// which operations concern a given rank or tensor. Shared by `show`, `render` and the traces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/schedule/plan_file.h"

namespace transload {

// Finds the tensors of byte ranges of bundles. Costs one pass over the slices to make.
class OpTensors {
 public:
  explicit OpTensors(const Plan& plan);
  // The distinct tensors that have bytes in the operation's range, in packed order. Empty for
  // fences, host work and empty operations.
  std::vector<std::uint32_t> of(OpId op) const;

 private:
  const Plan& plan_;
  std::vector<std::uint64_t> slice_end_;     // where a slice ends in the packed order of its bundle
  std::vector<std::uint64_t> tensor_bytes_;  // bytes of one tensor of the slice
};

// The kind of link that an operation goes over. A transfer is called by its port, as it is drawn
// and timed; copies, fences and host work are local.
enum class OpLink : std::uint8_t { kNetwork, kNvlink, kLocal };
OpLink op_link(const Plan& plan, OpId op);
std::string_view name_of(OpLink link);  // "network", "nvlink", "local"

// Restricts a listing or a picture. Both conditions must hold.
struct OpSelection {
  std::optional<std::int32_t> rank;   // source or destination of the operation
  std::optional<std::string> tensor;  // a tensor's exact name, else a glob (*, ?, [...])
  bool empty() const { return !rank && !tensor; }
};

// The selected operations, in global order. InputError if the rank does not exist or no tensor has
// such a name.
std::vector<OpId> select_operations(const Plan& plan, const OpSelection& selection);

}  // namespace transload
