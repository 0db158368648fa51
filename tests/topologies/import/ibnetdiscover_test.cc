#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/topologies/import/fabric_refusal.h"
#include "topologies/import/infiniband_rate.h"
#include "topologies/import/readers.h"
#include "topologies/import/text_lines.h"

namespace transload {
namespace {

using testing::changed;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::joined;
using ::testing::Not;

std::string refusal(const std::string& text) { return testing::refusal(read_ibnetdiscover, text); }

// Draws a fabric and prints it as ibnetdiscover does: every cable at both of its ends.
class Fabric {
 public:
  int add(char kind, const std::string& description) {
    devices_.push_back({kind, description, {}});
    return static_cast<int>(devices_.size()) - 1;
  }

  void cable(int a, int b, const std::string& rate = "4xNDR") {
    const int port_a = static_cast<int>(device(a).ends.size()) + 1;
    const int port_b = static_cast<int>(device(b).ends.size()) + 1;
    device(a).ends.push_back({b, port_b, rate});
    device(b).ends.push_back({a, port_a, rate});
  }

  std::string text() const {
    std::string all = "#\n# Topology file: generated on some day\n#\n";
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const Device& one = devices_[i];
      const bool is_switch = one.kind == 'S';
      all += fmt::format("\nvendid=0x2c9\ndevid=0x1\n{}=0x{:x}\n{}\t64 {}\t\t# \"{}\"{}\n",
                         is_switch ? "switchguid" : "caguid", i, is_switch ? "Switch" : "Ca",
                         id(static_cast<int>(i)), one.description,
                         is_switch ? " enhanced port 0 lid 7 lmc 0" : "");
      for (std::size_t port = 0; port < one.ends.size(); ++port) {
        const End& end = one.ends[port];
        all += fmt::format("[{}]({:x}) \t{}[{}]({:x}) \t\t# \"{}\" lid 3 {}\n", port + 1, i,
                           id(end.peer), end.peer_port, end.peer,
                           devices_[static_cast<std::size_t>(end.peer)].description, end.rate);
      }
    }
    return all;
  }

 private:
  struct End {
    int peer;
    int peer_port;
    std::string rate;
  };
  struct Device {
    char kind;
    std::string description;
    std::vector<End> ends;
  };

  Device& device(int i) { return devices_[static_cast<std::size_t>(i)]; }
  std::string id(int i) const {
    return fmt::format("\"{}-{:016x}\"", devices_[static_cast<std::size_t>(i)].kind, i);
  }

