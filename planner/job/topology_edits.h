// Other clusters for a job, as edits of its `topology:`: what an architect may buy instead.
//
// Each works on every form a topology is written in: a library entry with parameters, a file, node
// groups inline, and lists of these. A file, and an entry whose parameters cannot say it, is
// written out in full first.
#pragma once

#include <string>
#include <vector>

#include "planner/job/job_edit.h"

namespace transload {

enum class ClusterChange { kOneMoreNic, kTwiceNicRate, kTwiceNvlinkDomain };

// The edits that make the change in every part of the topology of a job's `text`. `base_folder` is
// where its files are looked for. InputError saying why the topology does not allow it.
std::vector<JobEdit> topology_edits(const std::string& text, const std::string& base_folder,
                                    ClusterChange change);

}  // namespace transload
