#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "planner/job/sections.h"
#include "planner/job/side.h"
#include "planner/job/slots.h"

namespace transload {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 50;

std::vector<std::int64_t> parse_shape(const YamlValue& value) {
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
  for (const YamlValue& item : value.list()) {
    const std::int64_t extent = item.integer_in(0, kMaxExtent);
    if (extent > 0 && elements > kMaxExtent / extent) value.fail("expected at most 2^50 elements");
    elements *= extent;
    shape.push_back(extent);
  }
  if (shape.size() > 255) value.fail("expected at most 255 dimensions");
  return shape;
}

// Neighbouring tensors mostly share layouts; equal ones are stored once, so that they form one
// group.
template <class Entry>
std::uint32_t intern(std::vector<Entry>& table, Entry entry) {
  constexpr std::size_t kLookBack = 64;
  const std::size_t oldest = table.size() > kLookBack ? table.size() - kLookBack : 0;
  for (std::size_t i = table.size(); i-- > oldest;)
    if (table[i] == entry) return static_cast<std::uint32_t>(i);
  table.push_back(std::move(entry));
  return static_cast<std::uint32_t>(table.size()) - 1;
}

// Numbers of the shared buffers of one side, by name.
class BufferTable {
 public:
  BufferRef of(const std::optional<std::string>& name) {
    if (!name) return {};
    const auto [entry, added] =
        numbers_.try_emplace(*name, static_cast<std::uint32_t>(buffers_.size()));
    if (added) buffers_.push_back({*name, DestinationClass::kDirect});
    return {entry->second, 0};
  }
  std::vector<SharedBuffer> take() { return std::move(buffers_); }
  bool knows(const std::string& name) const { return numbers_.contains(name); }

 private:
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<SharedBuffer> buffers_;
};

class TensorJobReader {
 public:
  TensorJobReader(std::int64_t last_rank, const std::string& base_folder)
      : last_rank_(last_rank), base_folder_(base_folder) {
    input_.destination_buffer_of.emplace_back();
    input_.validate_memory = true;
  }

  void read_tensor(const YamlValue& item) {
    YamlMap map = item.map();
    TensorInput tensor;
    tensor.name = new_name(map.required("name"));
    tensor.shape = parse_shape(map.required("shape"));
    tensor.dtype = map.required("dtype").dtype();
    const std::vector<std::string> dims = parse_dim_names(map, tensor.shape.size());
    const SideContext context{tensor.shape, dims, tensor.dtype, last_rank_, base_folder_};
    const YamlValue source_side = map.required("source");
    ParsedSide source = parse_side(source_side, context);
    if (source.type) tensor.dtype = plain_type(*source.type, source_side);
    default_type_ = context.dtype;
    tensor.source = intern(input_.source_shardings, std::move(source.sharding));
    const BufferRef source_buffer = source_buffers_.of(source.buffer);
    const auto original = static_cast<std::uint32_t>(input_.tensors.size());
    add(tensor, source_buffer, map.required("destination"), context);
    if (const auto also = map.optional("also"))
      for (const YamlValue& other : also->list()) {
        YamlMap names = other.map();
        tensor.name = new_name(names.required("name"));
        tensor.tied_to = original;
        add(tensor, source_buffer, names.required("destination"), context);
        names.finish();
      }
    map.finish();
  }

  void read_buffers(const YamlValue& value) {
    for (const auto& [name, entry] : value.map().entries()) {
      if (!source_buffers_.knows(name) && !destination_buffers_.knows(name))
        entry.fail(fmt::format("no tensor lies in a buffer called {}", name));
      input_.declared_buffers[name] = parse_buffer(entry);
    }
  }

  ProblemInput take() {
    input_.source_buffers = source_buffers_.take();
    input_.destination_buffers.push_back(destination_buffers_.take());
    return std::move(input_);
  }

 private:
  std::string new_name(const YamlValue& value) {
    std::string name = value.text();
    if (!names_.insert(name).second) value.fail("another tensor has this name");
    return name;
  }

  void add(const TensorInput& tensor, const BufferRef& source_buffer, const YamlValue& side,
           const SideContext& context) {
    ParsedSide destination = parse_side(side, context);
    input_.tensors.push_back(tensor);
    const StoredType type =
        destination.type.value_or(StoredType{dtype_name(default_type_), default_type_});
    if (type.scales != Recipe::kAsIs || type.dtype != tensor.dtype)
      input_.tensors.back().destination_type = type;
    input_.tensors.back().destination =
        intern(input_.destination_shardings,
               std::vector<PoolSharding>{{0, std::move(destination.sharding)}});
    input_.source_buffer_of.push_back(source_buffer);
    input_.destination_buffer_of[0].push_back(destination_buffers_.of(destination.buffer));
  }

  // Values with scales that stand on both sides are two tensors; to take them apart is not planned.
  static DType plain_type(const StoredType& type, const YamlValue& side) {
    if (type.scales != Recipe::kAsIs)
      side.map().required("dtype").fail(
          "a blockwise type on the source; expected a plain one (weights that are stored with "
          "scales are two tensors of the job)");
    return type.dtype;
  }

  static std::vector<std::string> parse_dim_names(YamlMap& map, std::size_t dims) {
    std::vector<std::string> names;
    const auto value = map.optional("dims");
    if (!value) return names;
    for (const YamlValue& item : value->list()) {
      std::string name = item.text();
      if (std::find(names.begin(), names.end(), name) != names.end())
        item.fail(fmt::format("{} stands twice", name));
      names.push_back(std::move(name));
    }
    if (names.size() != dims)
      value->fail(fmt::format("expected the names of {} dimensions, found {}", dims, names.size()));
    return names;
  }

  DeclaredBuffer parse_buffer(const YamlValue& value) const {
    YamlMap map = value.map();
    DeclaredBuffer buffer;
    const YamlValue bytes = map.required("bytes");
    if (bytes.is_map())
      for (const auto& [key, size] : bytes.map().entries())
        buffer.rank_bytes[rank_key(key, size, last_rank_)] = size.bytes();
    else
      buffer.bytes = bytes.bytes();
    if (const auto padding = map.optional("padding"))
      for (const YamlValue& item : padding->list()) {
        const std::vector<YamlValue> bounds = item.list();
        if (bounds.size() != 2) item.fail("expected [low, high], in bytes");
        const std::int64_t low = bounds[0].integer_in(0, kMaxExtent);
        buffer.padding.emplace_back(low, bounds[1].integer_in(low, kMaxExtent));
      }
    if (const auto fill = map.optional("fill")) buffer.fill = parse_fill(*fill);
    map.finish();
    return buffer;
  }

  std::int64_t last_rank_;
  const std::string& base_folder_;
  DType default_type_ = DType::kBF16;  // of the tensor that is being read, for both sides
  std::set<std::string> names_;
  ProblemInput input_;
  BufferTable source_buffers_;
  BufferTable destination_buffers_;
};

}  // namespace

ProblemInput parse_tensors(const YamlValue& tensors, const std::optional<YamlValue>& buffers,
                           const Topology& topology, const std::string& base_folder) {
  TensorJobReader reader(static_cast<std::int64_t>(topology.gpus.size()) - 1, base_folder);
  const std::vector<YamlValue> items = tensors.list();
  if (items.empty()) tensors.fail("expected at least one tensor");
  for (const YamlValue& item : items) reader.read_tensor(item);
  if (buffers) reader.read_buffers(*buffers);
  return reader.take();
}

}  // namespace transload
