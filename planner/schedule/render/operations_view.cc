// The schedule graph itself, for the operations of one tensor or rank: one node per operation, an
// arrow to each operation that waits for it. Drawn from the plan's own arrays through the
// Boost.Graph adaptor.
#include <fmt/format.h>

#include <boost/graph/filtered_graph.hpp>
#include <boost/graph/graphviz.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <memory>
#include <sstream>

#include "common/units.h"
#include "planner/schedule/graph.h"
#include "planner/schedule/render/views.h"
#include "planner/schedule/text.h"

namespace transload::render {
namespace {

constexpr std::size_t kNameCharacters = 32;

// Keeps the selected operations. filtered_graph copies its predicate into every iterator, so it
// only points.
struct Selected {
  const std::vector<bool>* flags = nullptr;
  bool operator()(OpId op) const { return (*flags)[op]; }
};

std::string label_of(const Plan& plan, const OpTensors& tensors, OpId op) {
  const std::int32_t source = plan.op_source[op];
  const std::int32_t destination = plan.op_destination[op];
  std::string text = fmt::format("<<b>{}</b> #{}<br/>", transload::name_of(op_role(plan, op)), op);
  text += source == destination ? fmt::format("rank {}", source)
                                : fmt::format("rank {} &#8594; {}", source, destination);
  if (plan.op_bytes[op] > 0)
    text += fmt::format(", {}", format_bytes(static_cast<double>(plan.op_bytes[op])));
  const std::vector<std::uint32_t> carried = tensors.of(op);
  if (!carried.empty()) {
    text += fmt::format(
        R"(<br/><font point-size="11" color="{}">{})", kQuietColour,
        xml_escaped(shortened(one_line(tensor_name(plan, carried[0])), kNameCharacters)));
    if (carried.size() > 1) text += fmt::format(" and {} more", carried.size() - 1);
    text += fmt::format(", chunk {}</font>", plan.op_chunk[op]);
  }
  return text + ">";
}

Ink ink_of_operation(const Plan& plan, OpId op) {
  const OpKind kind = op_kind(plan, op);
  if (kind == OpKind::kFence || kind == OpKind::kHost) return kHostInk;
  return ink_of(op_link(plan, op));
}

}  // namespace

std::string draw_operations(const Picture& picture) {
  const Plan& plan = picture.plan;
  refuse_too_many(picture.ops.size(), picture.options.max_nodes, "operations",
                  "restrict it with --tensor or --rank, or take --view domains");
  std::vector<bool> flags(plan.operations(), false);
  for (const OpId op : picture.ops) flags[op] = true;
  const OpGraph whole(plan);
  const boost::filtered_graph<OpGraph, boost::keep_all, Selected> graph(whole, boost::keep_all(),
                                                                        Selected{&flags});
  const OpTensors tensors(plan);
  const std::string preamble =
      common_attributes(plan, picture.options, legend_of(picture.options.view),
                        picture.with_heading) +
      "nodesep=0.2; ranksep=0.7;\n";
  std::ostringstream out;
  boost::write_graphviz(
      out, graph,
      [&](std::ostream& o, OpId op) {
        const Ink ink = ink_of_operation(plan, op);
        o << fmt::format("[label={}, color=\"{}\", fillcolor=\"{}\", tooltip=\"key {}\"]",
                         label_of(plan, tensors, op), ink.line, ink.fill, plan.op_key[op]);
      },
      [&](std::ostream& o, const OpEdge& edge) {
        o << fmt::format("[color=\"{}\", style={}]", kHostInk.line,
                         edge.stream ? "dashed" : "solid");
      },
      [&](std::ostream& o) { o << preamble; }, boost::make_function_property_map<OpId>([](OpId op) {
        return fmt::format("operation{}", op);
      }));
  return out.str();
}

}  // namespace transload::render
