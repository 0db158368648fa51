// Which NICs a GPU uses: the nearest ones by PCIe distance, shared out so that no NIC idles beside
// an overloaded one, and only those that the user allows.
#pragma once

#include <string>
#include <vector>

#include "topologies/import/findings.h"

namespace transload {

// The names that NCCL's NCCL_IB_HCA selects from `nics`: a comma-separated list of prefixes, "=" in
// front makes them exact names, "^" in front (before "=") excludes instead; "name:port" selects a
// port. An empty list selects all, so that "^" alone selects none (NCCL documentation of
// NCCL_IB_HCA; NCCL src/transport/net_ib.cc, matchIfList). A NIC may be written "name:port" too;
// one without a port matches every port. Returns indices into `nics`, ascending. Throws InputError
// where a port is not a number.
std::vector<std::int32_t> select_nics(const std::vector<std::string>& nics,
                                      const std::string& filter);

// For every GPU the NICs that it uses, as indices into node.nics, ascending. They are all equally
// near, as near as any of `allowed`; a NIC that is no GPU's nearest stays unused. GPUs with the
// same nearest NICs share them out in index order: n NICs for m GPUs are cut into m equal
// stretches, and a GPU uses every NIC that its stretch touches (2 for 2: one each; 4 for 2: two
// each; 1 for 2: the same one; 3 for 2: two each with one in common). GPUs without a NIC of their
// own take idle NICs first, then the least used. Deterministic: equal choices go to the lower
// index.
//
// Asks (in `asked`), and returns empty lists, where several GPUs are equally far from all of
// several NICs and no PCIe switch joins them: then the distances say nothing. NUMA nodes decide
// where both sides state them and they differ.
std::vector<std::vector<std::int32_t>> choose_nics(const ImportedNode& node,
                                                   const std::vector<std::int32_t>& allowed,
                                                   std::vector<std::string>& asked);

// A user's wish that one GPU uses these NICs and no others.
struct NicPin {
  std::string gpu;                // "GPU0"
  std::vector<std::string> nics;  // "mlx5_0"
};

// Replaces the NICs of the pinned GPUs in `nics_of_gpu`, in the order of the pin. Throws InputError
// for a GPU or NIC that the node does not have, and for a GPU with two pins.
void pin_nics(const ImportedNode& node, const std::vector<NicPin>& pins,
              std::vector<std::vector<std::int32_t>>& nics_of_gpu);

// One sentence for every GPU that uses a NIC although another of the node is nearer: what a pin or
// a list of allowed NICs costs.
std::vector<std::string> far_nic_warnings(
    const ImportedNode& node, const std::vector<std::vector<std::int32_t>>& nics_of_gpu);

}  // namespace transload
