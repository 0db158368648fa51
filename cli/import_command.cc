// transload model import: what users have, as a model or as a part of a job.
#include "cli/import_command.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/files.h"
#include "cli/table.h"
#include "common/error.h"
#include "models/importers/importers.h"

namespace transload {
namespace {

struct Arguments {
  std::string path;
  std::string output;
  std::string dtype;
  std::vector<std::string> set;
  int launch = 0;
  ImportOptions options;
};

void read_answers(Arguments& arguments) {
  for (const std::string& answer : arguments.set) {
    const std::size_t equals = answer.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == answer.size())
      throw InputError({"", 0, "--set"}, "expected key=value, found " + answer);
    if (!arguments.options.set.emplace(answer.substr(0, equals), answer.substr(equals + 1)).second)
      throw InputError({"", 0, "--set"}, answer.substr(0, equals) + " is given twice");
  }
  if (!arguments.dtype.empty()) {
    arguments.options.dtype = parse_dtype(arguments.dtype);
    if (!arguments.options.dtype)
      throw InputError({"", 0, "--dtype"},
                       "expected a dtype such as bf16, found " + arguments.dtype);
  }
  if (arguments.launch != 0) arguments.options.launch = arguments.launch;
}

nlohmann::json sharding_json(const std::optional<Sharding>& sharding) {
  if (!sharding) return nullptr;
  nlohmann::json mesh = nlohmann::json::array();
  for (const MeshAxis& axis : sharding->mesh)
    mesh.push_back({{"name", axis.name}, {"size", axis.size}});
  nlohmann::json placements = nlohmann::json::array();
  for (const AxisPlacement& placement : sharding->placements)
    placements.push_back(
        {{"dim", placement.shards() ? nlohmann::json(placement.dim) : nlohmann::json(nullptr)},
         {"split_factor", placement.split_factor},
         {"reading", placement.reading == StridedReading::kFactorFirst ? "factor-first"
                     : placement.reading == StridedReading::kUnflatten ? "unflatten"
                                                                       : "unstated"}});
  return {
      {"mesh", std::move(mesh)}, {"placements", std::move(placements)}, {"ranks", sharding->ranks}};
}

nlohmann::json import_json(const Imported& imported) {
  nlohmann::json json = {{"kind", import_kind_name(imported.kind)},
                         {"understood", imported.understood},
                         {"ignored", imported.ignored},
                         {"asked", imported.asked}};
  if (imported.model) {
    std::int64_t bytes = 0;
    for (const Parameter& parameter : imported.model->parameters)
      bytes += element_count(parameter) * dtype_bits(parameter.dtype) / 8;
    json["name"] = imported.model->name;
    json["family"] = imported.model->family;
    json["dtype"] = dtype_name(imported.model->dtype);
    json["parameters"] = parameter_count(*imported.model);
    json["main_parameters"] = parameter_count(*imported.model, ModelPart::kMain);
    json["bytes"] = bytes;
    json["tensors"] = imported.model->parameters.size();
  } else if (!imported.tensors.empty()) {
    json["tensors"] = imported.tensors.size();
    json["layouts"] = nlohmann::json::array();
    for (const ImportedTensor& tensor : imported.tensors)
      json["layouts"].push_back({{"name", tensor.name},
                                 {"shape", tensor.shape},
                                 {"dtype", tensor.dtype ? nlohmann::json(dtype_name(*tensor.dtype))
                                                        : nlohmann::json(nullptr)},
                                 {"source", sharding_json(tensor.source)},
                                 {"destination", sharding_json(tensor.destination)}});
  }
  if (!imported.sides.empty()) json["sides"] = nlohmann::json::array();
  for (const ImportedSide& side : imported.sides) {
    nlohmann::json parallel = nlohmann::json::object();
    for (const auto& [key, size] : side.parallel) parallel[key] = size;
    nlohmann::json settings = nlohmann::json::object();
    for (const auto& [key, value] : side.settings) settings[key] = value;
    json["sides"].push_back(
        {{"role", side.role},
         {"engine", side.engine},
         {"origin", side.origin},
         {"model", side.model},
         {"gpus", side.gpus ? nlohmann::json(*side.gpus) : nlohmann::json(nullptr)},
         {"parallel", std::move(parallel)},
         {"settings", std::move(settings)},
         {"pp_layout", side.pp_layout},
         {"nodes", side.nodes},
         {"dtype", side.dtype}});
  }
  return json;
}

void print_list(Session& session, const char* heading, const std::vector<std::string>& sentences) {
  if (sentences.empty()) return;
  session.out << heading << '\n';
  for (const std::string& sentence : sentences) session.out << "  " << sentence << '\n';
}

int import_path(Session& session, Arguments& arguments) {
  read_answers(arguments);
  if (!arguments.output.empty()) require_writable(arguments.output, "-o");
  const Imported imported = import_file(arguments.path, arguments.options);
  if (!arguments.output.empty()) write_text_file(import_text(imported), arguments.output);
  if (session.json) {
    print_json(session, import_json(imported));
    return kDone;
  }
  session.out << fmt::format("{}: {}\n", imported.path, import_kind_name(imported.kind));
  print_list(session, "understood", imported.understood);
  print_list(session, "ignored", imported.ignored);
  print_list(session, "asked", imported.asked);
  if (!arguments.output.empty()) session.out << "written: " << arguments.output << '\n';
  return kDone;
}

}  // namespace

void add_model_import(CLI::App& model, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(
      model, session, "import",
      "Configs, indexes, launch scripts, recipes and layout dumps, as a model or a part of a job",
      "model import examples/vllm-serve.sh -o destination.yaml");
  command->add_option("PATH", arguments->path, "The file, or the folder of a checkpoint")
      ->required();
  command->add_option("-o,--output", arguments->output,
                      "Write the model file, or the part of a job");
  command
      ->add_option("--set", arguments->set,
                   "Answer what the file leaves open, as key=value; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--family", arguments->options.family,
                      "The family, where a config names two architectures");
  command->add_option("--dtype", arguments->dtype, "The type of weights, where no file states it");
  command->add_option("--side", arguments->options.role, "Of a DTensor dump: source or destination")
      ->capture_default_str();
  command
      ->add_option("--first-rank", arguments->options.first_rank,
                   "Of a DTensor dump: added to its ranks")
      ->capture_default_str();
  command->add_option("--system", arguments->options.system,
                      "Beside an M2N model or layers file: the M2N system file");
  command->add_option("--launch", arguments->launch, "Which of several launch lines, from 1")
      ->check(CLI::PositiveNumber);
  on_chosen(command, session, [arguments, &session] { return import_path(session, *arguments); });
}

}  // namespace transload
