// What predictions need to know of a job beyond its plan (simulator/sizing/cluster_facts.h).
#pragma once

#include "cli/subject.h"
#include "simulator/sizing/cluster_facts.h"

namespace transload {

// Stages and engines of a whole-model job as its sides have them, engines that lost a rank left
// out; none for tensor jobs. Ranges as the topology states them, those of NICs less the share that
// other traffic takes.
ClusterFacts facts_of(const Job& job, double background = 0);

// Of a plan file: those of the job whose text it carries; empty where that can no longer be read
// (files that it names have gone).
ClusterFacts facts_of(const Subject& subject, double background = 0);

}  // namespace transload
