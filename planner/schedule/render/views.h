// The three pictures, one file each, and the small graph that the two aggregated ones are drawn
// from.
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/schedule/render/heading.h"
#include "planner/schedule/render/render.h"
#include "planner/schedule/render/traffic.h"

namespace transload::render {

// A graph of a few hundred places. Attributes are dot text: `label=<...>, color="..."`.
struct DrawnPlace {
  std::string id;
  std::string attributes;
};
struct DrawnFlow {
  std::string attributes;
};
using DrawnGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, DrawnPlace, DrawnFlow>;

// Writes it with boost::write_graphviz. `preamble` goes first: graph attributes, clusters, fixed
// orders.
std::string write_drawing(const DrawnGraph& graph, const std::string& preamble);

// What all pictures start with: direction, fonts, node and edge defaults, and, unless the page
// around the picture has them, title and legend.
std::string common_attributes(const Plan& plan, const RenderOptions& options,
                              const std::vector<Key>& legend, bool with_heading);

// How flows are drawn, by how many there are: thick labelled arrows where few, faint thin ones
// where many.
class FlowStyle {
 public:
  FlowStyle(const std::vector<Flow>& drawn, std::size_t most_labels);
  // Dot attributes of one flow between the named places. Flows that do not run from left to right
  // must not push their ends apart: `constrains` false.
  std::string attributes(const Flow& flow, const std::string& from, const std::string& to,
                         bool constrains) const;
  bool crowded() const { return crowded_; }
  bool labelled() const { return labelled_; }

 private:
  std::uint64_t largest_ = 1;
  bool labelled_ = false;
  bool crowded_ = false;
  bool faint_ = false;
};

// Dot statements that keep the places in one column, in this order from top to bottom.
std::string column(const std::vector<std::string>& ids, const std::string& rank);

// Where a place stands in a picture that reads from left to right: sources 0, destinations 2.
int column_of(Part part);

// More than `most` of `things`: InputError with `hint`.
void refuse_too_many(std::size_t number, std::size_t most, const std::string& things,
                     const std::string& hint);

struct Picture {
  const Plan& plan;
  const RenderOptions& options;
  const std::vector<OpId>& ops;  // the selected operations
  bool with_heading;
};
std::string draw_domains(const Picture& picture);
std::string draw_ranks(const Picture& picture);
std::string draw_operations(const Picture& picture);

// The legend of a view, for the picture or for the page around it.
std::vector<Key> legend_of(View view);

// As render_dot, with or without title and legend.
std::string draw(const Plan& plan, const RenderOptions& options, bool with_heading);

}  // namespace transload::render
