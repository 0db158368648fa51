// The memory views of all parts of an engine's fused buffers, each computed once per layer.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/engines/assemble.h"

namespace transload {

// How one part lies in its buffer, whatever rank holds it.
struct PartView {
  std::int64_t id = 0;  // equal views have equal ids
  MemoryView memory;
  bool unknown = false;  // alternating columns, and the engine's order of them is not known
  // More parts than units of alternation: the buffer's rows are cut evenly, within a unit.
  bool plain_cut = false;
  PartPlace place;  // in the whole buffer, where plain_cut
  std::int64_t total_rows = 0;
  std::vector<std::int64_t> shape;
  std::int64_t element_bytes = 0;
};

// The boxes of a part whose buffer is cut plainly in `ways`.
Sharding plain_cut(const PartView& view, std::span<const Rank> ranks, std::int64_t ways);

// The name of the buffer that a tensor lies in; `slot` is the local expert where each has its own.
std::string buffer_name(const EngineLayout& layout, const Model& model, const LogicalTensor& tensor,
                        const FusedBuffer& buffer, std::uint32_t slot);

class ViewTable {
 public:
  // InputError: two tensors claim one place in a buffer.
  ViewTable(const EngineLayout& layout, const Model& model, std::span<const LogicalTensor> tensors);

  // Row of the engine's table of parts that tensor `index` is; UINT32_MAX: has its own buffer.
  std::uint32_t part_of(std::uint32_t index) const;
  // InputError: parts of one buffer that differ in dtype or width.
  const PartView& of(std::uint32_t index, std::uint32_t part);

  std::size_t layers() const { return layers_; }
  std::size_t layer_place(const LogicalTensor& tensor) const {
    return static_cast<std::size_t>(tensor.layer) + 1;
  }

 private:
  std::size_t cell(std::uint32_t index, std::uint32_t part) const;
  // A buffer's parts that a layer has, whole, and in how many pieces each is cut.
  struct BufferParts {
    std::vector<LocalPart> whole;
    std::vector<std::int64_t> pieces;
    std::size_t own = 0;  // the part that is asked about
  };
  BufferParts parts_beside(std::uint32_t index, std::uint32_t part, bool alternating) const;
  std::int64_t units_of(std::uint32_t index, const FusedBuffer& buffer, const BufferParts& parts,
                        bool alternating) const;
  PartView make(std::uint32_t index, std::uint32_t part) const;
  bool alternates(std::uint32_t index) const;

  const EngineLayout& layout_;
  const Model& model_;
  std::span<const LogicalTensor> tensors_;
  std::size_t layers_ = 1;
  std::array<std::vector<std::uint32_t>, kParameterKindCount> parts_of_kind_;
  std::vector<std::uint32_t> first_tensor_;  // by layer, part, weight or bias
  std::vector<std::uint32_t> view_of_;       // the same; index into views_
  std::vector<PartView> views_;
  std::map<std::vector<std::int64_t>, std::uint32_t> ids_;
};

}  // namespace transload
