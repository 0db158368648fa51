// Pictures of a plan, drawn by Graphviz: who sends how much to whom (by NVLink domain or by rank),
// or the operations of one tensor or rank with what each waits for.
//
// The dot text comes from the plan alone and needs no Graphviz; SVG, PNG and HTML run the `dot`
// program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "planner/schedule/op_facts.h"
#include "planner/schedule/plan_file.h"

namespace transload {

enum class View : std::uint8_t { kDomains, kRanks, kOperations };
enum class RenderFormat : std::uint8_t { kDot, kSvg, kPng, kHtml };

// `rank` and `tensor` restrict what is counted and drawn in every view.
struct RenderOptions : OpSelection {
  View view = View::kDomains;
  std::size_t max_nodes = 300;
};

// The picture as dot text, with a title (job, strategy, bytes) and a legend. Same plan and options,
// same text. InputError, saying how to narrow the view, if more than max_nodes domains, ranks or
// operations would be drawn, and as select_operations.
std::string render_dot(const Plan& plan, const RenderOptions& options);

// Writes the picture to `path`, whole or not at all. HTML is one self-contained page: headline
// figures, legend and the picture. InputError as render_dot, if `dot` is not installed, or if the
// file cannot be written; RunFailure if `dot` fails or takes longer than a minute.
void render_file(const Plan& plan, const RenderOptions& options, RenderFormat format,
                 const std::string& path);

}  // namespace transload
