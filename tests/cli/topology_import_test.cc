// transload topology import: what it prints, what it writes, and that plan runs on what it wrote.
#include "tests/cli/cli_fixture.h"

namespace transload::testing {
namespace {

const std::string kNode = TRANSLOAD_SOURCE_DIR "/examples/import/topo-m.txt";
const std::string kFabric = TRANSLOAD_SOURCE_DIR "/examples/import/topology.conf";

class TopologyImport : public CliTest {};

TEST_F(TopologyImport, ANodeSaysWhatItKnowsAndAsksTheRest) {
  const nlohmann::json json = json_of({"topology", "import", kNode});
  EXPECT_EQ(json["nodes"], 1);
  EXPECT_EQ(json["gpus"], 4);
  ASSERT_EQ(json["nvlink_domains"].size(), 1);
  EXPECT_EQ(json["nvlink_domains"][0]["gpus"], nlohmann::json({0, 1, 2, 3}));
  EXPECT_EQ(json["nics"].size(), 5);
  EXPECT_EQ(json["nics"][3]["name"], "mlx5_3");
  EXPECT_TRUE(json["nics"][0]["rate"].is_null());
  // The matrix of the example: PIX at NIC 2, 0, 4, 3; NIC 1 is nobody's nearest.
  EXPECT_EQ(json["nic_of_gpu"]["0"], nlohmann::json({"mlx5_2"}));
  EXPECT_EQ(json["nic_of_gpu"]["1"], nlohmann::json({"mlx5_0"}));
  EXPECT_EQ(json["nic_of_gpu"]["2"], nlohmann::json({"mlx5_4"}));
  EXPECT_EQ(json["nic_of_gpu"]["3"], nlohmann::json({"mlx5_3"}));
  EXPECT_EQ(json["rails"], 4);
  EXPECT_FALSE(json["asked"].empty());
  EXPECT_EQ(json["missing"].size(), 3);  // gpu, nvlink (its rate follows from the model), nic
}

TEST_F(TopologyImport, AnswersCompleteIt) {
  const nlohmann::json json = json_of({"topology", "import", kNode, "--set", "gpu=h100", "--set",
                                       "nic=400Gb/s", "-o", path("node.yaml")});
  EXPECT_TRUE(json["missing"].empty());
  const nlohmann::json shown = json_of({"topology", "show", path("node.yaml")});
  EXPECT_EQ(shown["gpus"], 4);
  EXPECT_EQ(shown["nvlink_domains"].size(), 1);
  ASSERT_EQ(shown["nics"].size(), 4);  // those that are used
  EXPECT_EQ(shown["nics"][0]["name"], "node0.mlx5_0");
  EXPECT_EQ(shown["nics"][0]["rate"], 50'000'000'000);
  EXPECT_EQ(shown["nic_of_gpu"]["0"], nlohmann::json({1}));  // mlx5_2 is the second that is used
  EXPECT_EQ(json_of({"topology", "check", path("node.yaml")})["ok"], true);
}

TEST_F(TopologyImport, ANodeAndAFabricTogether) {
  ASSERT_EQ(cli({"topology", "import", kNode, kFabric, "--set", "gpu=h100", "--set", "nic=400Gb/s",
                 "--set", "oversubscription=2", "--set", "nvlink_domain=host", "-o",
                 path("cluster.yaml")})
                .code,
            0);
  const nlohmann::json shown = json_of({"topology", "show", path("cluster.yaml")});
  EXPECT_EQ(shown["nodes"], 4);
  EXPECT_EQ(shown["gpus"], 16);
  EXPECT_EQ(shown["nvlink_domains"].size(), 4);
  ASSERT_EQ(shown["switches"].size(), 3);
  for (const auto& at : shown["switches"]) {
    if (at["parent"].is_null()) continue;
    EXPECT_EQ(at["parent"], "spine");
    EXPECT_EQ(at["uplink_rate"], 200'000'000'000);  // 8 NICs of 50 GB/s, two to one
  }
  // One way inside a leaf, another one through the spine.
  const nlohmann::json near =
      json_of({"topology", "show", path("cluster.yaml"), "--path", "gpu0:train1", "gpu0:train2"});
  const nlohmann::json far =
      json_of({"topology", "show", path("cluster.yaml"), "--path", "gpu0:train1", "gpu0:serve1"});
  EXPECT_EQ(near["paths"][0]["switches"], 1);
  EXPECT_EQ(far["paths"][0]["switches"], 3);
  EXPECT_LT(near["paths"][0]["latency_s"], far["paths"][0]["latency_s"]);

  const std::string job =
      write("job.yaml",
            "topology: cluster.yaml\n"
            "tensors:\n"
            "  - name: w\n    shape: [4096, 4096]\n    dtype: bf16\n"
            "    source: {mesh: {x: 8}, placements: [S(0)], ranks: 0-7}\n"
            "    destination: {mesh: {y: 8}, placements: [S(1)], ranks: 8-15}\n");
  const nlohmann::json simulated = json_of({"simulate", job});
  EXPECT_GT(simulated["refit_s"], 0.0);
  bool through_the_spine = false;
  for (const auto& link : simulated["links"]) through_the_spine |= link["kind"] == "uplink";
  EXPECT_TRUE(through_the_spine);
}

TEST_F(TopologyImport, APictureOfIt) {
  EXPECT_NE(cli({"topology", "show", "dgx-h100", "nodes=2", "--format", "svg"}).out.find("<svg"),
            std::string::npos);
  ASSERT_EQ(cli({"topology", "show", "dgx-h100", "nodes=40", "-o", path("c.dot")}).code, 0);
  const std::string dot = read(path("c.dot"));
  EXPECT_NE(dot.find("32 more nodes"), std::string::npos);
  EXPECT_NE(dot.find("leaf0.7"), std::string::npos);
}

TEST_F(TopologyImport, RefusesWhatItCannotWrite) {
  expect_refused({"topology", "import", kNode, "-o", path("x.yaml")}, {"--set", "gpu", "nic"});
  expect_refused({"topology", "import", kNode, "--set", "gpus"}, {"key=value"});
  expect_refused({"topology", "import", kNode, "--set", "gppu=h100"}, {"gppu", "gpu?"});
  expect_refused({"topology", "import", kNode, "--set", "gpu=h100", "--set", "gpu=h200"},
                 {"twice"});
  expect_refused({"topology", "import", kNode, kNode}, {"describes a node already"});
  expect_refused({"topology", "import", kNode, "--set", "gpu=h101", "--set", "nic=1GB/s", "-o",
                  path("x.yaml")},
                 {"h101", "h100"});
  expect_refused({"topology", "import", write("notes.txt", "nothing about clusters\n")},
                 {"no file that can be imported"});
  expect_refused({"topology", "show", "dgx-h100", "nodes=1", "--path", "gpu9:node0", "gpu0:node0"},
                 {"GPUs 0 to 7"});
  expect_refused({"topology", "show", "dgx-h100", "nodes=1", "--path", "gpu0:nod", "gpu0:node0"},
                 {"nod"});
}

TEST_F(TopologyImport, ClustersThatFallApartFailTheCheck) {
  const std::string file = write(
      "islands.yaml", "nodes: [{gpus: 1, nic: 1GB/s, site: a}, {gpus: 1, nic: 1GB/s, site: b}]\n");
  const auto result = cli({"topology", "check", file});
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.out.find("cannot reach each other"), std::string::npos);
  write("islands.yaml",
        "nodes: [{gpus: 1, nic: 1GB/s, site: a}, {gpus: 1, nic: 1GB/s, site: b}]\n"
        "links: [{between: [a, b], rate: 1GB/s, latency: 20ms}]\n");
  EXPECT_EQ(cli({"topology", "check", file}).code, 0);
}

}  // namespace
}  // namespace transload::testing
