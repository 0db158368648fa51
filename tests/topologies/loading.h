// Helpers of the topology tests: load from text, catch the message, and folders that clean
// themselves up.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "topologies/loader.h"

namespace transload {

// Loads the `topology:` of a job whose text is given; messages call the job "job.yaml".
inline Topology load(const std::string& job, const std::string& base_folder = "") {
  YamlMap map = YamlValue::from_text(job, "job.yaml").map();
  return load_topology(map.required("topology"), base_folder);
}

// What the loader says about a job that it has to refuse; "accepted" if it does not.
inline std::string refusal(const std::string& job, const std::string& base_folder = "") {
  try {
    load(job, base_folder);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "transload-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
    path_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file.string();
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Points TRANSLOAD_HOME elsewhere for the length of a test.
class HomeAt {
 public:
  explicit HomeAt(const std::string& folder) {
    if (const char* before = std::getenv("TRANSLOAD_HOME")) before_ = before;
    setenv("TRANSLOAD_HOME", folder.c_str(), 1);
  }
  ~HomeAt() {
    if (before_)
      setenv("TRANSLOAD_HOME", before_->c_str(), 1);
    else
      unsetenv("TRANSLOAD_HOME");
  }
  HomeAt(const HomeAt&) = delete;
  HomeAt& operator=(const HomeAt&) = delete;

 private:
  std::optional<std::string> before_;
};

// Costs of the first NIC, NVLink and GPU model; most test topologies have only one of each.
inline const LinkCosts& first_nic_costs(const Topology& topology) {
  return nic_costs(topology, topology.nics.at(0));
}
inline const LinkCosts& first_nvlink_costs(const Topology& topology) {
  return nvlink_costs(topology, topology.gpus.at(0));
}
inline const LinkCosts& first_copy_costs(const Topology& topology) {
  return topology.gpu_models.at(0).copy;
}

}  // namespace transload
