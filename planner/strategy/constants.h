// Reading a published system's constants from planner/strategy/NAME.yaml, each with its value, how
// far it can be trusted (published, fitted, assumed) and its source. Internal to planner/strategy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/yaml.h"

namespace transload {

class ConstantFile {
 public:
  // Opens planner/strategy/`strategy`.yaml of the installation.
  explicit ConstantFile(std::string_view strategy);

  // The value of `name: {value, kind, source}`; noted as an assumption unless it is published.
  YamlValue read(const std::string& name);
  // Refuses constants that nobody read; returns the fitted and assumed ones in words.
  std::vector<std::string> finish();

 private:
  std::string strategy_;
  YamlMap map_;
  std::vector<std::string> assumptions_;
};

}  // namespace transload
