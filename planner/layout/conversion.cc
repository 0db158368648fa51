#include "planner/layout/conversion.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "common/error.h"

namespace transload {
namespace {

using Shape = std::vector<std::int64_t>;
using Pools = std::vector<PoolSharding>;

// Cell or block of a recipe along a dimension: the last two count.
std::int64_t along(std::size_t d, std::size_t dims, std::int64_t rows, std::int64_t columns) {
  if (d + 1 == dims) return columns;
  return d + 2 == dims ? rows : 1;
}

Shape made_shape(const Shape& shape, const RecipeInfo& recipe) {
  Shape made = shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t cell = along(d, shape.size(), recipe.cell_rows, recipe.cell_columns);
    made[d] = (shape[d] + cell - 1) / cell;
  }
  return made;
}

// A shard that begins or ends inside a block.
struct Cut {
  Rank rank = 0;
  std::size_t dim = 0;
  std::int64_t at = 0;
  std::int64_t block = 1;
};

std::optional<Cut> first_cut(const Layout& layout, const Shape& shape, const RecipeInfo& recipe) {
  for (const RankBox& shard : layout.shards)
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t block = along(d, shape.size(), recipe.block_rows, recipe.block_columns);
      for (const std::int64_t at : {shard.box.lo(d), shard.box.hi(d)})
        if (at % block != 0 && at != shape[d]) return Cut{shard.rank, d, at, block};
    }
  return std::nullopt;
}

// Dense shards of what is made from the layout's boxes.
Pools dense_shards(const Layout& layout, const RecipeInfo& recipe) {
  std::map<std::uint32_t, Sharding> pools;
  for (const RankStorage& storage : layout.storage) pools[storage.pool].boxes[storage.rank];
  for (const RankBox& shard : layout.shards) {
    ExplicitBox box;
    const std::size_t dims = shard.box.dims();
    for (std::size_t d = 0; d < dims; ++d) {
      const std::int64_t cell = along(d, dims, recipe.cell_rows, recipe.cell_columns);
      box.push_back({shard.box.lo(d) / cell, (shard.box.hi(d) + cell - 1) / cell});
    }
    pools[shard.pool].boxes[shard.rank].push_back({std::move(box), std::nullopt});
  }
  Pools result;
  for (auto& [pool, sharding] : pools) result.push_back({pool, std::move(sharding)});
  return result;
}

class Expander {
 public:
  explicit Expander(const ProblemInput& input) : input_(input) {
    out_.source_shardings = input.source_shardings;
    out_.destination_shardings = input.destination_shardings;
    out_.source_buffers = input.source_buffers;
    out_.destination_buffers = input.destination_buffers;
    out_.declared_buffers = input.declared_buffers;
    out_.absent_sources = input.absent_sources;
    out_.absent_destinations = input.absent_destinations;
    out_.validate_memory = input.validate_memory;
    out_.destination_buffer_of.resize(input.destination_buffer_of.size());
  }

  ExpandedInput expand() {
    for (std::uint32_t i = 0; i < input_.tensors.size(); ++i) {
      place_.push_back(static_cast<std::uint32_t>(out_.tensors.size()));
      if (input_.tensors[i].destination_type)
        add_converted(i);
      else
        add(input_.tensors[i], i, i);
    }
    for (std::vector<BufferRef>& refs : out_.destination_buffer_of)
      if (!refs.empty()) refs.resize(out_.tensors.size());
    return {std::move(out_), std::move(conversions_)};
  }

 private:
  // What all tensors with one pair of layouts have in common. No two forms share a sharding that
  // is made here, so that originals, values and scales of one form are a group each, in one order.
  struct Form {
    Making making = Making::kAtSource;
    std::uint32_t original_destination = 0;  // raw buffers of the receivers, or nobody
    std::uint32_t source = 0;                // of the values
    std::uint32_t scale_source = 0;
    std::uint32_t scale_destination = 0;
    std::size_t note = 0;  // in conversions_
  };
  using FormKey = std::tuple<std::uint32_t, std::uint32_t, DType, std::string_view, Shape>;

