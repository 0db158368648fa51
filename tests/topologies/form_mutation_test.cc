// Damaged topology files are read or refused; nothing else happens.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/topologies/loading.h"

namespace transload {
namespace {

// Together they have every key of the explicit form.
const std::vector<std::string> kTexts = {
    "topology:\n"
    "  nodes:\n"
    "    - {name: 'a[1-4]', gpus: 2, gpu: h100, nvlink: 450GB/s, nvlink_health: 0.5, nics_per_gpu: "
    "2, "
    "nic: 50GB/s, site: x, host_memory: 1TB}\n"
    "    - {blocks: 2, count: 2, gpus: 4, nvlink: 900GB/s, nvlink_domain: rack, gpus_per_nic: 2, "
    "nic: "
    "25GB/s, site: y, efficiency: {nic: 0.5}, latency: {nic: {latency: 1us, occupancy: 2us}}}\n"
    "  fabric: {kind: rail-optimised, unit: 2, oversubscription: 2, pod: 2, core_oversubscription: "
    "3, "
    "planes: 2, published: {source: s, nics_per_node: 2, units: [{units: 1, tiers: [8, 4]}]}}\n"
    "  links: [{between: [x, y], rate: 5GB/s, latency: 20ms}]\n"
    "  efficiency: {nic: 0.9, nvlink: 0.8, copy: {value: 0.7, source: t}}\n"
    "  latency: {nic: {latency: 5us}, switch: {latency: 1us}}\n"
    "  rate_scale: 0.5\n",
    "topology:\n"
    "  nodes:\n"
    "    - count: 2\n"
    "      gpus: 4\n"
    "      nvlink: 450GB/s\n"
    "      nvlink_islands: [[0, 1], [2, 3]]\n"
    "      numa: [0, 0, 1, 1]\n"
    "      nics: [{name: m0, rate: 50GB/s, rail: 0, plane: 0, numa: 0, gpus: [0, 1]}, {name: m1, "
    "rate: "
    "25GB/s, gpus: [2-3]}]\n"
    "      pcie: [{gpus: [0, 1], nics: [m0], uplink: 63GB/s}, {gpus: [2, 3], nics: [m1]}]\n"
    "  fabric:\n"
    "    kind: switches\n"
    "    switches: [{name: top}, {name: l0, parent: top, uplink: 9GB/s, latency: 1us, nodes: "
    "node0}, "
    "{name: l1, parent: top, nics: [node1.m0, node1.m1]}]\n",
    "topology: [{name: dgx-h100, nodes: 2, site: a, unit: 1, oversubscription: 4}, {name: "
    "gb200-nvl72, "
    "racks: 1, site: b}, {links: [{between: [a, b], rate: 1GB/s}]}]\n"};

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  std::string damaged(std::string text) {
    for (std::size_t rounds = 1 + below(2); rounds > 0; --rounds) damage(text);
    return text;
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }

  // Start and length of a word or number; most damage shall reach the reader behind the YAML.
  std::pair<std::size_t, std::size_t> word(const std::string& text) {
    constexpr const char* kWord = "abcdefghijklmnopqrstuvwxyz_0123456789/.GBTs";
    for (;;) {
      const std::size_t start = text.find_first_of(kWord, below(text.size()));
      if (start == std::string::npos) continue;
      const std::size_t end = std::min(text.find_first_not_of(kWord, start), text.size());
      return {start, end - start};
    }
  }

  // Writes another word over one, or something odd; or cuts a piece out of the text.
  void damage(std::string& text) {
    static const std::vector<std::string> kOdd = {"0",   "-1",
                                                  "1",   "2",
                                                  "3",   "1e30",
                                                  "[]",  "{}",
                                                  "~",   "x",
                                                  "$p",  "a: b",
                                                  "",    "[[0]]",
                                                  "'",   "10000000000000000000",
                                                  "0.5", "node[0-9999999]"};
    const auto [at, length] = word(text);
    switch (below(4)) {
      case 0:
        text.erase(at, 1 + below(6));
        break;
      case 1: {
        const auto [other, other_length] = word(text);
        text.replace(at, length, text.substr(other, other_length));
        break;
      }
      default:
        text.replace(at, length, kOdd[below(kOdd.size())]);
    }
  }

  std::mt19937 random_;
};

TEST(FormMutation, DamagedTopologiesAreReadOrRefused) {
  for (const std::string& text : kTexts) EXPECT_EQ(refusal(text), "accepted");
  int read = 0;
  int refused = 0;
  for (std::uint32_t seed = 0; seed < 600; ++seed) {
    const std::string text = Mutator(seed).damaged(kTexts[seed % kTexts.size()]);
    SCOPED_TRACE(text);
    std::string message;
    ASSERT_NO_THROW(message = refusal(text));
    ++(message == "accepted" ? read : refused);
    EXPECT_FALSE(message.empty());
  }
  EXPECT_GT(read, 5);
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace transload
