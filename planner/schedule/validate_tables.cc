#include <algorithm>
#include <limits>

#include "common/dtype.h"
#include "common/recipe.h"
#include "planner/schedule/validate_rules.h"

namespace transload {
namespace {

class TableValidator {
 public:
  explicit TableValidator(const ValidateRules& rules) : rules_(rules), plan_(rules.plan()) {}

  void run() const {
    validate_text_and_tensors();
    validate_ranks();
    validate_buffers();
  }

 private:
  void validate_text_and_tensors() const {
    if (plan_.names.empty() || plan_.names.back() != '\0')
      rules_.fail("names", 0, "terminated text");
    const std::size_t n = plan_.tensors();
    rules_.same_length(
        "tensors", n,
        {plan_.tensor_shape.size(), plan_.tensor_dims.size(), plan_.tensor_dtype.size(),
         plan_.tensor_source.size(), plan_.tensor_made_from.size(), plan_.tensor_recipe.size(),
         plan_.tensor_making.size()});
    for (std::size_t i = 0; i < n; ++i) {
      rules_.name_offset("tensor_name", i, plan_.tensor_name[i]);
      if (plan_.tensor_dtype[i] >= kDTypeCount) rules_.fail("tensor_dtype", i, "a known dtype");
      if (plan_.tensor_shape[i] > plan_.extents.size() ||
          plan_.extents.size() - plan_.tensor_shape[i] < plan_.tensor_dims[i])
        rules_.fail("tensor_shape", i, "a shape inside the extents table");
    }
    for (std::size_t i = 0; i < plan_.extents.size(); ++i)
      if (plan_.extents[i] < 0 || plan_.extents[i] > kMaxExtent)
        rules_.fail("extents", i, "an extent from 0 to 2^50");
    for (std::uint32_t i = 0; i < n; ++i) validate_source(i);
    for (std::uint32_t i = 0; i < n; ++i) validate_making(i);
  }

  void validate_making(std::uint32_t tensor) const {
    const std::uint32_t from = plan_.tensor_made_from[tensor];
    if (from >= plan_.tensors() || plan_.tensor_made_from[from] != from)
      rules_.fail("tensor_made_from", tensor, "itself, or a tensor that is not made");
    if (plan_.tensor_recipe[tensor] >= kRecipeCount)
      rules_.fail("tensor_recipe", tensor, "a known recipe");
    if (plan_.tensor_making[tensor] > static_cast<std::uint8_t>(Making::kAtDestination))
      rules_.fail("tensor_making", tensor, "a known place");
    const auto recipe = static_cast<Recipe>(plan_.tensor_recipe[tensor]);
    const bool made = from != tensor;
    if (made != (recipe != Recipe::kAsIs) ||
        made != (static_cast<Making>(plan_.tensor_making[tensor]) != Making::kNotMade))
      rules_.fail("tensor_made_from", tensor, "a recipe and a place, if and only if it is made");
    if (made) validate_recipe(tensor, from, recipe_info(recipe));
  }

  void validate_recipe(std::uint32_t tensor, std::uint32_t from, const RecipeInfo& recipe) const {
    if (recipe.dtype && static_cast<DType>(plan_.tensor_dtype[tensor]) != *recipe.dtype)
      rules_.fail("tensor_dtype", tensor, "the type that its recipe makes");
    const std::size_t dims = plan_.tensor_dims[from];
    const bool fits = plan_.tensor_dims[tensor] == dims &&
                      (dims >= 2 || (recipe.block_rows == 1 && recipe.block_columns == 1));
    if (!fits) rules_.fail("tensor_dims", tensor, "the dimensions of what it is made from");
    for (std::size_t d = 0; d < dims; ++d) {
      const std::int64_t cell = d + 1 == dims   ? recipe.cell_columns
                                : d + 2 == dims ? recipe.cell_rows
                                                : 1;
      const std::int64_t whole = plan_.extents[plan_.tensor_shape[from] + d];
      if (plan_.extents[plan_.tensor_shape[tensor] + d] != (whole + cell - 1) / cell)
        rules_.fail("tensor_shape", tensor, "as many elements as its recipe makes");
    }
  }

  void validate_source(std::uint32_t tensor) const {
    const std::uint32_t source = plan_.tensor_source[tensor];
    if (source > tensor || plan_.tensor_source[source] != source)
      rules_.fail("tensor_source", tensor, "itself, or an earlier tensor that is its own source");
    const std::uint8_t dims = plan_.tensor_dims[tensor];
    const auto shape_of = [&](std::uint32_t t) {
      return plan_.extents.subspan(plan_.tensor_shape[t], dims);
    };
    if (plan_.tensor_dims[source] != dims ||
        plan_.tensor_dtype[source] != plan_.tensor_dtype[tensor] ||
        !std::ranges::equal(shape_of(source), shape_of(tensor)))
      rules_.fail("tensor_source", tensor, "a tensor of the same shape and dtype");
  }

