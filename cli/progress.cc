#include "cli/progress.h"

#include <ostream>

#include "planner/schedule/text.h"

namespace transload {
namespace {

constexpr const char* kEraseLine = "\r\033[K";

}  // namespace

void Progress::show(const std::string& text) {
  if (!session_.terminal) return;
  const std::scoped_lock lock(mutex_);
  session_.err << kEraseLine << shortened(one_line(text), 78) << std::flush;
  shown_ = true;
}

void Progress::clear() {
  const std::scoped_lock lock(mutex_);
  if (shown_) session_.err << kEraseLine << std::flush;
  shown_ = false;
}

}  // namespace transload
