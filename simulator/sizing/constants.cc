#include "simulator/sizing/constants.h"

#include <fmt/format.h>

#include "common/home.h"
#include "common/units.h"
#include "common/yaml.h"

namespace transload {

std::string in_words(const SizingConstant& constant) {
  return fmt::format("{} = {} ({}: {})", constant.name, constant.value, constant.kind,
                     constant.source);
}

SizingConstants::SizingConstants() : path_(transload_home() + "/simulator/sizing/constants.yaml") {
  for (const auto& [name, entry] : YamlValue::from_file(path_).map().entries()) {
    YamlMap map = entry.map();
    SizingConstant constant{name, map.required("value").text(),
                            map.required("kind").word_of({"measured", "assumed"}),
                            map.required("source").text()};
    map.finish();
    constants_.emplace(name, std::move(constant));
  }
}

const SizingConstant& SizingConstants::of(const std::string& name) const {
  const auto found = constants_.find(name);
  if (found == constants_.end()) throw InputError({path_, 0, name}, "the constant is missing");
  return found->second;
}

double SizingConstants::seconds(const std::string& name) const {
  if (const auto time = parse_duration_ps(of(name).value)) return to_seconds(*time);
  throw InputError({path_, 0, name}, "expected a time");
}

double SizingConstants::bytes_per_s(const std::string& name) const {
  if (const auto rate = parse_rate(of(name).value); rate && *rate > 0)
    return static_cast<double>(*rate);
  throw InputError({path_, 0, name}, "expected a rate above 0");
}

double SizingConstants::share(const std::string& name) const {
  const double share = YamlValue::from_text(of(name).value, path_).number();
  if (share > 0 && share <= 1) return share;
  throw InputError({path_, 0, name}, "expected a share above 0 and at most 1");
}

}  // namespace transload
