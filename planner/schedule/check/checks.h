// The single checks behind check_plan, one per file; each adds what it finds and changes nothing
// else.
#pragma once

#include "planner/schedule/check/findings.h"

namespace transload {

// Invariant 1, exactly-once.
// Who reads from its source shards holds every element that it reads.
void check_held_sources(const Plan& plan, Findings& findings);
// What converts make is made of whole blocks, from bytes that are there when they read them.
void check_conversions(const Plan& plan, Findings& findings);
// On every rank, what arrives fills every destination shard, and nothing is written twice or
// outside.
void check_coverage(const Plan& plan, Findings& findings);
// No two elements of a rank's destination shards lie on one byte, and none on a byte that is to be
// zero. (Sources may share memory: views of one buffer under several names.)
void check_destination_memory(const Plan& plan, Findings& findings);

// Invariant 2, acyclic under the issue rule.
// Keys rise along ids, edges and programs; stream edges join hops of collectives.
void check_order(const Plan& plan, Findings& findings);
// Ports are of the kind that the operation needs, and its ranks'; roles fit slots.
void check_ports(const Plan& plan, Findings& findings);
// Under `groups`: every group of every rank can be issued and completed.
void check_groups(const Plan& plan, Findings& findings);

// Invariant 3 (and the middle of invariant 1): a slot is read as it was written, by operations that
// wait for the writer, and overwritten only by operations that wait for the readers.
void check_slots(const Plan& plan, Findings& findings);

// Invariant 4: what the executor can issue.
void check_issue_limits(const Plan& plan, Findings& findings);

}  // namespace transload
