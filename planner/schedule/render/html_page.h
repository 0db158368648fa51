// One self-contained page around a picture: title, headline figures, legend, and how to read it.
#pragma once

#include <string>

#include "planner/schedule/render/render.h"

namespace transload::render {

// `svg` is the output of `dot -Tsvg` for the same plan and options. The page loads nothing from
// anywhere.
std::string html_page(const Plan& plan, const RenderOptions& options, const std::string& svg);

}  // namespace transload::render