  void validate_ranks() const {
    const std::size_t ranks = plan_.ranks();
    rules_.same_length(
        "ranks", ranks,
        {plan_.rank_domain.size(), plan_.rank_gpu_model.size(), plan_.rank_memory_bytes.size()});
    rules_.same_length("staging", ranks * kSlotClasses,
                       {plan_.staging_slots.size(), plan_.staging_slot_bytes.size()});
    rules_.csr("rank_buffer_first", plan_.rank_buffer_first, ranks, plan_.buffer_index.size());
    rules_.csr("rank_shard_first", plan_.rank_shard_first, ranks, plan_.shard_side.size());
    rules_.csr("rank_fill_first", plan_.rank_fill_first, ranks, plan_.fill_buffer.size());
    rules_.csr("rank_op_first", plan_.rank_op_first, ranks, plan_.rank_op.size());
    if (plan_.copy_rate_first.empty()) rules_.fail("copy_rate_first", 0, "at least one GPU model");
    rules_.csr("copy_rate_first", plan_.copy_rate_first, plan_.copy_rate_first.size() - 1,
               plan_.copy_run_bytes.size());
    rules_.same_length("convert_efficiency_ppm", plan_.copy_rate_first.size() - 1,
                       {plan_.convert_efficiency_ppm.size()});
    for (std::size_t i = 0; i < plan_.convert_efficiency_ppm.size(); ++i)
      if (plan_.convert_efficiency_ppm[i] < 0 || plan_.convert_efficiency_ppm[i] > 1'000'000)
        rules_.fail("convert_efficiency_ppm", i, "from 0 to 1000000");
    rules_.same_length("copy_rates", plan_.copy_run_bytes.size(),
                       {plan_.copy_efficiency_ppm.size()});
    for (std::size_t i = 0; i < ranks; ++i) {
      const std::int32_t model = plan_.rank_gpu_model[i];
      if (model < 0 || static_cast<std::size_t>(model) + 1 >= plan_.copy_rate_first.size())
        rules_.fail("rank_gpu_model", i, "a known GPU model");
    }
    for (std::size_t i = 0; i < plan_.copy_efficiency_ppm.size(); ++i)
      if (plan_.copy_efficiency_ppm[i] <= 0) rules_.fail("copy_efficiency_ppm", i, "more than 0");
    for (std::size_t i = 0; i < plan_.staging_slots.size(); ++i)
      if (plan_.staging_slot_bytes[i] > kMaxBytes || plan_.staging_slots[i] > (1u << 24))
        rules_.fail("staging", i, "a staging arena of sane size");
  }

  void validate_buffers() const {
    const std::size_t n = plan_.buffer_index.size();
    rules_.same_length(
        "buffers", n,
        {plan_.buffer_count.size(), plan_.buffer_bytes.size(), plan_.buffer_alignment.size(),
         plan_.buffer_side.size(), plan_.buffer_class.size(), plan_.buffer_commit.size(),
         plan_.buffer_post_group.size(), plan_.buffer_name.size()});
    for (std::size_t rank = 0; rank < plan_.ranks(); ++rank) {
      std::uint64_t next = 0;  // a rank's buffers are numbered without gaps
      for (std::size_t i = plan_.rank_buffer_first[rank]; i < plan_.rank_buffer_first[rank + 1];
           ++i) {
        if (plan_.buffer_index[i] != next) rules_.fail("buffer_index", i, fmt::format("{}", next));
        next += plan_.buffer_count[i];
        if (next > std::numeric_limits<std::uint32_t>::max())
          rules_.fail("buffer_count", i, "fewer buffers");
        if (plan_.buffer_bytes[i] > kMaxBytes) rules_.fail("buffer_bytes", i, "at most 2^60 bytes");
        if (plan_.buffer_side[i] > 1) rules_.fail("buffer_side", i, "a known side");
        if (plan_.buffer_class[i] > 2) rules_.fail("buffer_class", i, "a known class");
        if (plan_.buffer_commit[i] > 1) rules_.fail("buffer_commit", i, "0 or 1");
        rules_.name_offset("buffer_name", i, plan_.buffer_name[i]);
      }
    }
  }

  const ValidateRules& rules_;
  const Plan& plan_;
};

}  // namespace

void validate_tables(const ValidateRules& rules) { TableValidator(rules).run(); }

}  // namespace transload
