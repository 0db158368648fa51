#include "executor/control/control.h"

namespace transload {

void barrier(ControlPlane& control, const std::string& name, std::int32_t processes,
             double timeout_s) {
  if (control.add("barrier/" + name, 1) == processes) control.put("barrier/" + name + "/open", "");
  control.wait("barrier/" + name + "/open", timeout_s);
}

}  // namespace transload
