#include "topologies/gpu_catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>

#include "common/units.h"
#include "topologies/library.h"
#include "topologies/link_costs.h"
#include "topologies/sourced_value.h"

namespace transload {
namespace {

struct CopyRateTable {
  std::vector<CopyRate> rates;
  std::string source;
};

CopyRateTable read_copy_rates(const YamlValue& value) {
  YamlMap map = value.map();
  CopyRateTable table;
  table.source = map.required("source").text();
  for (const YamlValue& row : map.required("runs").list()) {
    YamlMap columns = row.map();
    const std::int64_t run = columns.required("bytes").integer_in(1, std::int64_t{1} << 40);
    const YamlValue efficiency = columns.required("efficiency");
    columns.finish();
    if (!table.rates.empty() && run <= table.rates.back().run_bytes)
      row.fail(fmt::format("expected more bytes than the {} of the row above, found {}",
                           table.rates.back().run_bytes, run));
    table.rates.push_back({run, read_efficiency_ppm(efficiency)});
  }
  map.finish();
  return table;
}

YamlValue entry_of(YamlMap& catalogue, const YamlValue& name) {
  const YamlValue gpus = catalogue.required("gpus");
  std::vector<std::string_view> names;
  const std::string wanted = name.text();
  const auto entries = gpus.map().entries();
  for (const auto& [known, value] : entries) {
    if (known == wanted) return value;
    names.push_back(known);
  }
  const auto near = nearest_word(wanted, names);
  name.fail(fmt::format("unknown GPU {}{}; known are {}", wanted,
                        near ? fmt::format(" (did you mean {}?)", *near) : "",
                        fmt::join(names, ", ")));
}

}  // namespace

GpuModel find_gpu_model(const YamlValue& name, std::vector<SourcedConstant>& constants) {
  YamlMap catalogue = YamlValue::from_file(topology_library_folder() + "/gpus.yaml").map();
  YamlMap entry = entry_of(catalogue, name).map();
  const SourcedValue hbm = resolve(entry.required("hbm"));
  const SourcedValue memory = resolve(entry.required("memory"));
  const auto own_rates = entry.optional("copy_rates");
  const auto copy_engine = entry.optional("copy_engine");
  const auto quantise = entry.optional("quantise");
  const auto host_link = entry.optional("host_link");
  const auto nvlink_link = entry.optional("nvlink_link");
  const auto host_efficiency = entry.optional("host_link_efficiency");
  entry.finish();
  const YamlValue shared_rates = catalogue.required("copy_rates");
  catalogue.finish();
  const CopyRateTable table = read_copy_rates(own_rates ? *own_rates : shared_rates);

  GpuModel model;
  model.name = name.text();
  model.hbm_rate = hbm.value.rate();
  model.memory_bytes = memory.value.bytes();
  model.copy_rates = table.rates;
  model.source = hbm.source;
  const std::string prefix = "gpus." + model.name;
  constants.push_back(
      {prefix + ".hbm", format_rate(static_cast<double>(model.hbm_rate)), hbm.source});
  constants.push_back(
      {prefix + ".memory", format_bytes(static_cast<double>(model.memory_bytes)), memory.source});
  constants.push_back(
      {prefix + ".copy_rates", fmt::format("{} run lengths", table.rates.size()), table.source});
  const auto share = [&](const std::optional<YamlValue>& written, const char* key,
                         std::int64_t unknown) {
    if (!written) return unknown;
    const SourcedValue value = resolve(*written);
    const std::int64_t ppm = read_efficiency_ppm(value.value);
    constants.push_back({prefix + "." + key, value.value.text(), value.source});
    return ppm;
  };
  model.copy_engine_ppm = share(copy_engine, "copy_engine", 0);
  model.quantise_ppm = share(quantise, "quantise", 0);
  model.host_link_ppm = share(host_efficiency, "host_link_efficiency", kPpm);
  const auto rate = [&](const std::optional<YamlValue>& written, const char* key) {
    if (!written) return std::int64_t{0};
    const SourcedValue value = resolve(*written);
    const std::int64_t line = value.value.rate();
    constants.push_back({prefix + "." + key, format_rate(static_cast<double>(line)), value.source});
    return line;
  };
  model.nvlink_link_rate = rate(nvlink_link, "nvlink_link");
  model.host_link_rate = rate(host_link, "host_link");
  return model;
}

}  // namespace transload