  static constexpr std::uint32_t kOwn = UINT32_MAX;

  std::uint32_t add_source(Sharding sharding) {
    out_.source_shardings.push_back(std::move(sharding));
    return static_cast<std::uint32_t>(out_.source_shardings.size()) - 1;
  }
  std::uint32_t add_destination(Pools pools) {
    out_.destination_shardings.push_back(std::move(pools));
    return static_cast<std::uint32_t>(out_.destination_shardings.size()) - 1;
  }

  // Appends a tensor that lies, on either side, where input tensor `source` or `destination` does;
  // kOwn: in buffers of its own.
  void add(TensorInput tensor, std::uint32_t source, std::uint32_t destination) {
    if (tensor.tied_to != TensorInput::kNotTied) tensor.tied_to = place_[tensor.tied_to];
    tensor.destination_type.reset();
    out_.tensors.push_back(std::move(tensor));
    const auto keep = [](const std::vector<BufferRef>& from, std::uint32_t i,
                         std::vector<BufferRef>& to) {
      if (!from.empty()) to.push_back(i == kOwn ? BufferRef{} : from[i]);
    };
    keep(input_.source_buffer_of, source, out_.source_buffer_of);
    for (std::size_t pool = 0; pool < input_.destination_buffer_of.size(); ++pool)
      keep(input_.destination_buffer_of[pool], destination, out_.destination_buffer_of[pool]);
  }

  void add_converted(std::uint32_t index) {
    const TensorInput& tensor = input_.tensors[index];
    const StoredType& type = *tensor.destination_type;
    const Form& form = form_of(tensor);
    ++conversions_[form.note].tensors;
    const bool at_source = form.making == Making::kAtSource;
    const std::uint32_t original = place_.back();

    TensorInput held = tensor;
    held.name = fmt::format("{}@{}", tensor.name, dtype_name(tensor.dtype));
    held.destination = form.original_destination;
    add(std::move(held), index, kOwn);
    if (!at_source) make_raw(original);

    TensorInput values = tensor;
    values.dtype = type.dtype;
    values.tied_to = TensorInput::kNotTied;
    values.made = {form.making, type.values, original};
    values.source = form.source;
    add(std::move(values), kOwn, index);
    if (type.scales == Recipe::kAsIs) return;

    TensorInput scales = tensor;
    const RecipeInfo& recipe = recipe_info(type.scales);
    scales.name += ".scale";
    scales.shape = made_shape(tensor.shape, recipe);
    scales.dtype = *recipe.dtype;
    scales.tied_to = TensorInput::kNotTied;
    scales.made = {form.making, type.scales, original};
    scales.source = form.scale_source;
    scales.destination = form.scale_destination;
    add(std::move(scales), kOwn, kOwn);
  }

  // The original's destination: staging of a kind, from which the live tensor is made.
  void make_raw(std::uint32_t tensor) {
    for (const PoolSharding& pool : out_.destination_shardings[out_.tensors[tensor].destination]) {
      if (out_.destination_buffers.size() <= pool.pool) {
        out_.destination_buffers.resize(pool.pool + 1);
        out_.destination_buffer_of.resize(pool.pool + 1);
      }
      std::vector<SharedBuffer>& buffers = out_.destination_buffers[pool.pool];
      std::vector<BufferRef>& refs = out_.destination_buffer_of[pool.pool];
      refs.resize(tensor + 1);
      refs[tensor].buffer = static_cast<std::uint32_t>(buffers.size());
      buffers.push_back({out_.tensors[tensor].name, DestinationClass::kShadow});
    }
  }

  const Form& form_of(const TensorInput& tensor) {
    const auto [entry, added] = forms_.try_emplace({tensor.source, tensor.destination, tensor.dtype,
                                                    tensor.destination_type->name, tensor.shape});
    if (added) entry->second = make_form(tensor);
    return entry->second;
  }

