#include <fmt/format.h>

#include <algorithm>

#include "common/recipe.h"
#include "planner/schedule/check/checks.h"
#include "planner/schedule/check/moved_boxes.h"

// Whole blocks: elements that share a scale are made by one operation and lie in one shard, or the
// scale of neither would be right. Whole elements: the byte range of a convert cuts none. Present
// bytes: a convert out of a slot finds all that it needs in the bundle there, and one that reads
// what has arrived waits for everybody who wrote it. (That it reads what its rank holds is
// check_held_sources.)

namespace transload {
namespace {

class Conversions {
 public:
  Conversions(const Plan& plan, Findings& findings) : plan_(plan), findings_(findings) {}

  void check_operation(OpId op) {
    items_.clear();
    parts_.clear();
    add_range_items(plan_, plan_.op_bundle[op], plan_.op_begin[op],
                    plan_.op_begin[op] + plan_.op_bytes[op], op, items_, parts_);
    __int128 bytes = 0;
    for (const SweepItem& item : items_) {
      if (!check_tensors(op, item)) return;
      bytes += box_volume(item.box) * item.tensor_count *
               dtype_bits(static_cast<DType>(plan_.tensor_dtype[item.tensor_first])) / 8;
    }
    if (bytes != static_cast<__int128>(plan_.op_bytes[op]))
      refuse(op, "its byte range cuts an element");
    if (plan_.op_read_bundle[op] >= 0) check_slot(op);
  }

  // Destination shards of made tensors begin and end between blocks.
  void check_shards(std::int32_t rank) {
    const auto r = static_cast<std::size_t>(rank);
    for (std::uint64_t row = plan_.rank_shard_first[r]; row < plan_.rank_shard_first[r + 1];
         ++row) {
      const std::uint32_t tensor = plan_.shard_tensor_first[row];
      if (plan_.tensor_made_from[tensor] == tensor) continue;
      const Bounds box = box_bounds(plan_, plan_.shard_box[row], plan_.tensor_dims[tensor]);
      if (box_volume(box) == 0 || has_whole_blocks(tensor, box)) continue;
      findings_.add(kExactlyOnce,
                    fmt::format("rank {}: its shard {} cuts a block of {}", rank,
                                describe_box(plan_, tensor, plan_.shard_tensor_count[row], box),
                                recipe_of(tensor).name));
    }
  }

  // Converts of what has arrived come after all that wrote it.
  void check_arrivals(std::int32_t rank) {
    items_.clear();
    parts_.clear();
    bool any = false;
    for (const OpId op : program(plan_, rank)) {
      if (!moves_bytes(plan_, op) || plan_.op_bytes[op] == 0) continue;
      const bool reads = reads_arrived(plan_, op);
      any |= reads;
      if (reads) add_items(op, true);
    }
    if (!any) return;
    for (const OpId op : program(plan_, rank))
      if (moves_bytes(plan_, op) && plan_.op_bytes[op] > 0 && !reads_arrived(plan_, op) &&
          plan_.op_destination[op] == rank && plan_.op_destination_slot[op] < 0)
        add_items(op, false);
    sweep_tensors(items_, [&](std::uint32_t tensor, std::uint64_t tensors,
                              std::span<const std::uint32_t> active) {
      if (!findings_.full()) check_order_of(tensor, tensors, active);
    });
  }

 private:
  const RecipeInfo& recipe_of(std::uint32_t tensor) const {
    return recipe_info(static_cast<Recipe>(plan_.tensor_recipe[tensor]));
  }

  void refuse(OpId op, const std::string& why) {
    findings_.add(kExactlyOnce, describe_op(plan_, op) + ": " + why);
  }

  bool check_tensors(OpId op, const SweepItem& item) {
    const std::uint8_t making = making_of(op);
    for (std::uint32_t k = 0; k < item.tensor_count; ++k) {
      const std::uint32_t tensor = item.tensor_first + k * item.tensor_step;
      if (plan_.tensor_made_from[tensor] == tensor) {
        refuse(op, fmt::format("tensor {} is not made from another", tensor_name(plan_, tensor)));
        return false;
      }
      if (plan_.tensor_making[tensor] != making) {
        refuse(op, fmt::format("tensor {} is made elsewhere", tensor_name(plan_, tensor)));
        return false;
      }
      if (has_whole_blocks(tensor, item.box)) continue;
      refuse(op, fmt::format("it makes {} without the rest of a block of {}",
                             describe_box(plan_, tensor, 1, item.box), recipe_of(tensor).name));
      return false;
    }
    return true;
  }

