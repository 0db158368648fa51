// transload model: the library of models and what each consists of.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/table.h"
#include "common/units.h"
#include "models/library.h"

namespace transload {
namespace {

// A name of the library or the path of a model file.
Model model_called(const std::string& name) {
  return load_model(YamlValue(YAML::Node(name), std::make_shared<const std::string>(), "model"),
                    "");
}

std::int64_t parameter_bytes(const Parameter& parameter) {
  return element_count(parameter) * dtype_bits(parameter.dtype) / 8;
}

std::int64_t model_bytes(const Model& model) {
  std::int64_t bytes = 0;
  for (const Parameter& parameter : model.parameters) bytes += parameter_bytes(parameter);
  return bytes;
}

std::string parts_text(const std::vector<ModelPart>& parts) {
  std::string text;
  for (const ModelPart part : parts)
    text += (text.empty() ? "" : " + ") + std::string(model_part_name(part));
  return text;
}

// 684489845504 -> "684,489,845,504".
std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::ptrdiff_t sign = number < 0 ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > sign; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

nlohmann::json published_json(const Model& model) {
  const PublishedTotal& published = model.published;
  if (published.parameters == 0) return nullptr;
  nlohmann::json counts = nlohmann::json::array();
  for (const ModelPart part : published.counts) counts.push_back(model_part_name(part));
  return {{"parameters", published.parameters},
          {"counts", std::move(counts)},
          {"counted_parameters", counted_parameters(model)},
          {"difference", published.parameters - counted_parameters(model)},
          {"known_difference", published.known_difference},
          {"source", published.source},
          {"note", published.note}};
}

int list_models(Session& session) {
  const std::vector<std::string> names = model_library();
  if (session.json) {
    print_json(session, {{"models", names}});
    return kDone;
  }
  Table table({"model", "parameters", "main", "tensors", "family"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  for (const std::string& name : names) {
    const Model model = load_library_model(name);
    table.add({name, grouped(parameter_count(model)),
               grouped(parameter_count(model, ModelPart::kMain)),
               grouped(static_cast<std::int64_t>(model.parameters.size())), model.family});
  }
  session.out << table.text();
  return kDone;
}

std::string published_text(const Model& model) {
  const PublishedTotal& published = model.published;
  if (published.parameters == 0) return "no published total is known";
  const std::int64_t difference = published.parameters - counted_parameters(model);
  std::string text =
      fmt::format("{} ({}): ", grouped(published.parameters), parts_text(published.counts));
  if (difference == 0)
    text += "equal";
  else
    text += fmt::format("{} {} parameters than ours, {}", grouped(std::abs(difference)),
                        difference > 0 ? "more" : "fewer",
                        difference == published.known_difference ? "as noted" : "unexplained");
  return text;
}

int show_model(Session& session, const std::string& name) {
  const Model model = model_called(name);
  if (session.json) {
    print_json(session, {{"name", model.name},
                         {"family", model.family},
                         {"dtype", dtype_name(model.dtype)},
                         {"parameters", parameter_count(model)},
                         {"main_parameters", parameter_count(model, ModelPart::kMain)},
                         {"bytes", model_bytes(model)},
                         {"tensors", model.parameters.size()},
                         {"layers", model.layers},
                         {"experts", model.experts},
                         {"published", published_json(model)},
                         {"sources", model.sources}});
    return kDone;
  }
  Facts facts;
  facts.add("parameters", grouped(parameter_count(model)));
  facts.add("of them main", grouped(parameter_count(model, ModelPart::kMain)));
  facts.add("published", published_text(model));
  if (!model.published.source.empty()) facts.add("", model.published.source);
  if (!model.published.note.empty()) facts.add("", model.published.note);
  facts.add("bytes", fmt::format("{} ({})", grouped(model_bytes(model)),
                                 format_bytes(static_cast<double>(model_bytes(model)))));
  facts.add("tensors", grouped(static_cast<std::int64_t>(model.parameters.size())));
  facts.add("layers", fmt::format("{}, experts {}", model.layers, model.experts));
  for (const std::string& source : model.sources) facts.add("read from", source);
  session.out << fmt::format("{}: {}, {}\n", model.name, model.family, dtype_name(model.dtype))
              << facts.text();
  return kDone;
}

struct ListArguments {
  std::string name;
  std::size_t limit = 100'000;
};

std::string shape_text(const Parameter& parameter) {
  std::string text;
  for (const std::int64_t extent : parameter.shape)
    text += fmt::format("{}{}", text.empty() ? "" : " x ", extent);
  return text.empty() ? "scalar" : text;
}

int list_parameters(Session& session, const ListArguments& arguments) {
  const Model model = model_called(arguments.name);
  const std::size_t shown = std::min(arguments.limit, model.parameters.size());
  const bool truncated = shown < model.parameters.size();
  if (session.json) {
    nlohmann::json list = nlohmann::json::array();
    for (std::size_t i = 0; i < shown; ++i) {
      const Parameter& parameter = model.parameters[i];
      list.push_back({{"name", parameter.name},
                      {"shape", parameter.shape},
                      {"dtype", dtype_name(parameter.dtype)},
                      {"part", model_part_name(parameter.part)},
                      {"elements", element_count(parameter)},
                      {"bytes", parameter_bytes(parameter)}});
    }
    print_json(session, {{"parameters", std::move(list)},
                         {"count", model.parameters.size()},
                         {"truncated", truncated}});
    return kDone;
  }
  Table table({"name", "shape", "dtype", "part", "bytes"},
              {Align::kLeft, Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight});
  for (std::size_t i = 0; i < shown; ++i) {
    const Parameter& parameter = model.parameters[i];
    table.add({parameter.name, shape_text(parameter), std::string(dtype_name(parameter.dtype)),
               model_part_name(parameter.part),
               format_bytes(static_cast<double>(parameter_bytes(parameter)))});
  }
  session.out << table.text();
  if (truncated)
    session.out << fmt::format("... {} of {} shown; --limit shows more\n", shown,
                               model.parameters.size());
  return kDone;
}

}  // namespace

void add_model(CLI::App& program, Session& session) {
  CLI::App* model = program.add_subcommand("model", "The library of models");
  model->require_subcommand(1);
  model->footer("Example:\n  transload model list");
  CLI::App* list = add_command(*model, session, "list", "Names and sizes", "model list");
  on_chosen(list, session, [&session] { return list_models(session); });

  auto name = std::make_shared<std::string>();
  CLI::App* show = add_command(*model, session, "show", "Size of a model, beside what is published",
                               "model show qwen3-30b-a3b");
  show->add_option("NAME", *name, "Name in the library, or a model file")->required();
  on_chosen(show, session, [name, &session] { return show_model(session, *name); });

  auto arguments = std::make_shared<ListArguments>();
  CLI::App* params = add_command(*model, session, "params", "Every parameter of a model",
                                 "model params qwen3-30b-a3b --limit 20");
  params->add_option("NAME", arguments->name, "Name in the library, or a model file")->required();
  params->add_option("--limit", arguments->limit, "List at most so many parameters")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  on_chosen(params, session,
            [arguments, &session] { return list_parameters(session, *arguments); });
}

}  // namespace transload
