// From a path to the reader of its kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/error.h"
#include "tests/testing/temp_path.h"
#include "topologies/import/readers.h"

namespace transload {
namespace {

using ::testing::HasSubstr;

class TopologyFile : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  ImportFindings read(const std::string& text) const {
    std::ofstream(path_, std::ios::binary) << text;
    return read_topology_file(path_);
  }

  // Its name says the wrong kind on purpose.
  const std::string path_ = testing::temp_path("read-file.xml");
};

TEST_F(TopologyFile, GoesToTheReaderOfItsContent) {
  EXPECT_EQ(read("SwitchName=a Nodes=n1\n").kind, "slurm-tree");
  EXPECT_EQ(read("BlockName=a Nodes=n1\n").kind, "slurm-block");
  EXPECT_EQ(read("blocks: \n- {switch: a, nodes: [n1]}\n").kind, "topograph");
  EXPECT_EQ(read("SUM device_local_copy 1.5\n").kind, "nvbandwidth");
  EXPECT_EQ(read("# microseconds of ib_write_lat\na b mlx5_0 -> NUMA 0: 2.75\n").kind,
            "ib_write_lat");
  EXPECT_EQ(read("# alltoall_perf\n1024 16 float none -1 40 1 1 0 30 1 1 N/A\n").kind,
            "nccl-tests");
  EXPECT_EQ(read("\tGPU0\tGPU1\tNIC0\nGPU0\t X \tNV18\tPIX\nGPU1\tNV18\t X \tPIX\n"
                 "NIC0\tPIX\tPIX\t X \n\nNIC Legend:\n\n  NIC0: mlx5_0\n")
                .kind,
            "nvidia-smi-topo");
}

TEST_F(TopologyFile, ErrorsNameTheFile) {
  try {
    read("SwitchName=a\n");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr(path_ + ":1:"));
  }
}

}  // namespace
}  // namespace transload
