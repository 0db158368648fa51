// Numbers of things in sentences.
#pragma once

#include <cstdint>
#include <string>

namespace transload {

// "1 node", "3 nodes".
std::string counted(std::int64_t count, const std::string& noun);

}  // namespace transload
