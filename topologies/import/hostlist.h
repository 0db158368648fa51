// Slurm's short form of many names: "srv[1101-1108,1110],login1" is ten names.
//
// A name may have several brackets ("rack[1-2]node[01-18]"); the last one counts fastest. Numbers
// keep the leading zeros of the low end of their range. Source of the form: Slurm's manual,
// "hostlist expressions" of slurm.conf(5).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

namespace transload {

// Names that one file may expand to; past any cluster, and small enough for any machine.
inline constexpr std::int64_t kMaxHostlistNames = std::int64_t{1} << 17;

// The names of `list`, in its order. `budget` is how many names the file may still bring; the size
// is known before anything is expanded. Throws InputError at `place` for brackets that do not
// match, empty parts, ranges that fall, and lists over the budget.
std::vector<std::string> expand_hostlist(std::string_view list, const InputPlace& place,
                                         std::int64_t& budget);

}  // namespace transload
