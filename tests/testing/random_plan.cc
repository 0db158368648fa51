#include "tests/testing/random_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "tests/testing/hand_plans.h"

namespace transload::testing {
namespace {

using Box = std::vector<std::int64_t>;

struct Range {
  std::uint32_t first;
  std::uint32_t count;
  std::vector<Box> source;       // per source rank; may be empty boxes
  std::vector<Box> destination;  // per destination rank
};

class RandomPlan {
 public:
  explicit RandomPlan(std::mt19937_64& random)
      : random_(random), grouped_(draw(2) == 0), plan_(4, 2, 1 + static_cast<unsigned>(draw(4))) {
    if (grouped_) plan_.header.discipline = Discipline::kGroups;
  }

  Plan make() {
    const std::size_t ranges = 1 + draw(3);
    for (std::size_t i = 0; i < ranges; ++i) add_range();
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
    Range range{tensors_, 1 + static_cast<std::uint32_t>(draw(3)), {}, {}};
    std::vector<std::int64_t> shape(1 + draw(3));
    for (std::int64_t& extent : shape) extent = 2 * (1 + static_cast<std::int64_t>(draw(4)));
    const DType dtype = draw(2) == 0 ? DType::kF32 : DType::kBF16;
    for (std::uint32_t i = 0; i < range.count; ++i)
      plan_.builder.add_tensor("t" + std::to_string(tensors_++), shape, dtype);
    range.source = cut(shape, 2);
    range.destination = cut(shape, 3);
    for (std::size_t i = 0; i < 2; ++i)
      add_shard(static_cast<std::int32_t>(i), Side::kSource, range, range.source[i], dtype);
    for (std::size_t i = 0; i < 3; ++i)
      add_shard(static_cast<std::int32_t>(i) + 1, Side::kDestination, range, range.destination[i],
                dtype);
    ranges_.push_back(std::move(range));
  }

  void add_shard(std::int32_t rank, Side side, const Range& range, const Box& box, DType dtype) {
    if (draw(2) == 0) {
      plan_.builder.add_dense_shard(rank, side, range.first, range.count, box);
      return;
    }
    // Rows of the last dimension padded by two elements, tensor after tensor in one buffer.
    ShardSpec shard;
    shard.side = side;
    shard.tensor_first = range.first;
    shard.tensor_count = shard.inner_count = range.count;
    shard.box = plan_.builder.add_box(box);
    std::int64_t stride = dtype_bits(dtype);
    shard.loops.resize(box.size() / 2);
    for (std::size_t d = box.size() / 2; d-- > 0;) {
      const std::int64_t length = box[2 * d + 1] - box[2 * d];
      shard.loops[d] = {static_cast<std::uint8_t>(d), length, stride};
      stride *= d + 1 == box.size() / 2 ? length + 2 : length;
    }
    shard.inner_bits = static_cast<std::uint64_t>(stride);
    shard.buffer = plan_.builder.add_buffers(
        rank, side, static_cast<std::uint64_t>(stride) / 8 * range.count, 1, "fused");
    plan_.builder.add_shard(rank, shard);
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
  std::uint32_t tensors_ = 0;
  std::int32_t group_ = 0;
  std::vector<Range> ranges_;
  std::map<std::int32_t, std::vector<OpId>> sends_;
  std::map<std::int32_t, std::vector<OpId>> unpacks_;
};

}  // namespace

Plan random_plan(std::mt19937_64& random) { return RandomPlan(random).make(); }

}  // namespace transload::testing
