// Several imported files and the user's answers as one description of a cluster.
//
// A node file says what is in a node, a fabric file which nodes there are and how they are joined,
// a log what links reach. `assemble` puts them together, applies the answers, chooses NICs, and
// lists what is still missing; topologies/import/write.h turns a complete cluster into a topology
// file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "topologies/import/findings.h"
#include "topologies/import/nic_choice.h"

namespace transload {

// What a user states beside the files. Keys of `--set`:
//   gpu=h100            model of every GPU               nic=400Gb/s     rate of NICs without one
//   nvlink=450GB/s      rate of every GPU; 0: none       nvlink_domain=host|all
//   gpus=8              of a node without a file         nics_per_gpu=1  of a node without a file
//   nodes=32            how many nodes like the file's   oversubscription=1  of links without rates
//   nics=^mlx5_0        allowed NICs, as NCCL_IB_HCA     pin.GPU0=mlx5_0,mlx5_1
//   visible=GPU0,GPU1   the GPUs that a container sees
//   card.HCA-1=mlx5_0   a card's name in the fabric file = its name in the node file
struct ImportAnswers {
  std::map<std::string, std::string> given;  // by key, as written
  std::string gpu;
  std::int64_t nic_rate = 0;
  std::optional<std::int64_t> nvlink_rate;
  std::string nvlink_domain;  // "", "host" or "all"
  std::int64_t gpus = 0;
  std::int64_t nics_per_gpu = 0;
  std::int64_t nodes = 0;
  double oversubscription = 0;
  std::string nic_filter;
  std::vector<NicPin> pins;
  std::vector<std::string> visible;  // empty: all GPUs
  std::map<std::string, std::string> cards;
};

// Reads `key=value` words. InputError for unknown keys and values of the wrong kind.
ImportAnswers read_answers(const std::vector<std::string>& words);

struct ImportedCluster {
  std::vector<std::string> files;
  std::vector<std::string> kinds;
  std::optional<ImportedNode> node;
  std::vector<std::vector<std::int32_t>> nics_of_gpu;  // of `node`; empty lists: not known
  std::optional<ImportedFabric> fabric;
  std::vector<ImportedMeasurement> measurements;
  std::vector<std::string> ignored;
  std::vector<std::string> warnings;
  std::vector<std::string> asked;  // what neither files nor answers say
};

// Reads and joins the files. InputError for a file that is broken, and for two files about one
// thing.
ImportedCluster assemble(const std::vector<std::string>& paths, const ImportAnswers& answers);

}  // namespace transload
