#include "planner/strategy/block_borders.h"

#include <vector>

namespace transload {

std::int64_t BlockBorders::before(std::uint32_t demand_class, std::int64_t byte) const {
  const DemandClass& of = demand_.classes[demand_class];
  if (!of.converts || byte >= of.bytes) return byte;
  const std::size_t index = offsets_.slice_at(demand_class, byte);
  const std::int64_t begin = offsets_.of(demand_class)[index];
  const DemandSlice& slice = of.slices[index];
  const TensorGroup& group = problem_.groups[slice.group];
  const RecipeInfo& recipe = recipe_info(group.recipe);
  const std::int64_t element = element_bytes(group.dtype);
  const std::size_t dims = slice.box.dims();
  const std::int64_t row = dims > 0 ? slice.box.extent(dims - 1) * element : element;
  const std::int64_t matrix = dims > 1 ? slice.box.extent(dims - 2) * row : row;
  // An element of a scale is a block already.
  std::int64_t unit = element;
  if (!recipe.scale)
    unit = recipe.block_rows > 1 ? recipe.block_rows * row : recipe.block_columns * element;
  const std::int64_t inside = byte - begin;
  return begin + inside / matrix * matrix + inside % matrix / unit * unit;
}

RouteSet on_block_borders(const RouteSet& routes, const BlockBorders& borders) {
  RouteSet moved;
  moved.fan_out = routes.fan_out;
  moved.locals = routes.locals;
  std::vector<std::uint32_t> number(routes.routes.size(), kNoRoute);
  for (std::size_t r = 0; r < routes.routes.size(); ++r) {
    Route route = routes.routes[r];
    const bool empty = route.begin == route.end;
    route.begin = borders.before(route.demand_class, route.begin);
    route.end = borders.before(route.demand_class, route.end);
    if (route.begin == route.end && !empty) continue;
    if (route.parent != kNoRoute) route.parent = number[route.parent];
    number[r] = static_cast<std::uint32_t>(moved.routes.size());
    moved.routes.push_back(route);
  }
  return moved;
}

}  // namespace transload
