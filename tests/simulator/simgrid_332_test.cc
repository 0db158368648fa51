// The workaround for SimGrid 3.32 is really in force in a program that is linked like this one.
#include "simulator/replay/simgrid_332.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "simulator/platform/platform.h"
#include "simulator/replay/child_process.h"

namespace transload {
namespace {

TEST(Simgrid332, TheActivityListIsSkipped) {
  if (SIMGRID_VERSION != 33200UL) GTEST_SKIP() << "the list is gone in other versions";
  ChildProcess child("replay", [] {
    new simgrid::s4u::Engine("test");
    if (!skip_activity_list([] { simgrid::s4u::Comm::sendto_init(); }))
      throw std::runtime_error("the library calls its own detach()");
  });
  EXPECT_NO_THROW(child.wait());
}

}  // namespace
}  // namespace transload
