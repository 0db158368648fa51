// Kubernetes manifests whose containers launch vLLM or SGLang.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "common/error.h"
#include "common/yaml.h"
#include "models/importers/readers.h"
#include "models/importers/serve.h"
#include "models/importers/side_text.h"

namespace transload::importing {
namespace {

struct Document {
  std::string text;
  bool empty = true;  // comments and blank lines only
};

// Documents between lines of "---", each behind as many blank lines as stood before it, so that
// line numbers in messages are those of the file.
std::vector<Document> split_documents(const std::string& text) {
  std::vector<Document> documents(1);
  std::string blank;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1);
    const std::string line = text.substr(at, end - at + 1);
    at = end + 1;
    blank += '\n';
    if (line.starts_with("---")) {
      documents.push_back({blank, true});
      continue;
    }
    documents.back().text += line;
    const std::size_t first = line.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && line[first] != '#') documents.back().empty = false;
  }
  return documents;
}

// The value at a path of keys, if every step is there. By recursion: assigning one YAML node to
// another would change the document.
std::optional<YamlValue> at_path(const YamlValue& value, const std::vector<std::string>& keys,
                                 std::size_t depth = 0) {
  if (depth == keys.size()) return value;
  if (!value.is_map()) return std::nullopt;
  YamlMap map = value.map();
  const auto next = map.optional(keys[depth]);
  if (!next) return std::nullopt;
  return at_path(*next, keys, depth + 1);
}

std::map<std::string, std::string> environment_of(const YamlValue& container) {
  std::map<std::string, std::string> variables;
  if (const auto list = at_path(container, {"env"}); list && list->is_list())
    for (const YamlValue& item : list->list()) {
      YamlMap entry = item.map();
      const auto value = entry.optional("value");
      if (value && value->is_scalar()) variables[entry.required("name").text()] = value->text();
    }
  return variables;
}

// `command` and `args`: either the words of one command, or a shell with a script behind -c.
Script script_of(const YamlValue& container, const std::string& path) {
  const std::map<std::string, std::string> variables = environment_of(container);
  std::vector<YamlValue> words;
  for (const char* key : {"command", "args"})
    if (const auto list = at_path(container, {key}))
      for (const YamlValue& word : list->list()) words.push_back(word);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string option = words[i].text();
    if (option.size() < 2 || option[0] != '-' || option.back() != 'c' || option[1] == '-') continue;
    // A block scalar begins on the line behind its indicator.
    return read_script(words[i + 1].text(), path, variables, words[i + 1].place().line + 1);
  }
  Script script;
  Command command;
  for (const YamlValue& word : words) {
    // A word may name variables of the container as $(NAME).
    const Script one = read_script("\"" + word.text() + "\"\n", path, variables);
    const bool plain = one.commands.size() == 1 && one.commands[0].words.size() == 1 &&
                       word.text().find_first_of("\"\\`") == std::string::npos;
    command.words.push_back(
        {plain ? one.commands[0].words[0].text : word.text(), word.place().line});
  }
  command.line = command.words.empty() ? 0 : command.words[0].line;
  script.commands.push_back(std::move(command));
  return script;
}

// GPUs that all pods together ask for, where the manifest says both numbers.
void compare_gpus(const YamlValue& document, const YamlValue& container, const ImportedSide& side,
                  Imported& imported) {
  const auto limit = at_path(container, {"resources", "limits", "nvidia.com/gpu"});
  if (!limit) return;
  const std::int64_t per_pod = limit->integer_in(1, kMaxSize);
  const auto replicas = at_path(document, {"spec", "replicas"});
  const std::int64_t pods = replicas ? replicas->integer_in(1, kMaxSize) : 1;
  if (pods * per_pod == *side.gpus)
    imported.understood.push_back(
        fmt::format("{} pods of {} GPUs hold the one engine", pods, per_pod));
  else if (pods * per_pod % *side.gpus == 0)
    imported.asked.push_back(
        fmt::format("gpus: {} pods of {} GPUs are {} engines of {}; write the destination's gpus",
                    pods, per_pod, pods * per_pod / *side.gpus, *side.gpus));
  else
    limit->fail(fmt::format("{} pods of {} GPUs do not make engines of {} GPUs ({})", pods, per_pod,
                            *side.gpus, sizes_text(side)));
}

}  // namespace

Imported import_kubernetes(const Source& source) {
  Imported imported;
  std::vector<std::string> others;
  for (const Document& part : split_documents(source.text)) {
    if (part.empty) continue;
    const YamlValue document = YamlValue::from_text(part.text, source.path);
    const auto kind = at_path(document, {"kind"});
    const std::string kind_text = kind && kind->is_scalar() ? kind->text() : "a document";
    std::size_t found = 0;
    for (const std::vector<std::string>& place :
         {std::vector<std::string>{"spec", "template", "spec", "containers"},
          {"spec", "leaderWorkerTemplate", "leaderTemplate", "spec", "containers"},
          {"spec", "containers"}}) {
      const auto containers = at_path(document, place);
      if (!containers) continue;
      for (const YamlValue& container : containers->list()) {
        for (const Launch& launch : find_launches(script_of(container, source.path))) {
          const auto name = at_path(container, {"name"});
          const std::string origin = fmt::format(
              "{} {}, line {}", kind_text, name ? name->text() : "container", launch.command.line);
          imported.sides.push_back(read_launch(launch, source.path, origin, imported));
          compare_gpus(document, container, imported.sides.back(), imported);
          ++found;
        }
      }
    }
    if (found == 0) others.push_back(kind_text);
  }
  if (imported.sides.empty())
    throw InputError({source.path, 0, ""}, "no container of this manifest launches vLLM or SGLang");
  if (!others.empty())
    imported.ignored.push_back(counted(others.size(), "document") +
                               " without a launch: " + some_of(others));
  imported.ignored.push_back("images, volumes, environment and scheduling: they place no weights");
  imported.asked.push_back("topology, source");
  return imported;
}

}  // namespace transload::importing
