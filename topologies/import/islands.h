// Groups of devices that a kind of link joins: NVLink islands, and devices below one PCIe switch.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace transload {

// For each of `members` devices the number of its connected component under `links`. Components are
// numbered in the order of their first members.
std::vector<std::int32_t> connected_islands(
    std::size_t members, const std::vector<std::pair<std::size_t, std::size_t>>& links);

}  // namespace transload
