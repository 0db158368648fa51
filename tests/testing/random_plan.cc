#include "tests/testing/random_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "tests/testing/hand_plans.h"
#include "tests/testing/random_memory.h"

namespace transload::testing {
namespace {

using Box = std::vector<std::int64_t>;

struct Range {
  std::uint32_t first;
  std::uint32_t count;
  std::vector<std::int64_t> shape;
  DType dtype;
  std::vector<Box> source;       // per source rank; may be empty boxes
  std::vector<Box> destination;  // per destination rank
};

class RandomPlan {
 public:
  explicit RandomPlan(std::mt19937_64& random)
      : random_(random),
        grouped_(draw(2) == 0),
        plan_(4, 2, 1 + static_cast<unsigned>(draw(4))),
        memory_(plan_.builder, random) {
    if (grouped_) plan_.header.discipline = Discipline::kGroups;
  }

  Plan make() {
    const std::size_t ranges = 1 + draw(4);
    for (std::size_t i = 0; i < ranges; ++i) {
      if (i > 0 && draw(5) == 0)
        add_names_of(ranges_[draw(i)]);
      else
        add_range();
    }
    memory_.finish();
    for (std::int32_t rank = 0; rank < 4; ++rank)
      for (const SlotClass slot_class : {SlotClass::kSend, SlotClass::kLand})
        plan_.builder.set_staging(rank, slot_class, 2, 1 << 16);
    for (const std::int32_t source : {0, 1})
      for (const std::int32_t destination : {1, 2, 3}) add_bundle(source, destination);
    return plan_.seal();
  }

 private:
  std::size_t draw(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  // `parts` boxes that are the whole tensor cut along one dimension at random even places.
  std::vector<Box> cut(const std::vector<std::int64_t>& shape, std::size_t parts) {
    const std::size_t dim = draw(shape.size());
    std::vector<std::int64_t> cuts{0, shape[dim]};
    for (std::size_t i = 1; i < parts; ++i)
      cuts.push_back(2 *
                     static_cast<std::int64_t>(draw(static_cast<std::size_t>(shape[dim] / 2 + 1))));
    std::sort(cuts.begin(), cuts.end());
    std::vector<Box> boxes;
    for (std::size_t i = 0; i < parts; ++i) {
      Box box;
      for (const std::int64_t extent : shape) box.insert(box.end(), {0, extent});
      box[2 * dim] = cuts[i];
      box[2 * dim + 1] = cuts[i + 1];
      boxes.push_back(std::move(box));
    }
    return boxes;
  }

  void add_range() {
    Range range{tensors_, 1 + static_cast<std::uint32_t>(draw(3)), {}, DType::kBF16, {}, {}};
    range.shape.resize(1 + draw(3));
    for (std::int64_t& extent : range.shape) extent = 2 * (1 + static_cast<std::int64_t>(draw(4)));
    if (draw(2) == 0) range.dtype = DType::kF32;
    for (std::uint32_t i = 0; i < range.count; ++i)
      plan_.builder.add_tensor("t" + std::to_string(tensors_++), range.shape, range.dtype);
    range.source = cut(range.shape, 2);
    for (std::int32_t rank = 0; rank < 2; ++rank)
      memory_.add_shard(rank, Side::kSource, range.first, range.count,
                        range.source[static_cast<std::size_t>(rank)], range.dtype);
    add_destinations(std::move(range));
  }

  // The same data under other names, with destinations of their own.
  void add_names_of(Range range) {
    const std::uint32_t source = range.first;
    range.first = tensors_;
    for (std::uint32_t i = 0; i < range.count; ++i)
      plan_.builder.add_tensor("t" + std::to_string(tensors_++), range.shape, range.dtype,
                               source + i);
    add_destinations(std::move(range));
  }

  void add_destinations(Range range) {
    range.destination = cut(range.shape, 3);
    for (std::int32_t rank = 1; rank < 4; ++rank)
      memory_.add_shard(rank, Side::kDestination, range.first, range.count,
                        range.destination[static_cast<std::size_t>(rank - 1)], range.dtype);
    ranges_.push_back(std::move(range));
  }

  void add_bundle(std::int32_t source, std::int32_t destination) {
    std::vector<SliceSpec> slices;
    for (const Range& range : ranges_) {
      const Box& a = range.source[static_cast<std::size_t>(source)];
      const Box& b = range.destination[static_cast<std::size_t>(destination - 1)];
      Box common(a.size());
      bool empty = false;
      for (std::size_t i = 0; i < a.size(); i += 2) {
        common[i] = std::max(a[i], b[i]);
        common[i + 1] = std::min(a[i + 1], b[i + 1]);
        empty |= common[i] >= common[i + 1];
      }
      if (!empty) slices.push_back({range.first, range.count, 1, plan_.builder.add_box(common)});
    }
    if (slices.empty()) return;
    const std::int32_t bundle = plan_.builder.add_bundle(slices);
    const std::uint64_t bytes = plan_.builder.bundle_bytes(bundle);
    if (source == destination)
      plan_.copy(OpRole::kLocal, source, bundle, 0, bytes, kNone, kNone);
    else
      add_chunks(source, destination, bundle, bytes);
  }

  void add_chunks(std::int32_t source, std::int32_t destination, std::int32_t bundle,
                  std::uint64_t bytes) {
    const std::uint64_t chunk = std::max<std::uint64_t>(8, bytes / (1 + draw(4)) / 8 * 8);
    for (std::uint64_t begin = 0; begin < bytes; begin += chunk) {
      const std::uint64_t size = std::min(chunk, bytes - begin);
      std::vector<OpId>& sent = sends_[source];
      std::vector<OpId>& freed = unpacks_[destination];
      const auto send_slot = static_cast<std::int32_t>(sent.size() % 2);
      const auto land_slot = static_cast<std::int32_t>(2 + freed.size() % 2);
      std::vector<OpId> after;
      if (sent.size() >= 2) after = {sent[sent.size() - 2]};
      const OpId pack =
          plan_.copy(OpRole::kPack, source, bundle, begin, size, kNone, send_slot, after);
      after = {pack};
      if (freed.size() >= 2) after.push_back(freed[freed.size() - 2]);
      const bool inside = source / 2 == destination / 2;
      sent.push_back(plan_.transfer(inside ? OpRole::kFanOut : OpRole::kInject, source, destination,
                                    bundle, begin, size, send_slot, land_slot, after,
                                    grouped_ ? group_++ : kNone));
      freed.push_back(plan_.copy(OpRole::kUnpack, destination, bundle, begin, size, land_slot,
                                 kNone, {sent.back()}));
    }
  }

  std::mt19937_64& random_;
  bool grouped_;
  HandPlan plan_;
  RandomMemory memory_;
  std::uint32_t tensors_ = 0;
  std::int32_t group_ = 0;
  std::vector<Range> ranges_;
  std::map<std::int32_t, std::vector<OpId>> sends_;
  std::map<std::int32_t, std::vector<OpId>> unpacks_;
};

}  // namespace

Plan random_plan(std::mt19937_64& random) { return RandomPlan(random).make(); }

}  // namespace transload::testing
