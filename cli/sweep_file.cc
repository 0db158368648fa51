#include "cli/sweep_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "common/hash.h"
#include "common/yaml.h"

namespace transload {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPoints = 100'000;
constexpr double kMostMoney = 1e15;
// Raise it when a row of a results file changes its meaning.
constexpr int kResultsVersion = 1;

struct PriceKey {
  const char* name;
  double SweepPrices::*price;
};
constexpr std::array kPrices = {
    PriceKey{"gpu_hour", &SweepPrices::gpu_hour}, PriceKey{"gpu", &SweepPrices::gpu},
    PriceKey{"nic", &SweepPrices::nic}, PriceKey{"node", &SweepPrices::node}};

double read_amount(const YamlValue& value, double most) {
  const double amount = value.number();
  if (amount < 0 || amount > most)
    value.fail(fmt::format("expected a number from 0 to {:g}, found {}", most, value.text()));
  return amount;
}

// One step of a way: a key of a map, or an index of a list.
struct Step {
  std::string key;
  std::size_t index = 0;
  bool is_index = false;
};

// "destination[1].parallel.tp"; nothing if it is not of that form.
std::optional<std::vector<Step>> parse_way(const std::string& text) {
  std::vector<Step> steps;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    const std::size_t bracket = part.find('[');
    if (bracket == 0 || part.empty()) return std::nullopt;
    steps.push_back({part.substr(0, bracket), 0, false});
    std::size_t at = bracket;
    while (at != std::string::npos && at < part.size()) {
      const std::size_t close = part.find(']', at);
      if (part[at] != '[' || close == std::string::npos) return std::nullopt;
      Step step{"", 0, true};
      const char* last = part.data() + close;
      const auto [rest, error] = std::from_chars(part.data() + at + 1, last, step.index);
      if (error != std::errc{} || rest != last) return std::nullopt;
      steps.push_back(step);
      at = close + 1;
    }
    begin = end + 1;
  }
  return steps;
}

// Sets what the way leads to, below `root`. Assigning a yaml-cpp node to a variable changes the
// tree that it points into, so the way is walked by recursion.
void set_value(YAML::Node node, const std::vector<Step>& way, std::size_t at,
               const YAML::Node& value, const std::string& key) {
  const Step& step = way[at];
  if (step.is_index ? !node.IsSequence() : !node.IsMap())
    throw InputError(
        fmt::format("grid key {}: the job has no {} there", key, step.is_index ? "list" : "map"));
  if (step.is_index) {
    if (step.index >= node.size())
      throw InputError(fmt::format("grid key {}: the list has {} entries", key, node.size()));
    if (at + 1 == way.size())
      node[step.index] = YAML::Clone(value);
    else
      set_value(node[step.index], way, at + 1, value, key);
    return;
  }
  if (at + 1 == way.size()) {
    if (value.IsNull())
      node.remove(step.key);
    else
      node[step.key] = YAML::Clone(value);
    return;
  }
  if (!node[step.key]) node[step.key] = YAML::Node(YAML::NodeType::Map);
  set_value(node[step.key], way, at + 1, value, key);
}

void set_at(const Sweep& sweep, const YAML::Node& job, const std::string& key,
            const YAML::Node& value) {
  try {
    set_value(job, *parse_way(key), 0, value, key);
  } catch (const InputError& error) {
    throw InputError({sweep.path, 0, "grid"}, error.what());
  }
}

std::string flow_text(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  if (node.IsNull()) return "null";
  YAML::Emitter out;
  out << YAML::Flow << node;
  return out.c_str();
}

constexpr std::string_view kPricePrefix = "prices.";

double SweepPrices::*price_of(const std::string& name) {
  for (const PriceKey& known : kPrices)
    if (name == known.name) return known.price;
  return nullptr;
}

void require_key(const YamlValue& at, const std::string& key) {
  if (key.starts_with(kPricePrefix)) {
    if (price_of(key.substr(kPricePrefix.size())) == nullptr)
      at.fail(
          fmt::format("expected a price: prices.gpu_hour, prices.gpu, prices.nic or prices.node; "
                      "found {}",
                      key));
  } else if (!parse_way(key)) {
    at.fail(
        fmt::format("expected the way to a value of the job, such as source.parallel.tp or "
                    "destination[1].gpus; found {}",
                    key));
  }
}

SweepAxis read_axis(const std::string& name, const YamlValue& value) {
  SweepAxis axis;
  axis.name = name;
  const auto add = [&](const std::string& key, const YamlValue& list) {
    require_key(list, key);
    const std::vector<YamlValue> values = list.list();
    if (values.empty()) list.fail("expected at least one value");
    if (!axis.keys.empty() && values.size() != axis.labels.size())
      list.fail(
          fmt::format("keys of one axis change together: expected {} values, as {} has; found {}",
                      axis.labels.size(), axis.keys[0], values.size()));
    std::vector<YAML::Node> nodes;
    for (const YamlValue& each : values) {
      if (key.starts_with(kPricePrefix)) read_amount(each, kMostMoney);
      if (axis.keys.empty()) axis.labels.push_back(flow_text(each.node()));
      nodes.push_back(each.node());
    }
    axis.keys.push_back(key);
    axis.values.push_back(std::move(nodes));
  };
  if (value.is_list()) {
    add(name, value);
  } else {
    if (!value.is_map())
      value.fail("expected a list of values, or a map of keys that change together");
    for (const auto& [key, list] : value.map().entries()) add(key, list);
  }
  if (axis.keys.empty()) value.fail("expected at least one key");
  return axis;
}

