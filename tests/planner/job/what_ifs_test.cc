// What-ifs as edits: each makes a job that can be read and differs in what it says.
#include "planner/job/what_ifs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "planner/job/topology_edits.h"
#include "tests/testing/temp_path.h"

namespace transload::testing {
namespace {

const std::string kSides =
    "source: {engine: megatron, gpus: 8, parallel: {tp: 2}}\n"
    "destination: {engine: vllm, gpus: 8, parallel: {tp: 4}}\n";

Job job_of(const std::string& text) { return job_from_text(text, "job.yaml", ""); }

Job changed(const Job& job, const WhatIf& what_if) {
  return job_of(edited_job(job.text, what_if.edits));
}

WhatIf find(const std::vector<WhatIf>& list, const std::string& words) {
  for (const WhatIf& entry : list)
    if (entry.change.find(words) != std::string::npos) return entry;
  ADD_FAILURE() << "no what-if: " << words;
  return {};
}

Topology with_change(const std::string& topology, ClusterChange change) {
  const std::string text = "topology: " + topology + "\n";
  const std::string edited = edited_job(text, topology_edits(text, "", change));
  const std::string job = edited +
                          "tensors:\n"
                          "  - name: w\n"
                          "    shape: [8]\n"
                          "    dtype: bf16\n"
                          "    source: {mesh: {x: 1}, placements: [R], ranks: 0}\n"
                          "    destination: {mesh: {x: 1}, placements: [R], ranks: 1}\n";
  return job_of(job).topology;
}

TEST(TopologyEdits, OneMoreNicInEveryForm) {
  constexpr auto kChange = ClusterChange::kOneMoreNic;
  EXPECT_EQ(with_change("{name: dgx-h100, nodes: 2}", kChange).gpus[0].nics.size(), 2u);
  EXPECT_EQ(with_change("{name: aws-p5, nodes: 2}", kChange).gpus[0].nics.size(), 5u);
  EXPECT_EQ(with_change("{nodes: [{count: 2, gpus: 2, nic: 50GB/s}]}", kChange).nics.size(), 8u);
  // Two GPUs that shared a NIC get one each.
  EXPECT_EQ(with_change("{nodes: [{count: 2, gpus: 2, nic: 50GB/s, gpus_per_nic: 2}]}", kChange)
                .nics.size(),
            4u);
  const Topology joined =
      with_change("[{name: dgx-h100, nodes: 1}, {name: gb200-nvl72, racks: 1}]", kChange);
  EXPECT_EQ(joined.nics.size(), 2u * (8 + 72));
}

TEST(TopologyEdits, TwiceTheRate) {
  constexpr auto kChange = ClusterChange::kTwiceNicRate;
  EXPECT_EQ(with_change("{name: dgx-h100, nodes: 2}", kChange).nics[0].rate, 100'000'000'000);
  EXPECT_EQ(
      with_change("{name: dgx-h100, nodes: 2, nic: 25GB/s, rate_scale: 0.1}", kChange).nics[0].rate,
      5'000'000'000);
  EXPECT_EQ(with_change("{nodes: [{count: 2, gpus: 1, nic: {value: 7B/s, source: x}}]}", kChange)
                .nics[0]
                .rate,
            14);
}

TEST(TopologyEdits, TwiceTheNvlinkDomain) {
  constexpr auto kChange = ClusterChange::kTwiceNvlinkDomain;
  const Topology pairs = with_change("{name: dgx-h100, nodes: 4}", kChange);
  EXPECT_EQ(pairs.gpus.size(), 32u);
  EXPECT_EQ(pairs.domain_count, 2);
  EXPECT_EQ(pairs.gpus[0].domain, pairs.gpus[15].domain);
  EXPECT_NE(pairs.gpus[15].domain, pairs.gpus[16].domain);
  EXPECT_EQ(pairs.nics[0].rate, 50'000'000'000);
  const Topology racks = with_change("{name: gb200-nvl72, racks: 4}", kChange);
  EXPECT_EQ(racks.domain_count, 2);
  EXPECT_EQ(racks.gpus.size(), 288u);
  for (const char* odd : {"{name: dgx-h100, nodes: 3}", "{name: gb200-nvl72, racks: 1}",
                          "{nodes: [{count: 2, gpus: 1, nic: 1GB/s}]}"})
    EXPECT_THROW(with_change(odd, kChange), InputError) << odd;
}

// A topology file is written out, so that the edit stands in the job.
TEST(TopologyEdits, AFileIsWrittenOut) {
  const std::string file = temp_path("cluster.yaml");
  std::ofstream(file) << "nodes: [{count: 2, gpus: 1, nic: 10GB/s}]\nefficiency: 1\n";
  const Topology topology = with_change(file, ClusterChange::kTwiceNicRate);
  EXPECT_EQ(topology.nics[0].rate, 20'000'000'000);
  EXPECT_EQ(topology.link_costs[static_cast<std::size_t>(topology.nics[0].costs)].efficiency_ppm,
            kPpm);
  std::filesystem::remove(file);
}

TEST(WhatIfs, OfAModelJobCanAllBeRead) {
  const Job job = job_of("model: qwen3-4b\ntopology: {name: dgx-h100, nodes: 2}\n" + kSides);
  const std::vector<WhatIf> list = what_ifs(job, Discipline::kGroups, "");
  EXPECT_EQ(list.size(), 8u);
  for (const WhatIf& entry : list) {
    ASSERT_EQ(entry.impossible, "") << entry.change;
    EXPECT_NO_THROW(changed(job, entry)) << entry.change;
  }
  EXPECT_EQ(changed(job, find(list, "tp 2")).sides[1].engine_ranks, 2);
  EXPECT_EQ(changed(job, find(list, "tp 8")).sides[1].engine_ranks, 8);
  const Job more = changed(job, find(list, "twice the trainers"));
  EXPECT_EQ(more.sides[0].ranks.size(), 16u);
  EXPECT_EQ(more.sides[1].ranks, job.sides[1].ranks);
  const Job fp8 = changed(job, find(list, "FP8"));
  ASSERT_FALSE(fp8.problem.conversions.empty());
  for (const ConvertedTensors& entry : fp8.problem.conversions) {
    EXPECT_EQ(entry.to, "fp8-block128") << entry.tensor;
    EXPECT_EQ(entry.making, Making::kAtSource) << entry.tensor;
  }
  EXPECT_EQ(changed(job, find(list, "windows")).options.discipline, Discipline::kWindows);
}

// Of fsdp, a pure shard stays one and replicas double.
TEST(WhatIfs, MoreTrainersOfFsdp) {
  const auto text = [](const std::string& parallel) {
    return "model: qwen3-4b\ntopology: {name: dgx-h100, nodes: 2}\n"
           "source: {engine: fsdp, gpus: 8, parallel: " +
           parallel +
           "}\n"
           "destination: {engine: vllm, gpus: 8, parallel: {tp: 4}}\n";
  };
  for (const auto& [parallel, key, value] :
       {std::tuple("{shard: 8}", "source.parallel.shard", 16),
        std::tuple("{shard: 4, replicate: 2}", "source.parallel.replicate", 4)}) {
    const Job job = job_of(text(parallel));
    const Job more = changed(job, find(what_ifs(job, Discipline::kGroups, ""), "trainers"));
    EXPECT_EQ(more.sides[0].ranks.size(), 16u);
    EXPECT_EQ(value_at(more.text, key, "job")->integer(), value);
  }
}

TEST(WhatIfs, OfATensorJobAreAboutItsClusterAndHelpers) {
  const Job job = job_of(R"(
topology: {nodes: [{count: 2, gpus: 2, nic: 50GB/s, nvlink: 450GB/s}]}
tensors:
  - name: w
    shape: [8]
    dtype: bf16
    source: {mesh: {x: 1}, placements: [R], ranks: 0}
    destination: {mesh: {x: 1}, placements: [R], ranks: 2}
)");
  const std::vector<WhatIf> list = what_ifs(job, Discipline::kWindows, "");
  EXPECT_EQ(list.size(), 5u);
  EXPECT_EQ(find(list, "2 idle GPUs").edits, (std::vector<JobEdit>{{"options.helpers", "domain"}}));
  EXPECT_EQ(find(list, "groups").edits, (std::vector<JobEdit>{{"options.discipline", "groups"}}));
}

}  // namespace
}  // namespace transload::testing
