// Megatron's pipeline_model_parallel_layout string.
#include <fmt/format.h>

#include <cctype>
#include <string>

#include "models/engines/pipeline.h"
#include "models/engines/rules.h"

namespace transload {
namespace {

// A layout of more letters than any model has layers is a slip, and must not fill memory.
constexpr std::size_t kMaxLetters = 1 << 20;

class LayoutText {
 public:
  LayoutText(std::string_view text, std::string_view side) : text_(text), side_(side) {}

  // Repetitions written out, commas and blanks gone.
  std::string unrolled() {
    std::string result = sequence(false);
    if (at_ < text_.size()) fail("`)` without `(`");
    return result;
  }

  [[noreturn]] void fail(const std::string& problem) const {
    fail_at(side_, "pp_layout", fmt::format("\"{}\" at character {}: {}", text_, at_ + 1, problem));
  }

 private:
  std::string sequence(bool in_group) {
    std::string result;
    for (; at_ < text_.size();) {
      const char c = text_[at_];
      std::string item;
      if (c == ',' || c == ' ') {
        ++at_;
        continue;
      }
      if (c == ')') {
        if (!in_group) break;
        return result;
      }
      if (c == '(') {
        if (in_group) fail("groups within groups are not part of the notation");
        ++at_;
        item = sequence(true);
        if (at_ == text_.size()) fail("`(` without `)`");
        ++at_;
        if (at_ == text_.size() || text_[at_] != '*') fail("expected *N after `)`");
      } else if (c == 'E' || c == 't' || c == 'm' || c == 'L' || c == '|') {
        item = std::string(1, c);
        ++at_;
      } else {
        fail("expected E, t, m, L, |, a comma, or a repetition");
      }
      const std::size_t times = repetition();
      if (item.size() * times + result.size() > kMaxLetters) fail("more layers than any model has");
      for (std::size_t i = 0; i < times; ++i) result += item;
    }
    return result;
  }

  std::size_t repetition() {
    if (at_ == text_.size() || text_[at_] != '*') return 1;
    ++at_;
    std::size_t times = 0;
    const std::size_t first = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      times = times * 10 + static_cast<std::size_t>(text_[at_++] - '0');
      if (times > kMaxLetters) fail("more layers than any model has");
    }
    if (at_ == first) fail("expected a number after `*`");
    return times;
  }

  std::string_view text_;
  std::string_view side_;
  std::size_t at_ = 0;
};

}  // namespace

PipelineStages stages_of_text(std::string_view text, std::int64_t stages, std::int64_t layers,
                              std::int64_t predictions, std::int64_t virtual_stages,
                              std::string_view side) {
  LayoutText reader(text, side);
  const std::string unrolled = reader.unrolled();
  const auto refuse = [&](const std::string& problem) {
    fail_at(side, "pp_layout", fmt::format("\"{}\": {}", text, problem));
  };
  PipelineStages result;
  result.count = stages;
  std::int64_t entry = 0;
  std::int64_t embedding_entry = -1;
  std::int64_t output_entry = -1;
  for (const char letter : unrolled) {
    const auto stage = static_cast<std::int32_t>(entry % stages);
    if (letter == '|') ++entry;
    if (letter == 't') result.of_layer.push_back(stage);
    if (letter == 'm') result.of_prediction.push_back(stage);
    if (letter == 'E') {
      if (embedding_entry >= 0) refuse("E stands twice");
      embedding_entry = entry;
    }
    if (letter == 'L') {
      if (output_entry >= 0) refuse("L stands twice");
      output_entry = entry;
    }
  }
  const std::int64_t entries = entry + 1;
  if (entries % stages != 0)
    refuse(fmt::format("{} stages are not a multiple of pp {}", entries, stages));
  if (virtual_stages != 0 && entries != stages * virtual_stages)
    refuse(fmt::format("{} stages; expected pp {} * vpp {} = {}", entries, stages, virtual_stages,
                       stages * virtual_stages));
  if (embedding_entry != 0) refuse("E must stand in the first stage");
  if (output_entry != entries - 1) refuse("L must stand in the last stage");
  if (static_cast<std::int64_t>(result.of_layer.size()) != layers)
    refuse(fmt::format("{} t; the model has {} decoder layers", result.of_layer.size(), layers));
  if (predictions > 0 && static_cast<std::int64_t>(result.of_prediction.size()) != predictions)
    refuse(fmt::format("{} m; the model has {} prediction layers", result.of_prediction.size(),
                       predictions));
  if (predictions == 0) result.of_prediction.clear();
  result.output = static_cast<std::int32_t>(output_entry % stages);
  return result;
}

}  // namespace transload
