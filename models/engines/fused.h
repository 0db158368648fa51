// Fused buffers: where an engine keeps several logical tensors in one parameter of its own.
//
// A fused buffer is a list of *sections*, one after the other along dimension 0. A section with one
// part holds that part's local rows; a section with several parts alternates them unit by unit (the
// query heads of a group, its key, its value). `fused_view` turns that into the memory view of one
// part: offset and strides in a rank's buffer. Engines give two tables: the buffers, and which kind
// of parameter goes into which section of which.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/engines/rules.h"

namespace transload {

// One buffer for all, one buffer per local expert, or one buffer with a slot per local expert.
enum class BufferSharing : std::uint8_t { kPlain, kPerExpert, kSlots };

// What becomes of gate and up columns that alternate in the checkpoint.
enum class Alternation : std::uint8_t { kHalves, kKept, kUnknown };

struct FusedBuffer {
  // Below the layer; {} stands for "weight" or "bias", and per expert for "weight7".
  std::string_view name;
  BufferSharing sharing = BufferSharing::kPlain;
  RuleUnit alternate_by = RuleUnit::kNothing;  // unit of sections with several parts
  Alternation alternation = Alternation::kHalves;
  DestinationClass destination_class = DestinationClass::kDirect;
  std::string_view conversion = {};  // why the live value is another than the loaded one
};

struct FusedPart {
  ParameterKind kind;
  std::uint8_t buffer;  // index into the engine's buffers
  std::uint8_t section;
  std::string_view module = {};  // only tensors whose module ends so ("wk"); empty: all of the kind
};

// One part as it stands in the local buffer of a rank.
struct LocalPart {
  std::uint8_t section = 0;
  std::int64_t rows = 0;  // local extent of dimension 0
};

// A part's place. Offsets and strides in elements; `unit_rows` of `units` blocks of `block_rows`.
struct PartPlace {
  std::int64_t offset_rows = 0;
  std::int64_t unit_rows = 0;
  std::int64_t block_rows = 0;
  std::int64_t units = 1;
  bool dense() const { return units == 1 || unit_rows == block_rows; }
};

// Place of parts[index]; `units`: how many units of alternation a rank (or the whole) holds. Parts
// stand in order of their sections. `total_rows` receives the rows of the whole buffer.
PartPlace place_part(std::span<const LocalPart> parts, std::size_t index, std::int64_t units,
                     std::int64_t* total_rows);

// The memory view of a local shard with these extents at `place`.
MemoryView fused_view(const PartPlace& place, std::span<const std::int64_t> local_shape,
                      std::int64_t element_bytes);

// The part of a checkpoint name that fused names start with: "model.layers.3.self_attn." of
// "model.layers.3.self_attn.q_proj.weight", "….mlp.experts." of "….mlp.experts.7.up_proj.weight".
std::string_view module_parent(std::string_view published_name);
// Its own module: "q_proj", "A_log".
std::string_view module_name(std::string_view published_name);
// Biases of fused buffers are the only ones of their parts with one dimension.
inline bool is_bias(const LogicalTensor& tensor) { return tensor.shape.size() == 1; }

}  // namespace transload