  std::uint8_t making_of(OpId op) const {
    return plan_
        .tensor_making[plan_.slice_tensor_first[plan_.bundle_slice_first[static_cast<std::size_t>(
            plan_.op_bundle[op])]]];
  }

  // An element of a scale is a whole block already.
  bool has_whole_blocks(std::uint32_t tensor, Bounds box) const {
    const RecipeInfo& recipe = recipe_of(tensor);
    if (recipe.scale) return true;
    const std::size_t dims = box.size() / 2;
    const auto shape = tensor_shape(plan_, tensor);
    for (std::size_t d = dims < 2 ? 0 : dims - 2; d < dims; ++d) {
      const std::int64_t block = d + 1 == dims ? recipe.block_columns : recipe.block_rows;
      const bool ends = box[2 * d + 1] % block == 0 || box[2 * d + 1] == shape[d];
      if (box[2 * d] % block != 0 || !ends) return false;
    }
    return true;
  }

  // What a convert needs, or (`wanted` false) what another operation writes.
  void add_items(OpId op, bool reads) {
    made_.clear();
    add_range_items(plan_, plan_.op_bundle[op], plan_.op_begin[op],
                    plan_.op_begin[op] + plan_.op_bytes[op], op, made_, parts_);
    if (reads) name_slices_by_origin(plan_, made_, parts_);
    for (SweepItem& item : made_) item.wanted = reads;
    items_.insert(items_.end(), made_.begin(), made_.end());
  }

  void check_slot(OpId op) {
    std::vector<SweepItem> there;
    add_bundle_items(plan_, plan_.op_read_bundle[op], op, there);
    for (SweepItem& item : there) item.wanted = true;
    name_slices_by_origin(plan_, items_, parts_);
    items_.insert(items_.end(), there.begin(), there.end());
    sweep_tensors(items_, [&](std::uint32_t tensor, std::uint64_t tensors,
                              std::span<const std::uint32_t> active) {
      boxes_.clear();
      for (const std::uint32_t index : active)
        if (items_[index].wanted) boxes_.push_back(items_[index].box);
      for (const std::uint32_t index : active) {
        if (items_[index].wanted || box_covered(items_[index].box, boxes_)) continue;
        refuse(op, fmt::format("it needs {}, which is not in its slot",
                               describe_box(plan_, tensor, tensors, items_[index].box)));
        return;
      }
    });
  }

  void check_order_of(std::uint32_t tensor, std::uint64_t tensors,
                      std::span<const std::uint32_t> active) {
    for (const std::uint32_t reader : active) {
      if (!items_[reader].wanted) continue;
      const auto after = op_after(plan_, items_[reader].tag);
      for (const std::uint32_t writer : active) {
        if (items_[writer].wanted || !boxes_intersect(items_[reader].box, items_[writer].box) ||
            std::binary_search(after.begin(), after.end(), items_[writer].tag))
          continue;
        refuse(items_[reader].tag,
               fmt::format("it reads {} but has no edge from its writer {}",
                           describe_box(plan_, tensor, tensors, items_[writer].box),
                           describe_op(plan_, items_[writer].tag)));
        return;
      }
    }
  }

  const Plan& plan_;
  Findings& findings_;
  std::vector<SweepItem> items_;
  std::vector<SweepItem> made_;
  std::deque<OwnedBounds> parts_;
  std::vector<Bounds> boxes_;
};

}  // namespace

void check_conversions(const Plan& plan, Findings& findings) {
  if (std::none_of(plan.tensor_making.begin(), plan.tensor_making.end(),
                   [](std::uint8_t making) { return making != 0; }) &&
      first_convert(plan) == kNone)
    return;
  Conversions check(plan, findings);
  for (OpId op = 0; op < plan.operations() && !findings.full(); ++op)
    if (op_kind(plan, op) == OpKind::kConvert && plan.op_bytes[op] > 0) check.check_operation(op);
  for (std::size_t rank = 0; rank < plan.ranks() && !findings.full(); ++rank) {
    check.check_shards(static_cast<std::int32_t>(rank));
    check.check_arrivals(static_cast<std::int32_t>(rank));
  }
}

}  // namespace transload
