#include "common/check.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace transload {

void fail_check(const char* file, int line, const char* condition, std::string_view meaning) {
  std::fprintf(stderr, "transload: internal error at %s:%d: %s (%s does not hold)\n", file, line,
               std::string(meaning).c_str(), condition);
  std::abort();
}

}  // namespace transload
