// A file about the whole machine, used where only some of its GPUs are visible, as in a container.
#pragma once

#include <string>
#include <vector>

#include "topologies/import/findings.h"

namespace transload {

// Keeps the GPUs of `findings.node` that `visible` names (PCI address, or name such as GPU3), drops
// the entries of the others and says so in `ignored`. The GPUs that are left are numbered anew in
// the order of the file, as CUDA numbers the visible ones, and so are NVLink islands; NICs stay,
// because a container sees them all. Throws InputError for a visible GPU that the file does not
// list, and for one named twice.
void keep_visible_gpus(ImportFindings& findings, const std::vector<std::string>& visible);

}  // namespace transload
