#include "common/counted.h"

#include <fmt/format.h>

namespace transload {

std::string counted(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace transload
