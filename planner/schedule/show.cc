#include "planner/schedule/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "common/check.h"
#include "common/units.h"
#include "planner/schedule/access.h"
#include "planner/schedule/text.h"

namespace transload {
namespace {

constexpr std::size_t kNamesInFull = 8;
constexpr std::size_t kColumns = 12;
constexpr std::size_t kNameCharacters = 40;
using Line = std::array<std::string, kColumns>;

struct Shown {
  std::vector<OpId> ops;
  std::size_t selected;
};

Shown shown_operations(const Plan& plan, const ShowFilter& filter) {
  Shown shown{select_operations(plan, filter), 0};
  shown.selected = shown.ops.size();
  if (shown.ops.size() > filter.limit) shown.ops.resize(filter.limit);
  return shown;
}

// The role in the words that scripts rely on: they name what an operation is for, not its place in
// a pipeline, so every copy is a copy and all simulated host work is host.
std::string_view scripted_role(const Plan& plan, OpId op) {
  switch (op_kind(plan, op)) {
    case OpKind::kCopy:
      return "copy";
    case OpKind::kConvert:
      return "convert";
    case OpKind::kFence:
      return "fence";
    case OpKind::kHost:
      return "host";
    case OpKind::kTransfer:
      return plan.op_collective[op] >= 0 ? "collective" : name_of(op_role(plan, op));
  }
  TRANSLOAD_CHECK(false, "an operation has a kind");
}

std::vector<std::string> port_names(const Plan& plan, OpId op) {
  std::vector<std::string> names;
  for (const std::int32_t port : {plan.op_out_port[op], plan.op_in_port[op]})
    if (port >= 0)
      names.push_back(valid_utf8(plan_name(plan, plan.port_name[static_cast<std::size_t>(port)])));
  return names;
}

std::vector<std::string> tensor_names(const Plan& plan, const std::vector<std::uint32_t>& tensors) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(tensors.size(), kNamesInFull); ++i)
    names.push_back(valid_utf8(tensor_name(plan, tensors[i])));
  if (tensors.size() > kNamesInFull)
    names.push_back(fmt::format("... {} more", tensors.size() - kNamesInFull));
  return names;
}

nlohmann::json number_or_null(std::int32_t number) {
  return number >= 0 ? nlohmann::json(number) : nlohmann::json(nullptr);
}

std::string number_or_dash(std::int32_t number) {
  return number >= 0 ? fmt::format("{}", number) : "-";
}

std::string route(const Plan& plan, OpId op) {
  if (plan.op_source[op] == plan.op_destination[op]) return fmt::format("{}", plan.op_source[op]);
  return fmt::format("{} -> {}", plan.op_source[op], plan.op_destination[op]);
}

std::string waits_for(const Plan& plan, OpId op) {
  std::string text;
  for (const OpId before : op_after(plan, op))
    text += fmt::format("{}{}", text.empty() ? "" : " ", before);
  for (const OpId upstream : op_stream(plan, op))
    text += fmt::format("{}~{}", text.empty() ? "" : " ", upstream);
  return text.empty() ? "-" : text;
}

const Line& heading() {
  static const Line line = {"id",  "key",   "role",   "ranks", "link",    "bytes",
                            "hop", "chunk", "bundle", "group", "tensors", "after (~ stream)"};
  return line;
}

Line line_of(const Plan& plan, const OpTensors& tensors, OpId op) {
  const std::vector<std::uint32_t> carried = tensors.of(op);
  std::string names =
      carried.empty() ? "-" : shortened(one_line(tensor_name(plan, carried[0])), kNameCharacters);
  if (carried.size() > 1) names += fmt::format(" +{}", carried.size() - 1);
  return {fmt::format("{}", op),
          fmt::format("{}", plan.op_key[op]),
          std::string(name_of(op_role(plan, op))),
          route(plan, op),
          std::string(name_of(op_link(plan, op))),
          format_bytes(static_cast<double>(plan.op_bytes[op])),
          fmt::format("{}", plan.op_hop[op]),
          fmt::format("{}", plan.op_chunk[op]),
          number_or_dash(plan.op_bundle[op]),
          number_or_dash(plan.op_group[op]),
          names,
          waits_for(plan, op)};
}

void append(std::string& text, const Line& line, const std::array<std::size_t, kColumns>& widths) {
  for (std::size_t c = 0; c < kColumns; ++c) {
    text += line[c];
    if (c + 1 < kColumns) text.append(widths[c] - width_of(line[c]) + 2, ' ');
  }
  text += '\n';
}

}  // namespace

nlohmann::json show_plan(const Plan& plan, const ShowFilter& filter) {
  const Shown shown = shown_operations(plan, filter);
  const OpTensors tensors(plan);
  nlohmann::json operations = nlohmann::json::array();
  for (const OpId op : shown.ops)
    operations.push_back({{"id", op},
                          {"kind", name_of(op_kind(plan, op))},
                          {"source_rank", plan.op_source[op]},
                          {"destination_rank", plan.op_destination[op]},
                          {"bytes", plan.op_bytes[op]},
                          {"link", name_of(op_link(plan, op))},
                          {"role", scripted_role(plan, op)},
                          {"step", name_of(op_role(plan, op))},
                          {"ports", port_names(plan, op)},
                          {"hop", plan.op_hop[op]},
                          {"key", plan.op_key[op]},
                          {"group", number_or_null(plan.op_group[op])},
                          {"bundle", number_or_null(plan.op_bundle[op])},
                          {"chunk", plan.op_chunk[op]},
                          {"tensors", tensor_names(plan, tensors.of(op))},
                          {"after", op_after(plan, op)},
                          {"stream", op_stream(plan, op)}});
  return {{"operations", std::move(operations)},
          {"count", shown.selected},
          {"truncated", shown.ops.size() < shown.selected}};
}

std::string show_text(const Plan& plan, const ShowFilter& filter) {
  const Shown shown = shown_operations(plan, filter);
  const OpTensors tensors(plan);
  std::vector<Line> lines = {heading()};
  for (const OpId op : shown.ops) lines.push_back(line_of(plan, tensors, op));
  std::array<std::size_t, kColumns> widths{};
  for (const Line& line : lines)
    for (std::size_t c = 0; c < kColumns; ++c) widths[c] = std::max(widths[c], width_of(line[c]));
  std::string text;
  for (const Line& line : lines) append(text, line, widths);
  if (shown.ops.size() < shown.selected)
    text += fmt::format("... {} of {} operations shown; --limit shows more\n", shown.ops.size(),
                        shown.selected);
  return text;
}

}  // namespace transload