void read_job(const YamlValue& value, const std::string& folder, Sweep& sweep) {
  if (value.is_map()) {
    sweep.job = value.node();
    sweep.base_folder = folder;
    return;
  }
  const std::string written = value.text();
  std::error_code ignored;
  for (const fs::path& path : {fs::path(folder) / written, fs::path(written)}) {
    if (!fs::is_regular_file(path, ignored)) continue;
    const YamlValue job = YamlValue::from_file(path.string());
    if (!job.is_map()) job.fail("expected a map");
    sweep.job = job.node();
    sweep.base_folder = path.parent_path().string();
    return;
  }
  value.fail(fmt::format("no such job file: {}", written));
}

void read_prices(const YamlValue& value, Sweep& sweep) {
  YamlMap map = value.map();
  for (const PriceKey& key : kPrices)
    if (const auto amount = map.optional(key.name))
      sweep.prices.*key.price = read_amount(*amount, kMostMoney);
  if (const auto currency = map.optional("currency")) sweep.currency = currency->text();
  map.finish();
}

void read_strategies(const YamlValue& value, Sweep& sweep) {
  for (const YamlValue& each : value.list()) {
    parse_strategy(each);  // refuses unknown ones
    sweep.strategies.push_back(flow_text(each.node()));
  }
  if (sweep.strategies.empty()) value.fail("expected at least one strategy");
}

void read_plot(const YamlValue& value, Sweep& sweep) {
  YamlMap map = value.map();
  const YamlValue x = map.required("x");
  map.finish();
  std::vector<std::string_view> names;
  for (const SweepAxis& axis : sweep.axes) names.push_back(axis.name);
  sweep.plot_axis = x.word_of(names);
}

}  // namespace

Sweep load_sweep(const std::string& path) {
  const YamlValue file = YamlValue::from_file(path);
  YamlMap map = file.map();
  Sweep sweep;
  sweep.path = path;
  sweep.name = fs::path(path).stem().string();
  read_job(map.required("job"), fs::path(path).parent_path().string(), sweep);
  const YamlValue grid = map.required("grid");
  for (const auto& [name, axis] : grid.map().entries()) sweep.axes.push_back(read_axis(name, axis));
  if (sweep.axes.empty()) grid.fail("expected at least one axis");
  std::size_t points = 1;
  for (const SweepAxis& axis : sweep.axes) {
    points *= axis.labels.size();
    if (points > kMostPoints) grid.fail(fmt::format("more than {} points", kMostPoints));
  }
  if (const auto list = map.optional("strategies")) read_strategies(*list, sweep);
  if (const auto best = map.optional("simulate"))
    sweep.simulate = static_cast<std::size_t>(best->integer_in(0, 1000));
  if (const auto prices = map.optional("prices")) read_prices(*prices, sweep);
  if (const auto refits = map.optional("refits_per_day"))
    sweep.refits_per_day = read_amount(*refits, 1e9);
  if (const auto plot = map.optional("plot")) read_plot(*plot, sweep);
  map.finish();
  return sweep;
}

std::size_t point_count(const Sweep& sweep) {
  std::size_t points = 1;
  for (const SweepAxis& axis : sweep.axes) points *= axis.labels.size();
  return points;
}

SweepPoint make_point(const Sweep& sweep, std::size_t number) {
  SweepPoint point;
  point.number = number;
  point.prices = sweep.prices;
  const YAML::Node job = YAML::Clone(sweep.job);
  std::size_t rest = number;
  std::size_t combinations = point_count(sweep);
  for (const SweepAxis& axis : sweep.axes) {
    combinations /= axis.labels.size();
    const std::size_t step = rest / combinations;
    rest %= combinations;
    point.labels.push_back(axis.labels[step]);
    for (std::size_t k = 0; k < axis.keys.size(); ++k) {
      const std::string& key = axis.keys[k];
      const YAML::Node& value = axis.values[k][step];
      if (key.starts_with(kPricePrefix))
        point.prices.*price_of(key.substr(kPricePrefix.size())) = value.as<double>();
      else
        set_at(sweep, job, key, value);
    }
  }
  YAML::Emitter out;
  out << job;
  point.job_text = std::string(out.c_str()) + "\n";
  return point;
}

std::string point_key(const Sweep& sweep, const SweepPoint& point) {
  std::string text = fmt::format("{} {}\n{}\n{}\n{}\n", TRANSLOAD_VERSION, kResultsVersion,
                                 point.job_text, sweep.base_folder, sweep.simulate);
  for (const std::string& strategy : sweep.strategies) text += strategy + "\n";
  for (const PriceKey& key : kPrices)
    text += fmt::format("{} {}\n", key.name, point.prices.*key.price);
  text += fmt::format("{}\n", sweep.refits_per_day);
  return to_string(digest_of(std::as_bytes(std::span(text))));
}

std::string point_title(const Sweep& sweep, const SweepPoint& point) {
  std::string title;
  for (std::size_t i = 0; i < sweep.axes.size(); ++i)
    title += fmt::format("{}{} {}", i == 0 ? "" : ", ", sweep.axes[i].name, point.labels[i]);
  return title;
}

}  // namespace transload
