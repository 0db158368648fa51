// Title, headline figures and legend of a picture, as Graphviz draws them and as an HTML page does.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "planner/schedule/render/render.h"
#include "planner/schedule/render/style.h"

namespace transload::render {

// The job's name, or "plan 1a2b3c4d" where it has none.
std::string title_of(const Plan& plan);

// What the picture shows, in words: the view, and the rank or tensor that it is restricted to.
std::string caption_of(const RenderOptions& options);

// One line for the title: ranks, bytes by kind of link, and the bound.
std::string summary_of(const Plan& plan);

// (name, value) rows of headline figures for a page.
std::vector<std::pair<std::string, std::string>> figures_of(const Plan& plan);

// The attributes that put title and legend over a picture: `label=<...>; labelloc=t; ...`.
std::string heading_attributes(const Plan& plan, const RenderOptions& options,
                               const std::vector<Key>& legend);

}  // namespace transload::render
