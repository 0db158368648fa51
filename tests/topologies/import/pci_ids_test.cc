// Class codes, device ids, PCI addresses and link rates.
#include "topologies/import/pci_ids.h"

#include <gtest/gtest.h>

#include "topologies/import/pcie_link.h"

namespace transload {
namespace {

TEST(PciIds, KindsByClassCode) {
  EXPECT_EQ(pci_kind(0x0302, {0x10de, 0x2330}), PciKind::kGpu);
  EXPECT_EQ(pci_kind(0x0302, {}), PciKind::kGpu);
  EXPECT_EQ(pci_kind(0x0302, {0xffff, 0xffff}), PciKind::kGpu);
  EXPECT_EQ(pci_kind(0x0300, {0x1d0f, 0x1111}), PciKind::kOther);  // a virtual machine's screen
  EXPECT_EQ(pci_kind(0x0200, {0x1d0f, 0xefa1}), PciKind::kNetwork);
  EXPECT_EQ(pci_kind(0x0207, {}), PciKind::kNetwork);
  EXPECT_EQ(pci_kind(0x0604, {0x1000, 0xc030}), PciKind::kBridge);
  EXPECT_EQ(pci_kind(0x0680, {0x10de, 0x22a3}), PciKind::kNvSwitch);
  EXPECT_EQ(pci_kind(0x0680, {0x8086, 0x1234}), PciKind::kOther);
  EXPECT_EQ(pci_kind(0x0108, {0x1d0f, 0xcd01}), PciKind::kOther);
}

TEST(PciIds, ModelsOfGpus) {
  ASSERT_NE(find_gpu_product({0x10de, 0x2330}), nullptr);
  EXPECT_STREQ(find_gpu_product({0x10de, 0x2330})->model, "h100");
  EXPECT_STREQ(find_gpu_product({0x10de, 0x2335})->model, "h200");
  EXPECT_STREQ(find_gpu_product({0x10de, 0x2901})->model, "b200");
  EXPECT_FALSE(find_gpu_product({0x10de, 0x2237})->nvlink);
  EXPECT_EQ(find_gpu_product({0x10de, 0xffff}), nullptr);
  EXPECT_EQ(find_gpu_product({0x1002, 0x2330}), nullptr);
}

// EFA cards: 4 x 100 Gb/s in p4d, 32 x 100 in p5, 16 x 200 in p5en.
TEST(PciIds, RatesOfNetworkCards) {
  EXPECT_EQ(find_nic_product({0x1d0f, 0xefa0})->rate, 12'500'000'000);
  EXPECT_EQ(find_nic_product({0x1d0f, 0xefa1})->rate, 12'500'000'000);
  EXPECT_EQ(find_nic_product({0x1d0f, 0xefa2})->rate, 25'000'000'000);
  EXPECT_EQ(find_nic_product({0x1d0f, 0xefa3})->rate, 0);
  EXPECT_FALSE(find_nic_product({0x1d0f, 0xec20})->rdma);
  EXPECT_EQ(find_nic_product({0x15b3, 0x1021}), nullptr);  // ConnectX-7 has 200 or 400 Gb/s
}

TEST(PciIds, AddressesInOneForm) {
  EXPECT_EQ(normal_bus("0000:0f:00.0"), "0000:0f:00.0");
  EXPECT_EQ(normal_bus("00000000:0F:00.0"), "0000:0f:00.0");
  EXPECT_EQ(normal_bus("00000009:01:00.0"), "0009:01:00.0");
  EXPECT_EQ(normal_bus("10000:e1:00.7"), "10000:e1:00.7");
  EXPECT_EQ(normal_bus("0f:00.0"), "");
  EXPECT_EQ(normal_bus("0000:0f:00.8"), "");
  EXPECT_EQ(normal_bus("fffffff:ffff:ff"), "");
  EXPECT_EQ(normal_bus(""), "");
  EXPECT_EQ(normal_bus(std::string(100000, '0') + ":00:00.0"), "");
}

// Worked out by hand: GT/s x lanes / 8 x 128/130 (8/10 up to 5 GT/s, 242/256 at 64 GT/s).
TEST(PcieLink, RatesAfterLineEncoding) {
  EXPECT_EQ(pcie_rate("2.5 GT/s PCIe", 1), 250'000'000);
  EXPECT_EQ(pcie_rate("5.0 GT/s PCIe", 16), 8'000'000'000);
  EXPECT_EQ(pcie_rate("8 GT/s", 16), 15'753'846'153);
  EXPECT_EQ(pcie_rate("16 GT/s", 16), 31'507'692'307);
  EXPECT_EQ(pcie_rate("32.0 GT/s PCIe", 16), 63'015'384'615);
  EXPECT_EQ(pcie_rate("64.0 GT/s PCIe", 16), 121'000'000'000);
  EXPECT_EQ(pcie_rate("32.0 GT/s PCIe", 0), std::nullopt);
  EXPECT_EQ(pcie_rate("32.0 GT/s PCIe", 33), std::nullopt);
  EXPECT_EQ(pcie_rate("33 GT/s", 16), std::nullopt);
  EXPECT_EQ(pcie_rate("32.0", 16), std::nullopt);
  EXPECT_EQ(pcie_rate("", 16), std::nullopt);
}

}  // namespace
}  // namespace transload
