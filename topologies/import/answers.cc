#include <fmt/format.h>

#include <array>

#include "common/error.h"
#include "common/yaml.h"
#include "topologies/import/cluster.h"

namespace transload {
namespace {

constexpr std::array<std::string_view, 10> kKeys = {
    "gpu",  "nic",   "nvlink",           "nvlink_domain", "gpus",
    "nics", "nodes", "oversubscription", "nics_per_gpu",  "visible",
};

constexpr std::int64_t kMaxCount = std::int64_t{1} << 20;

YamlValue value_of(const std::string& key, const std::string& text) {
  return {YAML::Node(text), std::make_shared<const std::string>(), "--set " + key};
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void apply(const std::string& key, const std::string& text, ImportAnswers& answers) {
  const YamlValue value = value_of(key, text);
  if (key.starts_with("pin.")) {
    answers.pins.push_back({key.substr(4), split(text)});
  } else if (key.starts_with("card.")) {
    answers.cards[key.substr(5)] = text;
  } else if (key == "gpu") {
    answers.gpu = text;
  } else if (key == "nic") {
    answers.nic_rate = value.rate();
    if (answers.nic_rate == 0) value.fail("expected a rate above 0");
  } else if (key == "nvlink") {
    answers.nvlink_rate = value.rate();
  } else if (key == "nvlink_domain") {
    answers.nvlink_domain = value.word_of({"host", "all"});
  } else if (key == "gpus") {
    answers.gpus = value.integer_in(1, kMaxCount);
  } else if (key == "nics_per_gpu") {
    answers.nics_per_gpu = value.integer_in(1, 64);
  } else if (key == "nodes") {
    answers.nodes = value.integer_in(1, kMaxCount);
  } else if (key == "oversubscription") {
    answers.oversubscription = value.number();
    if (answers.oversubscription < 1) value.fail("expected a factor of at least 1, found " + text);
  } else if (key == "visible") {
    answers.visible = split(text);
  } else if (key == "nics") {
    answers.nic_filter = text;
  } else {
    const auto near = nearest_word(key, {kKeys.begin(), kKeys.end()});
    throw InputError(fmt::format("--set {}: unknown key{}", key,
                                 near ? fmt::format(" (did you mean {}?)", *near) : ""));
  }
}

}  // namespace

ImportAnswers read_answers(const std::vector<std::string>& words) {
  ImportAnswers answers;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw InputError("--set: expected key=value, such as nic=400Gb/s, found " + word);
    const std::string key = word.substr(0, equals);
    if (!answers.given.emplace(key, word.substr(equals + 1)).second)
      throw InputError(fmt::format("--set {}: given twice", key));
    apply(key, word.substr(equals + 1), answers);
  }
  return answers;
}

}  // namespace transload
