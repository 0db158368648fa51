// How a process learns which of several it is.
#include "cli/process_place.h"

#include <gtest/gtest.h>

#include <map>

#include "common/error.h"

namespace transload {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<ProcessPlace> place(const Variables& variables) {
  return place_from_environment([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(ProcessPlace, NothingWithoutALauncher) { EXPECT_FALSE(place({}).has_value()); }

TEST(ProcessPlace, OurOwnLauncherServesTheControlPlane) {
  const auto found = place({{"TRANSLOAD_PROCESS", "0"},
                            {"TRANSLOAD_PROCESSES", "3"},
                            {"TRANSLOAD_CONTROL", "127.0.0.1:4000"},
                            {"TRANSLOAD_LAUNCHED", "1"},
                            {"RANK", "7"}});
  EXPECT_EQ(found->process, 0);
  EXPECT_EQ(found->processes, 3);
  EXPECT_EQ(found->control, "127.0.0.1:4000");
  EXPECT_TRUE(found->launched_by_us);
  EXPECT_FALSE(found->serves_control);
}

TEST(ProcessPlace, TorchrunsPortIsItsOwn) {
  const auto found = place(
      {{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "host0"}, {"MASTER_PORT", "29500"}});
  EXPECT_EQ(found->control, "host0:29501");
  EXPECT_TRUE(found->serves_control);
  EXPECT_FALSE(found->launched_by_us);
}

TEST(ProcessPlace, SlurmAndOpenMpiNeedTheEndpoint) {
  EXPECT_EQ(
      place({{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}, {"TRANSLOAD_CONTROL", "n0:9"}})->process,
      2);
  EXPECT_THROW(place({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}), InputError);
}

TEST(ProcessPlace, WhatIsIncompleteOrWrongIsNamed) {
  EXPECT_THROW(place({{"RANK", "0"}}), InputError);
  EXPECT_THROW(place({{"RANK", "4"}, {"WORLD_SIZE", "4"}, {"TRANSLOAD_CONTROL", "a:1"}}),
               InputError);
  EXPECT_THROW(place({{"RANK", "x"}, {"WORLD_SIZE", "4"}, {"TRANSLOAD_CONTROL", "a:1"}}),
               InputError);
  try {
    place({{"RANK", "-1"}, {"WORLD_SIZE", "4"}});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("RANK"), std::string::npos);
  }
}

}  // namespace
}  // namespace transload
