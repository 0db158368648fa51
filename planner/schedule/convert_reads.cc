#include "planner/schedule/convert_reads.h"

#include <algorithm>
#include <vector>

#include "common/dtype.h"
#include "common/recipe.h"

namespace transload {
namespace {

// A slice of a bundle in its packed order.
struct PackedSlice {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t tensor = 0;  // the first
  std::uint64_t element_bytes = 1;
};

class ReadCounter {
 public:
  explicit ReadCounter(const PlanTables& tables) : tables_(tables) {}

  std::uint64_t bytes_of(std::size_t op) {
    const std::int32_t bundle = tables_.op_bundle[op];
    if (bundle != bundle_) list_slices(bundle);
    const std::uint64_t begin = tables_.op_begin[op];
    const std::uint64_t end = begin + tables_.op_bytes[op];
    auto slice = std::upper_bound(
        slices_.begin(), slices_.end(), begin,
        [](std::uint64_t at, const PackedSlice& candidate) { return at < candidate.end; });
    values_of_.clear();
    std::uint64_t bytes = 0;
    const auto first = slice;
    for (; slice != slices_.end() && slice->begin < end; ++slice) {
      const RecipeInfo& recipe = recipe_of(*slice);
      if (recipe.scale) continue;
      values_of_.push_back(tables_.tensor_made_from[slice->tensor]);
      bytes += read_by(*slice, recipe, begin, end);
    }
    std::sort(values_of_.begin(), values_of_.end());
    for (slice = first; slice != slices_.end() && slice->begin < end; ++slice) {
      const RecipeInfo& recipe = recipe_of(*slice);
      if (recipe.scale && !std::binary_search(values_of_.begin(), values_of_.end(),
                                              tables_.tensor_made_from[slice->tensor]))
        bytes += read_by(*slice, recipe, begin, end);
    }
    return bytes;
  }

 private:
  void list_slices(std::int32_t bundle) {
    bundle_ = bundle;
    slices_.clear();
    const auto b = static_cast<std::size_t>(bundle);
    std::uint64_t at = 0;
    for (std::uint64_t s = tables_.bundle_slice_first[b]; s < tables_.bundle_slice_first[b + 1];
         ++s) {
      PackedSlice slice;
      slice.tensor = tables_.slice_tensor_first[s];
      slice.element_bytes = bytes_of_element(slice.tensor);
      std::uint64_t bytes = slice.element_bytes * tables_.slice_tensor_count[s];
      for (std::size_t d = 0; d < tables_.tensor_dims[slice.tensor]; ++d)
        bytes *= static_cast<std::uint64_t>(tables_.bounds[tables_.slice_box[s] + 2 * d + 1] -
                                            tables_.bounds[tables_.slice_box[s] + 2 * d]);
      slice.begin = at;
      slice.end = at += bytes;
      if (bytes > 0) slices_.push_back(slice);
    }
  }

  std::uint64_t bytes_of_element(std::uint32_t tensor) const {
    return static_cast<std::uint64_t>(dtype_bits(static_cast<DType>(tables_.tensor_dtype[tensor])) /
                                      8);
  }

  const RecipeInfo& recipe_of(const PackedSlice& slice) const {
    return recipe_info(static_cast<Recipe>(tables_.tensor_recipe[slice.tensor]));
  }

  std::uint64_t read_by(const PackedSlice& slice, const RecipeInfo& recipe, std::uint64_t begin,
                        std::uint64_t end) const {
    const std::uint64_t made = std::min(end, slice.end) - std::max(begin, slice.begin);
    return made / slice.element_bytes *
           static_cast<std::uint64_t>(recipe.cell_rows * recipe.cell_columns) *
           bytes_of_element(tables_.tensor_made_from[slice.tensor]);
  }

  const PlanTables& tables_;
  std::int32_t bundle_ = kNone;
  std::vector<PackedSlice> slices_;  // those with elements
  std::vector<std::uint32_t> values_of_;
};

}  // namespace

void count_convert_reads(PlanTables& tables) {
  ReadCounter counter(tables);
  for (std::size_t op = 0; op < tables.op_kind.size(); ++op)
    if (static_cast<OpKind>(tables.op_kind[op]) == OpKind::kConvert)
      tables.op_read_bytes[op] = counter.bytes_of(op);
}

}  // namespace transload
