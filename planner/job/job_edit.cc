#include "planner/job/job_edit.h"

#include <fmt/format.h>

#include <charconv>

#include "common/error.h"

namespace transload {
namespace {

// One step of a path: a key of a map, or an index of a list.
struct Step {
  std::string key;
  std::size_t index = 0;
  bool is_index() const { return key.empty(); }
};

[[noreturn]] void fail(const std::string& path, const std::string& problem) {
  throw InputError({"", 0, path}, problem);
}

std::vector<Step> steps_of(const std::string& path) {
  std::vector<Step> steps;
  std::size_t at = 0;
  while (at < path.size()) {
    if (path[at] == '[') {
      const std::size_t close = path.find(']', at);
      Step step;
      const char* const begin = path.data() + at + 1;
      const char* const end = path.data() + (close == std::string::npos ? path.size() : close);
      const auto [rest, error] = std::from_chars(begin, end, step.index);
      if (close == std::string::npos || error != std::errc{} || rest != end)
        fail(path, "expected a list index in brackets");
      steps.push_back(step);
      at = close + 1;
    } else {
      if (path[at] == '.') ++at;
      const std::size_t end = std::min(path.find_first_of(".[", at), path.size());
      if (end == at) fail(path, "expected a key");
      steps.push_back({path.substr(at, end - at), 0});
      at = end;
    }
  }
  if (steps.empty()) fail(path, "expected a key");
  return steps;
}

YAML::Node parsed(const std::string& text, const std::string& name) {
  return YamlValue::from_text(text, name).node();
}

// yaml-cpp nodes are references: assigning one to another changes the tree, so the way down is
// walked by recursion.
void apply(YAML::Node node, std::span<const Step> steps, const JobEdit& edit) {
  const Step& step = steps.front();
  if (step.is_index()) {
    if (!node.IsSequence() || step.index >= node.size())
      fail(edit.key, fmt::format("the job has no entry {} there", step.index));
    if (steps.size() > 1) return apply(node[step.index], steps.subspan(1), edit);
    if (edit.value.empty()) fail(edit.key, "list entries cannot be taken away");
    node[step.index] = parsed(edit.value, edit.key);
    return;
  }
  if (!node.IsMap()) fail(edit.key, fmt::format("{} is no key of a map there", step.key));
  if (steps.size() == 1) {
    if (edit.value.empty())
      node.remove(step.key);
    else
      node[step.key] = parsed(edit.value, edit.key);
    return;
  }
  if (!node[step.key]) {
    if (edit.value.empty()) return;
    node[step.key] = YAML::Node(YAML::NodeType::Map);
  }
  apply(node[step.key], steps.subspan(1), edit);
}

}  // namespace

std::string edited_job(const std::string& text, std::span<const JobEdit> edits) {
  YAML::Node root = parsed(text, "job");
  if (!root.IsMap()) throw InputError("a job is a map of keys");
  for (const JobEdit& edit : edits) apply(root, steps_of(edit.key), edit);
  YAML::Emitter out;
  out << root;
  return std::string(out.c_str()) + "\n";
}

std::optional<YamlValue> value_at(const std::string& text, const std::string& key,
                                  const std::string& name) {
  std::optional<YamlValue> value(YamlValue::from_text(text, name));
  for (const Step& step : steps_of(key)) {
    std::optional<YamlValue> next;
    if (step.is_index() && value->is_list()) {
      const std::vector<YamlValue> items = value->list();
      if (step.index < items.size()) next.emplace(items[step.index]);
    } else if (!step.is_index() && value->is_map()) {
      YamlMap map = value->map();
      if (const auto child = map.optional(step.key)) next.emplace(*child);
    }
    // Not assigned: assigning a YAML node changes the tree that it points into.
    value.reset();
    if (!next) return std::nullopt;
    value.emplace(*next);
  }
  return value;
}

std::string index_text(std::span<const std::int32_t> numbers) {
  std::string text = "[";
  for (std::size_t begin = 0; begin < numbers.size();) {
    std::size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += fmt::format("{}{}", begin > 0 ? ", " : "", numbers[begin]);
    if (end > begin + 1) text += fmt::format("-{}", numbers[end - 1]);
    begin = end;
  }
  return text + "]";
}

}  // namespace transload