  std::vector<Device> devices_;
};

// Two leaves with two cables to each of two spines, three hosts with a card at each leaf, a SHARP
// node in every switch, one card without a host.
Fabric small_fabric(const std::string& leaf = "LEAF", const std::string& spine = "SPINE") {
  Fabric fabric;
  const int leaf1 = fabric.add('S', "MF0;P1-" + leaf + "-1:MQM9700/U1");
  const int leaf2 = fabric.add('S', "MF0;P1-" + leaf + "-2:MQM9700/U1");
  const int spine1 = fabric.add('S', "MF0;P1-" + spine + "-1:MQM9700/U1");
  const int spine2 = fabric.add('S', "MF0;P1-" + spine + "-2:MQM9700/U1");
  for (const int one : {leaf1, leaf2, spine1, spine2})
    fabric.cable(one, fabric.add('H', "Mellanox Technologies Aggregation Node"));
  for (const int low : {leaf1, leaf2})
    for (const int high : {spine1, spine2})
      for (int i = 0; i < 2; ++i) fabric.cable(low, high);
  for (const char* host : {"dgx-01", "dgx-02", "dgx-03"}) {
    fabric.cable(leaf1, fabric.add('H', std::string(host) + " mlx5_0"));
    fabric.cable(leaf2, fabric.add('H', std::string(host) + " HCA-2"));
  }
  fabric.cable(leaf1, fabric.add('H', "MT4129 ConnectX7   Mellanox Technologies"));
  return fabric;
}

std::map<std::int32_t, int> tiers(const ImportFindings& found) {
  std::map<std::int32_t, int> count;
  for (const ImportedSwitch& one : found.fabric.value().switches) ++count[one.tier];
  return count;
}

TEST(InfinibandRate, FollowsTheRoadmap) {
  EXPECT_EQ(infiniband_rate("4xNDR"), 50'000'000'000);   // 400 Gb/s
  EXPECT_EQ(infiniband_rate("2xNDR"), 25'000'000'000);   // 200 Gb/s
  EXPECT_EQ(infiniband_rate("4xXDR"), 100'000'000'000);  // 800 Gb/s
  EXPECT_EQ(infiniband_rate("4xHDR"), 25'000'000'000);   // 200 Gb/s
  EXPECT_EQ(infiniband_rate("4xEDR"), 12'500'000'000);   // 100 Gb/s
  EXPECT_EQ(infiniband_rate("4xQDR"), 4'000'000'000);    // 40 Gb/s with 8 of 10 bits
  for (const char* bad : {"", "4x", "xNDR", "NDR", "4xndr", "0xNDR", "99xNDR", "4xNDRR"})
    EXPECT_EQ(infiniband_rate(bad), std::nullopt) << bad;
}

TEST(Ibnetdiscover, ReadsHostsCardsAndSwitches) {
  const ImportFindings found = read_ibnetdiscover(small_fabric().text(), "FILE");
  EXPECT_EQ(found.kind, "ibnetdiscover");
  const ImportedFabric& fabric = found.fabric.value();
  ASSERT_EQ(fabric.switches.size(), 4U);
  EXPECT_EQ(fabric.switches[0].name, "P1-LEAF-1");
  EXPECT_EQ(tiers(found), (std::map<std::int32_t, int>{{1, 2}, {2, 2}}));
  // Two cables of 400 Gb/s are one link of 100 GB/s.
  EXPECT_THAT(fabric.switches[0].parents, ElementsAre(2, 3));
  EXPECT_THAT(fabric.switches[0].parent_rates, ElementsAre(100'000'000'000, 100'000'000'000));
  ASSERT_EQ(fabric.hosts.size(), 3U);
  EXPECT_EQ(fabric.hosts[1].name, "dgx-02");
  ASSERT_EQ(fabric.hosts[1].ports.size(), 2U);
  EXPECT_EQ(fabric.hosts[1].ports[0].nic, "mlx5_0");
  EXPECT_EQ(fabric.hosts[1].ports[0].leaf, 0);
  EXPECT_EQ(fabric.hosts[1].ports[1].nic, "HCA-2");
  EXPECT_EQ(fabric.hosts[1].ports[1].leaf, 1);
  EXPECT_EQ(fabric.hosts[1].ports[1].rate, 50'000'000'000);
  EXPECT_THAT(joined(found.ignored), HasSubstr("4 aggregation nodes"));
  EXPECT_THAT(joined(found.asked), HasSubstr("the hosts of 1 cards"));
}

TEST(Ibnetdiscover, TiersComeFromCablesNotFromNames) {
  const ImportFindings found = read_ibnetdiscover(small_fabric("IBSPINE", "IBLEAF").text(), "FILE");
  EXPECT_EQ(tiers(found), (std::map<std::int32_t, int>{{1, 2}, {2, 2}}));
  EXPECT_EQ(found.fabric.value().switches[0].name, "P1-IBSPINE-1");
  EXPECT_EQ(found.fabric.value().switches[0].tier, 1);
}

TEST(Ibnetdiscover, FindsThreeTiers) {
  Fabric fabric;
  const int core = fabric.add('S', "core");
  for (int pod = 0; pod < 2; ++pod) {
    const int spine = fabric.add('S', fmt::format("spine{}", pod));
    const int leaf = fabric.add('S', fmt::format("leaf{}", pod));
    fabric.cable(spine, core, "4xHDR");
    fabric.cable(leaf, spine);
    fabric.cable(leaf, fabric.add('H', fmt::format("n{} mlx5_0", pod)));
  }
  const ImportFindings found = read_ibnetdiscover(fabric.text(), "FILE");
  EXPECT_EQ(tiers(found), (std::map<std::int32_t, int>{{1, 2}, {2, 2}, {3, 1}}));
  EXPECT_THAT(found.fabric.value().switches[1].parent_rates, ElementsAre(25'000'000'000));
}

TEST(Ibnetdiscover, CardAtASpineIsSaid) {
  Fabric fabric = small_fabric();
  fabric.cable(2, fabric.add('H', "manager mlx5_0"));  // at the first spine
  const ImportFindings found = read_ibnetdiscover(fabric.text(), "FILE");
  // Four cables between the leaves and that spine now join switches of one tier.
  EXPECT_THAT(joined(found.warnings), HasSubstr("4 cables join two switches of one tier"));
  EXPECT_THAT(joined(found.asked), HasSubstr("1 with 1 (manager); 3 with 2"));
}

TEST(Ibnetdiscover, TwoPortsOfACardAreTwoPorts) {
  Fabric fabric;
  const int leaf = fabric.add('S', "leaf");
  const int card = fabric.add('H', "n1 mlx5_0");
  fabric.cable(card, leaf);
  fabric.cable(card, leaf);
  const ImportFindings found = read_ibnetdiscover(fabric.text(), "FILE");
  ASSERT_EQ(found.fabric.value().hosts[0].ports.size(), 2U);
  EXPECT_EQ(found.fabric.value().hosts[0].ports[0].nic, "mlx5_0:1");
  EXPECT_EQ(found.fabric.value().hosts[0].ports[1].nic, "mlx5_0:2");
}

TEST(Ibnetdiscover, MachinesOfOneNameAreAskedFor) {
  Fabric fabric = small_fabric();
  fabric.cable(0, fabric.add('H', "localhost mlx5_0"));
  fabric.cable(1, fabric.add('H', "localhost mlx5_0"));
  const ImportFindings found = read_ibnetdiscover(fabric.text(), "FILE");
  EXPECT_THAT(joined(found.asked), HasSubstr("several machines call themselves localhost"));
  EXPECT_EQ(found.fabric.value().hosts.size(), 3U);
}

TEST(Ibnetdiscover, SwitchesOfOneNameStayApart) {
  Fabric fabric;
  const int a = fabric.add('S', "MF0;director:MCS8500/L01/U1");
  const int b = fabric.add('S', "MF0;director:MCS8500/L02/U1");
  fabric.cable(a, fabric.add('H', "n1 mlx5_0"));
  fabric.cable(b, fabric.add('H', "n2 mlx5_0"));
  const ImportFindings found = read_ibnetdiscover(fabric.text(), "FILE");
  EXPECT_NE(found.fabric.value().switches[0].name, found.fabric.value().switches[1].name);
}

// Wherever the output is cut between two lines, something is missing that another part mentions.
TEST(Ibnetdiscover, EveryCutOffFileIsRefused) {
  const std::string text = small_fabric().text();
  std::size_t end = text.find('\n');
  int cuts = 0;
  for (; end + 1 < text.size(); end = text.find('\n', end + 1)) {
    const std::string message = refusal(text.substr(0, end + 1));
    EXPECT_THAT(message, HasSubstr("FILE")) << text.substr(0, end + 1);
    ++cuts;
  }
  EXPECT_GT(cuts, 60);
  EXPECT_EQ(refusal(text), "accepted");
}

TEST(Ibnetdiscover, RefusesWithPlaceAndReason) {
  const std::string text = small_fabric().text();
  EXPECT_THAT(refusal("# x\n\ncaguid=0x1\nCa\t1 \"H-1\"\t# \"n1 HCA-1\"\n"),
              HasSubstr("1 card and no switch: the output is cut off"));
  EXPECT_THAT(refusal(changed(text, "4xNDR", "4xFOO")), HasSubstr("4xFOO"));
  EXPECT_THAT(refusal(changed(text, "4xNDR", "4xHDR")), HasSubstr("at the same rate"));
  EXPECT_THAT(refusal(changed(text, "Switch\t", "Swatch\t")), HasSubstr("expected a line of"));
  EXPECT_THAT(refusal("[1] \"S-1\"[2] # \"x\" lid 1 4xNDR\n"),
              HasSubstr("before the first Switch"));
  EXPECT_THAT(refusal(""), HasSubstr("not an output of ibnetdiscover"));
  EXPECT_THAT(refusal(text + text), HasSubstr("has two records"));
  EXPECT_THAT(refusal(text), Not(HasSubstr("FILE")));
}

}  // namespace
}  // namespace transload
