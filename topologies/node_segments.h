// Choosing nodes for a job so that its groups stay inside NVLink domains.
//
// A segment is a number of nodes that work closely together (the nodes of one expert-parallel
// group, for example) and so should share a domain, as with Slurm's --segment. Nodes whose domain
// nobody knows are no domain of their own: taking them for one puts strangers into one segment
// (NVIDIA-NeMo/RL#2924).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace transload {

struct NodeInDomain {
  std::string name;
  std::string domain;  // empty: not known
};

struct ChosenNodes {
  std::vector<std::int32_t> nodes;    // indices, segment by segment
  std::int64_t whole_segments = 0;    // the first ones: each in one known domain
  std::vector<std::string> warnings;  // for every segment that is not
};

// Chooses `count` nodes in segments of `segment`. Whole segments of known domains come first, in
// the order of the domains' first nodes; only when they are used up, what is left of known domains
// and at last nodes of unknown domain fill segments, with a warning. Throws InputError where
// `count` is no multiple of `segment` (both at least 1) or there are fewer nodes.
ChosenNodes choose_segments(const std::vector<NodeInDomain>& nodes, std::int64_t segment,
                            std::int64_t count);

}  // namespace transload
