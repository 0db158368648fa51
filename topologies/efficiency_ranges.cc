#include "topologies/efficiency_ranges.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace transload {
namespace {

std::int64_t ppm_of(const std::string& value) {
  double number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return std::llround(number * kPpm);
}

}  // namespace

std::vector<EfficiencyRange> efficiency_ranges(const Topology& topology) {
  constexpr std::string_view kLow = ".low";
  std::map<std::string, std::int64_t> ppm;
  for (const SourcedConstant& constant : topology.constants)
    if (constant.name.find("efficiency.") != std::string::npos)
      ppm[constant.name] = ppm_of(constant.value);
  std::vector<EfficiencyRange> ranges;
  for (const SourcedConstant& constant : topology.constants) {
    if (!constant.name.ends_with(kLow)) continue;
    const std::string likely = constant.name.substr(0, constant.name.size() - kLow.size());
    const auto found = ppm.find(likely);
    const auto high = ppm.find(likely + ".high");
    if (found == ppm.end() || high == ppm.end()) continue;
    const EfficiencyRange range = {likely.substr(likely.rfind('.') + 1), ppm[constant.name],
                                   found->second, high->second};
    if (std::find(ranges.begin(), ranges.end(), range) == ranges.end()) ranges.push_back(range);
  }
  return ranges;
}

}  // namespace transload
