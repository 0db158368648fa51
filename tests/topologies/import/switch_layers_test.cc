// Which switches of an imported fabric work as one.
#include "topologies/import/switch_layers.h"

#include <gtest/gtest.h>

#include "common/error.h"

namespace transload {
namespace {

ImportedSwitch switch_of(const std::string& name, std::vector<std::int32_t> parents,
                         std::int64_t rate = 100) {
  ImportedSwitch made;
  made.name = name;
  made.parent_rates.assign(parents.size(), rate);
  made.parents = std::move(parents);
  return made;
}

TEST(SwitchLayers, SpinesThatEveryLeafReachesAreOne) {
  const SwitchLayers merged = merge_layers({switch_of("leaf0", {2, 3}), switch_of("leaf1", {2, 3}),
                                            switch_of("spine0", {}), switch_of("spine1", {})});
  ASSERT_EQ(merged.layers.size(), 3u);
  EXPECT_EQ(merged.layer_of, (std::vector<std::int32_t>{0, 1, 2, 2}));
  EXPECT_EQ(merged.layers[2].name, "spine0+1");
  EXPECT_EQ(merged.layers[0].parent, 2);
  EXPECT_EQ(merged.layers[0].uplink, 200);  // both cables
  EXPECT_TRUE(merged.layers[0].uplink_stated);
}

TEST(SwitchLayers, ChainsOfSharedParentsAreOneLayerToo) {
  // leaf0 reaches spines 3 and 4, leaf1 spines 4 and 5: all three are one layer; its cores follow.
  const SwitchLayers merged =
      merge_layers({switch_of("leaf0", {3, 4}), switch_of("leaf1", {4, 5}), switch_of("leaf2", {5}),
                    switch_of("spine0", {6}), switch_of("spine1", {7}), switch_of("spine2", {7}),
                    switch_of("core0", {}), switch_of("core1", {})});
  ASSERT_EQ(merged.layers.size(), 5u);
  EXPECT_EQ(merged.layers[3].name, "spine0+2");
  EXPECT_EQ(merged.layers[3].uplink, 300);
  EXPECT_EQ(merged.layers[4].name, "core0+1");
}

TEST(SwitchLayers, TreesStayApart) {
  const SwitchLayers merged = merge_layers({switch_of("leaf0", {2}), switch_of("leaf1", {3}, 0),
                                            switch_of("rail0", {}), switch_of("rail1", {})});
  EXPECT_EQ(merged.layers.size(), 4u);
  EXPECT_FALSE(merged.layers[1].uplink_stated);
}

TEST(SwitchLayers, RefusesRings) {
  EXPECT_THROW(merge_layers({switch_of("a", {1}), switch_of("b", {0})}), InputError);
}

}  // namespace
}  // namespace transload
