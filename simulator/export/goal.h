// The schedule graph in GOAL, the text that LogGOPSim and ATLAHS simulate: a second opinion on a
// plan from packet-level tools.
//
// GOAL knows sends, receives and computations of ranks, `requires` (starts when the other has
// ended) and `irequires` (when it has started). Every operation becomes:
//   network transfer   a send and a receive with the operation's number as tag, on the NIC's number
//   NVLink transfer    a computation on the sender's NVLink lane, as long as its bytes take alone,
//   and
//                      a message of 1 byte: what GOAL simulates as network is only the network
//   copy, host work    a computation in nanoseconds, on the rank's own lane
// Windows are edges to the operation W places before on the same port; issue groups are a
// computation of no length between two groups of a rank. What GOAL cannot say: any of the W earlier
// operations may be the one that ends last; a stream hop ends no earlier than its upstream (only
// its start is kept); lanes do not share HBM.
#pragma once

#include <iosfwd>

#include "planner/schedule/plan_file.h"

namespace transload {

// One block a rank of the plan, those without operations empty. Same plan, same text.
void write_goal(const Plan& plan, std::ostream& out);

}  // namespace transload
