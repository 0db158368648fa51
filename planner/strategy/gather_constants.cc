#include "planner/strategy/gather_constants.h"

#include <fmt/format.h>

#include "common/home.h"
#include "common/yaml.h"

namespace transload {
namespace {

class ConstantReader {
 public:
  ConstantReader(YamlMap& map, std::vector<std::string>& assumptions)
      : map_(map), assumptions_(assumptions) {}

  // Reads `name: {value, kind, source}` and notes it unless it is published.
  YamlValue read(const std::string& name) {
    YamlMap entry = map_.required(name).map();
    YamlValue value = entry.required("value");
    const std::string kind = entry.required("kind").word_of({"published", "fitted", "assumed"});
    const std::string source = entry.required("source").text();
    entry.finish();
    if (kind != "published")
      assumptions_.push_back(
          fmt::format("gather-broadcast {} = {} ({}: {})", name, value.text(), kind, source));
    return value;
  }

 private:
  YamlMap& map_;
  std::vector<std::string>& assumptions_;
};

}  // namespace

GatherConstants load_gather_constants() {
  const YamlValue root =
      YamlValue::from_file(transload_home() + "/planner/strategy/gather-broadcast.yaml");
  YamlMap map = root.map();
  GatherConstants constants;
  ConstantReader reader(map, constants.assumptions);
  constants.bucket_memory_ratio = reader.read("bucket_memory_ratio").number();
  constants.bucket_limit = reader.read("bucket_limit").bytes();
  constants.bucket_default = reader.read("bucket_default").bytes();
  constants.broadcast_rails = reader.read("broadcast_rails").integer_in(1, 64);
  constants.export_per_tensor_ps = reader.read("export_per_tensor").duration_ps();
  constants.load_per_tensor_ps = reader.read("load_per_tensor").duration_ps();
  constants.piece = reader.read("piece").bytes();
  map.finish();
  return constants;
}

}  // namespace transload
