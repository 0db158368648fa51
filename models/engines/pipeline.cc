// Decoder layers over pipeline stages, by Megatron's first / last override.
#include <fmt/format.h>

#include "models/engines/engines.h"
#include "models/engines/rules.h"

namespace transload {
namespace {

std::string describe_ends(std::int64_t first, std::int64_t last) {
  std::string text;
  if (first > 0) text += fmt::format(" first {}", first);
  if (last > 0) text += fmt::format("{} last {}", first > 0 ? "," : "", last);
  return text.empty() ? text : " with" + text;
}

}  // namespace

PipelineLayout pipeline_layout(std::int64_t layers, std::int64_t stages, std::int64_t first,
                               std::int64_t last, std::string_view side) {
  const auto refuse = [&](const std::string& problem) {
    fail_at(side, "pp_layout",
            fmt::format("{} layers over {} stages{}: {}", layers, stages,
                        describe_ends(first, last), problem));
  };
  if (stages < 1) fail_at(side, "parallel.pp", fmt::format("{} is below 1", stages));
  if (stages > layers)
    fail_at(side, "parallel.pp",
            fmt::format("{} stages are more than the {} layers; give the layers of each stage",
                        stages, layers));
  if (first < 0 || last < 0) refuse("first and last count layers; 0 means as the other stages");
  if (first > layers || last > layers) refuse("more layers on one stage than the model has");
  if (stages == 1) {
    // One stage is first and last at once, so either may name it.
    if ((first > 0 && first != layers) || (last > 0 && last != layers))
      refuse("the only stage holds all layers");
    return {layers};
  }
  const std::int64_t others = stages - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0);
  const std::int64_t rest = layers - first - last;
  if (others == 0) {
    if (rest != 0) refuse(fmt::format("first and last must add up to {}", layers));
    return {first, last};
  }
  if (rest < others) refuse("nothing is left for the other stages");
  if (rest % others != 0)
    refuse(
        fmt::format("{} layers do not divide over {} stages; choose first and last so that they "
                    "do, or give the "
                    "layers of each stage",
                    rest, others));
  PipelineLayout layout(static_cast<std::size_t>(stages), rest / others);
  if (first > 0) layout.front() = first;
  if (last > 0) layout.back() = last;
  return layout;
}

}  // namespace transload