  // Absent ranks count: without them a tensor is converted where it was with them.
  Form make_form(const TensorInput& tensor) {
    const StoredType& type = *tensor.destination_type;
    const RecipeInfo& values = recipe_info(type.values);
    require_blocks(tensor, values);
    const PoolSharding source{0, input_.source_shardings[tensor.source]};
    const PoolSharding* const sources[] = {&source};
    const std::string what = fmt::format("tensor {}", tensor.name);
    const Layout from =
        make_layout(sources, tensor.shape, dtype_bits(tensor.dtype), sets_, what + ", source");
    std::vector<const PoolSharding*> pools;
    for (const PoolSharding& pool : input_.destination_shardings[tensor.destination])
      pools.push_back(&pool);
    const Layout to =
        make_layout(pools, tensor.shape, dtype_bits(type.dtype), sets_, what + ", destination");
    if (const auto cut = first_cut(to, tensor.shape, values)) refuse(tensor, *cut);

    Form form;
    ConvertedTensors note{tensor.name, 0, tensor.dtype, std::string(type.name), Making::kAtSource};
    if (const auto cut = first_cut(from, tensor.shape, values)) {
      form.making = Making::kAtDestination;
      note.split = SplitBlock{cut->rank, static_cast<int>(cut->dim), cut->at, cut->block};
    } else if (dtype_bits(type.dtype) > dtype_bits(tensor.dtype)) {
      form.making = Making::kAtDestination;
    }
    note.making = form.making;
    form.note = conversions_.size();
    conversions_.push_back(std::move(note));
    const bool at_source = form.making == Making::kAtSource;
    form.source = at_source ? tensor.source : add_source({});
    form.original_destination =
        add_destination(at_source ? Pools{} : dense_shards(to, recipe_info(Recipe::kCast)));
    if (type.scales == Recipe::kAsIs) return form;
    const RecipeInfo& scales = recipe_info(type.scales);
    form.scale_destination = add_destination(dense_shards(to, scales));
    Pools held = dense_shards(from, scales);
    form.scale_source =
        at_source && !held.empty() ? add_source(std::move(held[0].sharding)) : add_source({});
    return form;
  }

  static void require_blocks(const TensorInput& tensor, const RecipeInfo& recipe) {
    if (recipe.block_rows == 1 && recipe.block_columns == 1) return;
    const InputPlace place{"", 0, fmt::format("tensor {}", tensor.name)};
    if (tensor.shape.size() < 2)
      throw InputError(place, fmt::format("{} is a type of matrices; expected at least two "
                                          "dimensions, found {}",
                                          recipe.name, tensor.shape.size()));
    if (recipe.block_rows == 1 && tensor.shape.back() % recipe.block_columns != 0)
      throw InputError(place, fmt::format("{} has groups of {} along the last dimension, whose "
                                          "length {} they do not divide",
                                          recipe.name, recipe.block_columns, tensor.shape.back()));
  }

  [[noreturn]] static void refuse(const TensorInput& tensor, const Cut& cut) {
    throw InputError(
        {"", 0, fmt::format("tensor {}, destination, rank {}", tensor.name, cut.rank)},
        fmt::format("its shard has a border at {} along dimension {}, inside a block of {}; "
                    "expected borders at multiples of {}: another split, or another dtype",
                    cut.at, cut.dim, tensor.destination_type->name, cut.block));
  }

  const ProblemInput& input_;
  ProblemInput out_;
  std::vector<ConvertedTensors> conversions_;
  std::vector<std::uint32_t> place_;  // by input tensor: its (or its original's) place in out_
  RankSets sets_;
  std::map<FormKey, Form> forms_;
};

}  // namespace

bool has_conversions(const ProblemInput& input) {
  return std::any_of(input.tensors.begin(), input.tensors.end(),
                     [](const TensorInput& tensor) { return tensor.destination_type.has_value(); });
}

ExpandedInput expand_conversions(const ProblemInput& input) { return Expander(input).expand(); }

}  // namespace transload
