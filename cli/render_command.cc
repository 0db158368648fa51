// transload render: pictures of a plan.
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/subject.h"
#include "common/yaml.h"
#include "planner/schedule/render/render.h"

namespace transload {
namespace {

struct Arguments {
  std::string path;
  std::string view = "domains";
  std::optional<std::string> format;
  std::optional<std::string> output;
  RenderOptions options;
  PlanningFlags planning;
};

constexpr std::array<std::string_view, 3> kViews = {"domains", "ranks", "operations"};
constexpr std::array<std::string_view, 4> kFormats = {"dot", "svg", "png", "html"};

// The place of `word` in `words`, whose order is that of the enumerators.
template <class Enum, std::size_t N>
Enum parse_word(const std::string& word, const std::array<std::string_view, N>& words,
                const std::string& what) {
  for (std::size_t i = 0; i < N; ++i)
    if (words[i] == word) return static_cast<Enum>(i);
  std::string list;
  for (const std::string_view each : words) list += (list.empty() ? "" : ", ") + std::string(each);
  const auto near = nearest_word(word, {words.begin(), words.end()});
  throw InputError(fmt::format("{}: expected one of {}, found {}{}", what, list, word,
                               near ? fmt::format(" (did you mean {}?)", *near) : ""));
}

// As asked, else by the ending of the file, else dot.
RenderFormat choose_format(const Arguments& arguments) {
  if (arguments.format) return parse_word<RenderFormat>(*arguments.format, kFormats, "--format");
  if (!arguments.output) return RenderFormat::kDot;
  const std::string ending = std::filesystem::path(*arguments.output).extension().string();
  if (ending.empty())
    throw InputError({*arguments.output, 0, "-o"},
                     "the name has no ending to tell the format by; give --format");
  return parse_word<RenderFormat>(ending.substr(1), kFormats,
                                  *arguments.output + ": ending of the file, without --format");
}

int render_command(Session& session, Arguments arguments) {
  arguments.options.view = parse_word<View>(arguments.view, kViews, "--view");
  const RenderFormat format = choose_format(arguments);
  if (arguments.output) require_writable(*arguments.output, "-o");
  if (!arguments.output && format != RenderFormat::kDot)
    throw InputError("-o: expected the file to write; only dot text goes to the terminal");
  const Plan plan = plan_of(load_subject(arguments.path), arguments.planning);
  nlohmann::json json = {{"view", arguments.view},
                         {"format", kFormats[static_cast<std::size_t>(format)]}};
  if (!arguments.output) {
    const std::string dot = render_dot(plan, arguments.options);
    json["dot"] = dot;
    if (!session.json) session.out << dot;
  } else {
    render_file(plan, arguments.options, format, *arguments.output);
    json["file"] = *arguments.output;
    if (!session.json) session.out << "picture written to " << *arguments.output << '\n';
  }
  if (session.json) print_json(session, json);
  return kDone;
}

}  // namespace

void add_render(CLI::App& program, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, session, "render", "Draw the schedule graph of a plan",
                                  "render examples/8x8.yaml --view ranks -o 8x8.svg");
  command->add_option("PLAN", arguments->path, "Plan file, or a job that is planned first")
      ->required();
  command->add_option("--view", arguments->view, "domains, ranks or operations")
      ->capture_default_str();
  command->add_option("--tensor", arguments->options.tensor,
                      "Only what carries this tensor (name or glob)");
  command->add_option("--rank", arguments->options.rank, "Only what concerns this rank");
  command->add_option("--format", arguments->format,
                      "dot, svg, png or html; default: by the ending of the file, else dot");
  command->add_option("-o,--output", arguments->output, "Picture to write");
  add_planning_flags(command, arguments->planning);
  on_chosen(command, session,
            [arguments, &session] { return render_command(session, *arguments); });
}

}  // namespace transload
