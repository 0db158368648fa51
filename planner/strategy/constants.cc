#include "planner/strategy/constants.h"

#include <fmt/format.h>

#include <utility>

#include "common/home.h"

namespace transload {

ConstantFile::ConstantFile(std::string_view strategy)
    : strategy_(strategy),
      map_(YamlValue::from_file(
               fmt::format("{}/planner/strategy/{}.yaml", transload_home(), strategy))
               .map()) {}

YamlValue ConstantFile::read(const std::string& name) {
  YamlMap entry = map_.required(name).map();
  YamlValue value = entry.required("value");
  const std::string kind = entry.required("kind").word_of({"published", "fitted", "assumed"});
  const std::string source = entry.required("source").text();
  entry.finish();
  if (kind != "published")
    assumptions_.push_back(
        fmt::format("{} {} = {} ({}: {})", strategy_, name, value.text(), kind, source));
  return value;
}

std::vector<std::string> ConstantFile::finish() {
  map_.finish();
  return std::move(assumptions_);
}

}  // namespace transload
