// The picture of a sweep: refit time over one axis of the grid, with the bound, as SVG.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/sweep_file.h"

namespace transload {

// A line a strategy and a dashed one for the bound. Where the grid has further axes and few enough
// combinations of them, a line for each; else the best of them counts and the caption says so. Full
// marks are simulated figures, hollow ones estimates; the scale of seconds is logarithmic. Same
// rows, same text. InputError where no row has a figure.
std::string sweep_svg(const Sweep& sweep, const nlohmann::json& rows);

// The axis along which a sweep is drawn: as the file says, else the first that changes the number
// of nodes or racks, else the first with more than one numeric value, else the first.
std::size_t plot_axis(const Sweep& sweep);

}  // namespace transload
