// Internal invariants. A broken one is a bug in Transload, not in its input: it ends the process
// loudly.
#pragma once

#include <string_view>

namespace transload {

[[noreturn]] void fail_check(const char* file, int line, const char* condition,
                             std::string_view meaning);

}  // namespace transload

// TRANSLOAD_CHECK(condition, "what should have held"); active in every build type.
#define TRANSLOAD_CHECK(condition, meaning) \
  ((condition) ? static_cast<void>(0)       \
               : ::transload::fail_check(__FILE__, __LINE__, #condition, (meaning)))
