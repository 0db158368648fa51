#include "common/home.h"

#include <cstdlib>

namespace transload {

std::string transload_home() {
  const char* home = std::getenv("TRANSLOAD_HOME");
  return home != nullptr && *home != '\0' ? home : TRANSLOAD_SOURCE_DIR;
}

}  // namespace transload
