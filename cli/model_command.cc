// transload model: the library of models and what each consists of.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/import_command.h"
#include "cli/model_params.h"
#include "cli/table.h"
#include "common/units.h"
#include "models/library.h"
#include "models/quantised.h"

namespace transload {
namespace {

// A name of the library or the path of a model file.
Model model_called(const std::string& name) {
  return load_model(YamlValue(YAML::Node(name), std::make_shared<const std::string>(), "model"),
                    "");
}

std::int64_t bytes_of(std::int64_t elements, DType dtype) {
  return elements * dtype_bits(dtype) / 8;
}

std::int64_t model_bytes(const Model& model) {
  std::int64_t bytes = 0;
  for (const Parameter& parameter : model.parameters)
    bytes += bytes_of(element_count(parameter), parameter.dtype);
  return bytes;
}

// 684489845504 -> "684,489,845,504".
std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::ptrdiff_t sign = number < 0 ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > sign; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string bytes_text(std::int64_t bytes) {
  return fmt::format("{} ({})", grouped(bytes), format_bytes(static_cast<double>(bytes)));
}

std::int64_t tensor_count(const Model& model) {
  return static_cast<std::int64_t>(model.parameters.size());
}

struct PartSize {
  ModelPart part = ModelPart::kMain;
  std::int64_t parameters = 0;
  std::int64_t tensors = 0;
};

// The parts that the model has.
std::vector<PartSize> part_sizes(const Model& model) {
  std::vector<PartSize> sizes;
  for (const ModelPart part : kModelParts) {
    PartSize size{part, 0, 0};
    for (const Parameter& parameter : model.parameters) {
      if (parameter.part != part) continue;
      size.parameters += element_count(parameter);
      ++size.tensors;
    }
    if (size.tensors > 0) sizes.push_back(size);
  }
  return sizes;
}

// What the contract asks for of every model.
nlohmann::json size_json(const Model& model) {
  return {{"name", model.name},
          {"family", model.family},
          {"parameters", parameter_count(model)},
          {"main_parameters", parameter_count(model, ModelPart::kMain)},
          {"bytes", model_bytes(model)},
          {"tensors", model.parameters.size()}};
}

int list_models(Session& session) {
  const std::vector<std::string> names = model_library();
  if (session.json) {
    nlohmann::json sizes = nlohmann::json::array();
    for (const std::string& name : names) sizes.push_back(size_json(load_library_model(name)));
    print_json(session, {{"models", names}, {"sizes", std::move(sizes)}});
    return kDone;
  }
  Table table({"model", "parameters", "main", "tensors", "family"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  for (const std::string& name : names) {
    const Model model = load_library_model(name);
    table.add({name, grouped(parameter_count(model)),
               grouped(parameter_count(model, ModelPart::kMain)), grouped(tensor_count(model)),
               model.family});
  }
  session.out << table.text();
  return kDone;
}

struct QuantisedSize {
  std::int64_t bytes = 0;
  std::int64_t tensors = 0;
  std::int64_t scales = 0;  // elements
};

QuantisedSize quantised_size(const Model& model, const std::string& format) {
  const std::vector<StoredTensor> tensors = quantised_tensors(model, quantised_format(format));
  QuantisedSize size;
  for (const StoredTensor& tensor : tensors)
    size.bytes += bytes_of(element_count(tensor), tensor.dtype);
  size.tensors = static_cast<std::int64_t>(tensors.size());
  size.scales = scale_count(tensors);
  return size;
}

nlohmann::json published_json(const Model& model) {
  const PublishedTotal& published = model.published;
  if (published.parameters == 0) return nullptr;
  nlohmann::json counts = nlohmann::json::array();
  for (const ModelPart part : published.counts) counts.push_back(model_part_name(part));
  return {{"parameters", published.parameters},
          {"tensors",
           published.tensors == 0 ? nlohmann::json(nullptr) : nlohmann::json(published.tensors)},
          {"counts", std::move(counts)},
          {"counted_parameters", counted_parameters(model)},
          {"difference", published.parameters - counted_parameters(model)},
          {"known_difference", published.known_difference},
          {"source", published.source},
          {"note", published.note}};
}

void show_json(Session& session, const Model& model, const std::string& quantised) {
  nlohmann::json json = size_json(model);
  nlohmann::json parts = nlohmann::json::object();
  for (const PartSize& size : part_sizes(model))
    parts[model_part_name(size.part)] = {{"parameters", size.parameters},
                                         {"tensors", size.tensors}};
  json["parts"] = std::move(parts);
  json["dtype"] = dtype_name(model.dtype);
  json["hub_id"] = model.hub_id.empty() ? nlohmann::json(nullptr) : nlohmann::json(model.hub_id);
  json["layers"] = model.layers;
  json["mtp_layers"] = model.mtp_layers;
  json["experts"] = model.experts;
  json["tied_embeddings"] = model.tied_embeddings;
  json["published"] = published_json(model);
  json["sources"] = model.sources;
  json["unverified"] = model.unverified;
  if (!quantised.empty()) {
    const QuantisedSize size = quantised_size(model, quantised);
    json["quantised"] = {{"format", quantised},
                         {"bytes", size.bytes},
                         {"tensors", size.tensors},
                         {"scale_elements", size.scales}};
  }
  print_json(session, json);
}

std::string published_text(const Model& model) {
  const PublishedTotal& published = model.published;
  if (published.parameters == 0) return "no published total is known";
  std::vector<const char*> parts;
  for (const ModelPart part : published.counts) parts.push_back(model_part_name(part));
  const std::int64_t difference = published.parameters - counted_parameters(model);
  std::string text =
      fmt::format("{} ({}): ", grouped(published.parameters), fmt::join(parts, " + "));
  if (difference == 0)
    text += "equal";
  else
    text += fmt::format("{} {} parameters than ours, {}", grouped(std::abs(difference)),
                        difference > 0 ? "more" : "fewer",
                        difference == published.known_difference ? "as noted" : "unexplained");
  if (published.tensors != 0)
    text += fmt::format("; {} tensors, {}", grouped(published.tensors),
                        published.tensors == tensor_count(model) ? "equal" : "unlike ours");
  return text;
}

void show_text(Session& session, const Model& model, const std::string& quantised) {
  Facts facts;
  facts.add("parameters", grouped(parameter_count(model)));
  for (const PartSize& size : part_sizes(model))
    facts.add(fmt::format("of them {}", model_part_name(size.part)),
              fmt::format("{} in {} tensors", grouped(size.parameters), grouped(size.tensors)));
  facts.add("published", published_text(model));
  if (!model.published.source.empty()) facts.add("", model.published.source);
  if (!model.published.note.empty()) facts.add("", model.published.note);
  facts.add("bytes", bytes_text(model_bytes(model)));
  facts.add("tensors", grouped(tensor_count(model)));
  facts.add("layers", fmt::format("{}, experts {}", model.layers, model.experts));
  if (!quantised.empty()) {
    const QuantisedSize size = quantised_size(model, quantised);
    facts.add(quantised, bytes_text(size.bytes));
    facts.add("", fmt::format("{} tensors, {} of their elements are scales", grouped(size.tensors),
                              grouped(size.scales)));
  }
  if (!model.hub_id.empty()) facts.add("hub", model.hub_id);
  for (const std::string& source : model.sources) facts.add("read from", source);
  if (!model.unverified.empty())
    facts.add("unverified", fmt::format("{}", fmt::join(model.unverified, ", ")));
  session.out << fmt::format("{}: {}, {}\n", model.name, model.family, dtype_name(model.dtype))
              << facts.text();
}

struct ShowArguments {
  std::string name;
  std::string quantised;
};

int show_model(Session& session, const ShowArguments& arguments) {
  const Model model = model_called(arguments.name);
  if (session.json)
    show_json(session, model, arguments.quantised);
  else
    show_text(session, model, arguments.quantised);
  return kDone;
}

std::string quantised_help() {
  std::vector<std::string_view> names;
  for (const QuantisedFormat& format : kQuantisedFormats) names.push_back(format.name);
  return fmt::format("As a checkpoint in this format stores it: {}", fmt::join(names, ", "));
}

void add_model_show(CLI::App& model, Session& session) {
  auto arguments = std::make_shared<ShowArguments>();
  CLI::App* show = add_command(model, session, "show", "Size of a model, beside what is published",
                               "model show qwen3-30b-a3b");
  show->add_option("NAME", arguments->name, "Name in the library, or a model file")->required();
  show->add_option("--quantised", arguments->quantised, quantised_help());
  on_chosen(show, session, [arguments, &session] { return show_model(session, *arguments); });
}

void add_model_params(CLI::App& model, Session& session) {
  auto arguments = std::make_shared<ParamsArguments>();
  CLI::App* params = add_command(model, session, "params", "Every parameter of a model",
                                 "model params qwen3-30b-a3b --filter '*layers.0.*' --limit 20");
  params->add_option("NAME", arguments->name, "Name in the library, or a model file")->required();
  params->add_option("--filter", arguments->filter, "Only tensors of this name (name or glob)");
  CLI::Option* logical = params->add_flag(
      "--logical", arguments->logical, "The tensors that are planned: parts of fused ones apart");
  params->add_option("--quantised", arguments->quantised, quantised_help())->excludes(logical);
  params->add_option("--limit", arguments->limit, "List at most so many parameters")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  on_chosen(params, session, [arguments, &session] {
    return list_parameters(session, model_called(arguments->name), *arguments);
  });
}

}  // namespace

void add_model(CLI::App& program, Session& session) {
  CLI::App* model = program.add_subcommand("model", "The library of models");
  model->require_subcommand(1);
  model->footer("Example:\n  transload model list");
  CLI::App* list = add_command(*model, session, "list", "Names and sizes", "model list");
  on_chosen(list, session, [&session] { return list_models(session); });
  add_model_show(*model, session);
  add_model_params(*model, session);
  add_model_import(*model, session);
}

}  // namespace transload
