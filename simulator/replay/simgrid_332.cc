#include "simulator/replay/simgrid_332.h"

#include <xbt/base.h>
// The version header needs the macros of the one above.
#include <simgrid/version.h>

#if SIMGRID_VERSION == 33200UL

#include <dlfcn.h>

namespace simgrid::kernel::activity {

// Our own minimal declaration: no SimGrid header may be included here, for theirs would forbid
// this.
class __attribute__((visibility("default"))) CommImpl {
 public:
  CommImpl& detach();
};

}  // namespace simgrid::kernel::activity

namespace {

constexpr const char* kDetachSymbol = "_ZN7simgrid6kernel8activity8CommImpl6detachEv";
using Detach = void* (*)(void*);

bool skipping = false;
bool called = false;

Detach library_detach() {
  static const auto found = reinterpret_cast<Detach>(dlsym(RTLD_NEXT, kDetachSymbol));
  return found;
}

}  // namespace

simgrid::kernel::activity::CommImpl& simgrid::kernel::activity::CommImpl::detach() {
  called = true;
  if (!skipping) library_detach()(this);
  return *this;
}

namespace transload {

bool skip_activity_list(void (*make_communication)()) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  sg_version_get(&major, &minor, &patch);
  skipping = major == 3 && minor == 32 && patch == 0 && library_detach() != nullptr;
  called = false;
  if (skipping) make_communication();
  return skipping && called;
}

}  // namespace transload

#else

namespace transload {

bool skip_activity_list(void (*)()) { return false; }

}  // namespace transload

#endif
