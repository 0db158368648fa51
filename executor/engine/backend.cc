#include "executor/engine/backend.h"

#include "common/check.h"

namespace transload {

void Backend::post(OpId, std::uint32_t, std::uint64_t, std::uint64_t, Done) {
  TRANSLOAD_CHECK(false, "a back end with all ranks has no crossing transfers");
}

void Backend::notify(std::int32_t, OpId) {
  TRANSLOAD_CHECK(false, "a back end with all ranks has nobody to notify");
}

void Backend::on_notice(Notified) {}

}  // namespace transload
