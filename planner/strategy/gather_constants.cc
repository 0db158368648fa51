#include "planner/strategy/gather_constants.h"

#include "planner/strategy/constants.h"

namespace transload {

GatherConstants load_gather_constants() {
  ConstantFile file("gather-broadcast");
  GatherConstants constants;
  constants.bucket_memory_ratio = file.read("bucket_memory_ratio").number();
  constants.bucket_limit = file.read("bucket_limit").bytes();
  constants.bucket_default = file.read("bucket_default").bytes();
  constants.broadcast_rails = file.read("broadcast_rails").integer_in(1, 64);
  constants.export_per_tensor_ps = file.read("export_per_tensor").duration_ps();
  constants.load_per_tensor_ps = file.read("load_per_tensor").duration_ps();
  constants.piece = file.read("piece").bytes();
  constants.assumptions = file.finish();
  return constants;
}

}  // namespace transload
