// Broken files are refused, never obeyed into a crash: texts with random damage either read or
// throw InputError.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "common/error.h"
#include "topologies/import/readers.h"

namespace transload {
namespace {

struct Sample {
  ImportFindings (*read)(const std::string&, const std::string&);
  std::string text;
};

const std::array<Sample, 7>& samples() {
  static const std::array<Sample, 7> all = {
      {{read_slurm_topology,
        "# a=b\nSwitchName=a Switches=l[1-2]\nSwitchName=l1 Nodes=n[01-09]\nSwitchName=l2 \\\n"
        "Nodes=m[1-2]r[3,5]\n"},
       {read_slurm_topology, "BlockName=a Nodes=n[1-4]\nBlockSizes=4,8\n"},
       {read_topograph,
        "switches: {a: {switches: [b, c]}}\nblocks:\n- switch: b\n  nodes: [\"n[1-4]\"]\n"
        "  annotations: {x/domain: d}\n"},
       {read_ibnetdiscover,
        "switchguid=0x1(1)\nSwitch\t4 \"S-1\"\t# \"MF0;leaf:M/U1\" port 0 lid 1\n"
        "[1]\t\"H-2\"[1](2) # \"n1 mlx5_0\" lid 2 4xNDR\n\ncaguid=0x2\n"
        "Ca\t1 \"H-2\"\t# \"n1 mlx5_0\"\n[1](2) \"S-1\"[1] # lid 2 \"leaf\" lid 1 4xNDR\n"},
       {read_nccl_tests,
        "# alltoall_perf\n#  Rank 1 Group 0 Pid 3 on h device 0 [0:1:0] NVIDIA GB300\n"
        " 1024 16 float none -1 40.7 0.03 0.02 0 30.9 0.03 0.03 N/A\n# 2 hosts, 8 ranks\n"
        " 2048 16 float none -1 40.7 0.03 0.02 0 30.9 0.03 0.03 N/A\n"},
       {read_nccl_tests, "# sendrecv_perf busbw 8 GPUs/node\nsize,2_nodes,4_nodes\n1M,3.0,4.0\n"},
       {read_nvbandwidth, " 0 1\n 0 N/A 3.0\nSUM device_local_copy 550.00\n"}}};
  return all;
}

TEST(FabricMutation, DamagedFilesAreReadOrRefused) {
  std::mt19937 random(11);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  int refused = 0;
  int read = 0;
  for (const Sample& sample : samples()) {
    ASSERT_NO_THROW(sample.read(sample.text, "FILE")) << sample.text;
    for (int round = 0; round < 1500; ++round) {
      std::string text = sample.text;
      for (std::size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
        const std::size_t at = below(text.size());
        const std::size_t length = std::min(text.size() - at, 1 + below(12));
        constexpr std::string_view kBytes = "[]-,=#\\\"\n\t 09a{}:\xff";
        if (below(3) == 0)
          text.erase(at, length);
        else if (below(2) == 0)
          text.insert(at, text.substr(below(text.size()), length));
        else
          text[at] = kBytes[below(kBytes.size())];
      }
      try {
        sample.read(text, "FILE");
        ++read;
      } catch (const InputError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace transload
