// Runs of random layouts against an element-by-element oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <tuple>

#include "common/error.h"
#include "planner/schedule/access.h"
#include "planner/schedule/builder.h"
#include "planner/schedule/plan_validate.h"
#include "planner/schedule/runs.h"

namespace transload {
namespace {

using Bounds = std::vector<std::int64_t>;

// (packed, buffer, offset, bytes)
using Row = std::tuple<std::uint64_t, std::uint32_t, std::uint64_t, std::uint64_t>;

std::vector<Row> runs_of(const Plan& plan, std::int32_t bundle, std::uint64_t begin,
                         std::uint64_t bytes, std::int32_t rank, Side side, Missing missing) {
  std::vector<Row> rows;
  for_each_run(plan, bundle, begin, bytes, rank, side, missing, [&](const Run& run) {
    rows.emplace_back(run.packed, run.buffer, run.offset, run.bytes);
  });
  return rows;
}

PlanBuilder one_rank() {
  PlanBuilder builder;
  builder.add_gpu_model({});
  builder.add_rank(0, 0, 0, 0);
  return builder;
}

// A random layout on one rank, kept beside the plan so that the oracle need not read it back.
struct RandomJob {
  Plan plan;
  std::int64_t element_bytes = 0;
};

class RandomLayout {
 public:
  explicit RandomLayout(std::uint32_t seed) : random_(seed) {}

  RandomJob make() {
    static constexpr std::array kTypes{DType::kU8, DType::kBF16, DType::kF32, DType::kF64};
    PlanBuilder builder = one_rank();
    const std::size_t dims = below(5);
    Bounds shape(dims);
    for (std::int64_t& extent : shape) extent = 1 + static_cast<std::int64_t>(below(6));
    const DType dtype = kTypes[below(kTypes.size())];
    element_bytes_ = dtype_bits(dtype) / 8;
    const std::uint32_t tensors = 1 + static_cast<std::uint32_t>(below(4));
    for (std::uint32_t t = 0; t < tensors; ++t)
      builder.add_tensor("t" + std::to_string(t), shape, dtype);
    for (Side side : {Side::kSource, Side::kDestination}) {
      const std::size_t rows = 1 + below(4);
      for (std::size_t i = 0; i < rows; ++i)
        add_row(builder, side, tensors, below(2) == 0 ? whole(shape) : part(shape));
    }
    std::vector<SliceSpec> slices;
    const std::size_t count = 1 + below(3);
    for (std::size_t i = 0; i < count; ++i) {
      const auto first = static_cast<std::uint32_t>(below(tensors));
      const auto step = 1 + static_cast<std::uint32_t>(below(2));
      const auto most = (tensors - first - 1) / step + 1;
      slices.push_back(
          {first, 1 + static_cast<std::uint32_t>(below(most)), step, builder.add_box(part(shape))});
    }
    builder.add_bundle(slices);
    return {builder.seal({}), element_bytes_};
  }

  std::size_t below(std::size_t n) { return random_() % n; }

 private:
  static Bounds whole(const Bounds& shape) {
    Bounds bounds;
    for (std::int64_t extent : shape) bounds.insert(bounds.end(), {0, extent});
    return bounds;
  }

  Bounds part(const Bounds& shape) {
    Bounds bounds;
    for (std::int64_t extent : shape) {
      const auto low = static_cast<std::int64_t>(below(static_cast<std::size_t>(extent)));
      const bool empty = below(40) == 0;
      const auto length = static_cast<std::int64_t>(below(static_cast<std::size_t>(extent - low)));
      bounds.insert(bounds.end(), {low, empty ? low : low + 1 + length});
    }
    return bounds;
  }

  // Loops in a random order, composite extents sometimes in two digits, strides sometimes with
  // gaps.
  void add_row(PlanBuilder& builder, Side side, std::uint32_t tensors, const Bounds& bounds) {
    ShardSpec shard;
    shard.side = side;
    shard.tensor_first = static_cast<std::uint32_t>(below(tensors));
    shard.tensor_count = 1 + static_cast<std::uint32_t>(below(tensors - shard.tensor_first));
    shard.box = builder.add_box(bounds);
    for (std::size_t d = 0; d < bounds.size() / 2; ++d) {
      const std::int64_t extent = bounds[2 * d + 1] - bounds[2 * d];
      const auto dim = static_cast<std::uint8_t>(d);
      const std::int64_t factor = extent % 2 == 0 ? 2 : 3;
      if (extent > 3 && extent % factor == 0 && below(2) == 0) {
        shard.loops.push_back({dim, extent / factor, 0});
        shard.loops.push_back({dim, factor, 0});
      } else {
        shard.loops.push_back({dim, extent, 0});
      }
    }
    // Digits keep their order within a dimension; strides follow a random nesting of the loops.
    std::vector<std::size_t> nest(shard.loops.size());
    for (std::size_t i = 0; i < nest.size(); ++i) nest[i] = i;
    if (below(2) == 0) std::shuffle(nest.begin(), nest.end(), random_);
    std::int64_t stride = element_bytes_;
    for (std::size_t i = nest.size(); i-- > 0;) {
      LoopSpec& loop = shard.loops[nest[i]];
      if (below(6) == 0) stride += element_bytes_ * static_cast<std::int64_t>(below(3));
      loop.stride_bits = stride * 8;
      stride *= std::max<std::int64_t>(loop.length, 1);
    }
    const auto span = static_cast<std::uint64_t>(stride);
    shard.inner_count = 1 + static_cast<std::uint32_t>(below(3));
    shard.bit_offset = 8 * below(5);
    shard.inner_bits = 8 * (span + below(3));
    const std::uint32_t buffers = (shard.tensor_count + shard.inner_count - 1) / shard.inner_count;
    shard.buffer = builder.add_buffers(
        0, side, (shard.bit_offset + shard.inner_count * shard.inner_bits) / 8, buffers);
    builder.add_shard(0, shard);
  }

  std::mt19937 random_;
  std::int64_t element_bytes_ = 1;
};

// Calls visit(coordinates) for every element of the box, row-major.
template <class Visit>
void for_each_coordinate(const Plan& plan, std::uint64_t box, std::size_t dims, Visit&& visit) {
  std::vector<std::int64_t> at(dims);
  for (std::size_t d = 0; d < dims; ++d) {
    at[d] = plan.bounds[box + 2 * d];
    if (at[d] == plan.bounds[box + 2 * d + 1]) return;
  }
  while (true) {
    visit(at);
    std::size_t d = dims;
    while (d-- > 0) {
      if (++at[d] < plan.bounds[box + 2 * d + 1]) break;
      at[d] = plan.bounds[box + 2 * d];
    }
    if (d == SIZE_MAX) return;
  }
}

bool in_box(const Plan& plan, std::uint64_t box, const std::vector<std::int64_t>& at) {
  for (std::size_t d = 0; d < at.size(); ++d)
    if (at[d] < plan.bounds[box + 2 * d] || at[d] >= plan.bounds[box + 2 * d + 1]) return false;
  return true;
}

// Straight from the definition in plan.h: the digits of each relative coordinate, one by one.
std::pair<std::uint32_t, std::uint64_t> address(const Plan& plan, std::size_t row,
                                                std::uint32_t tensor,
                                                const std::vector<std::int64_t>& at) {
  const std::uint32_t i = tensor - plan.shard_tensor_first[row];
  std::uint64_t bits =
      plan.shard_bit_offset[row] + i % plan.shard_inner_count[row] * plan.shard_inner_bits[row];
  const std::size_t first = plan.shard_loop_first[row];
  for (std::size_t d = 0; d < at.size(); ++d) {
    std::int64_t rest = at[d] - plan.bounds[plan.shard_box[row] + 2 * d];
    for (std::size_t l = first + plan.shard_loops[row]; l-- > first;) {
      if (plan.loop_dim[l] != d) continue;
      bits += static_cast<std::uint64_t>(rest % plan.loop_length[l] * plan.loop_stride_bits[l]);
      rest /= plan.loop_length[l];
    }
  }
  return {plan.shard_buffer[row] + i / plan.shard_inner_count[row], bits / 8};
}

using Byte = std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>;  // packed, buffer, offset

// Every byte of bundle 0 on the side, by the slow way; `held[p]` tells whether packed byte p is
// held.
std::vector<Byte> oracle(const RandomJob& job, Side side, std::vector<bool>& held) {
  const Plan& plan = job.plan;
  std::vector<Byte> bytes;
  std::uint64_t packed = 0;
  for (std::size_t s = 0; s < plan.slice_box.size(); ++s)
    for (std::uint32_t j = 0; j < plan.slice_tensor_count[s]; ++j) {
      const std::uint32_t tensor = plan.slice_tensor_first[s] + j * plan.slice_tensor_step[s];
      for_each_coordinate(plan, plan.slice_box[s], plan.tensor_dims[tensor], [&](const auto& at) {
        bool found = false;
        for (std::size_t row = 0; row < plan.shard_side.size(); ++row) {
          const std::uint32_t first = plan.shard_tensor_first[row];
          if (static_cast<Side>(plan.shard_side[row]) != side || tensor < first ||
              tensor >= first + plan.shard_tensor_count[row] ||
              !in_box(plan, plan.shard_box[row], at) || (found && side == Side::kSource))
            continue;
          found = true;
          const auto [buffer, offset] = address(plan, row, tensor, at);
          for (std::int64_t b = 0; b < job.element_bytes; ++b)
            bytes.emplace_back(packed + static_cast<std::uint64_t>(b), buffer,
                               offset + static_cast<std::uint64_t>(b));
        }
        held.insert(held.end(), static_cast<std::size_t>(job.element_bytes), found);
        packed += static_cast<std::uint64_t>(job.element_bytes);
      });
    }
  std::sort(bytes.begin(), bytes.end());
  return bytes;
}

void compare_range(const RandomJob& job, Side side, std::uint64_t begin, std::uint64_t bytes,
                   const std::vector<Byte>& wanted) {
  const std::vector<Row> runs = runs_of(job.plan, 0, begin, bytes, 0, side, Missing::kSkip);
  std::vector<Byte> found;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& [packed, buffer, offset, length] = runs[i];
    for (std::uint64_t b = 0; b < length; ++b) found.emplace_back(packed + b, buffer, offset + b);
    if (i == 0) continue;
    const auto& [before, last_buffer, last_offset, last_length] = runs[i - 1];
    ASSERT_LE(before, packed) << "runs come in packed order";
    ASSERT_FALSE(before + last_length == packed && last_buffer == buffer &&
                 last_offset + last_length == offset)
        << "adjacent runs are merged";
  }
  std::sort(found.begin(), found.end());
  std::vector<Byte> part;
  for (const Byte& byte : wanted)
    if (std::get<0>(byte) >= begin && std::get<0>(byte) < begin + bytes) part.push_back(byte);
  ASSERT_EQ(found, part);
}

TEST(RunsOfRandomLayouts, AgreeWithTheSlowWay) {
  std::size_t several_boxes = 0;
  std::size_t failures = 0;
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomLayout layout(seed);
    const RandomJob job = layout.make();
    ASSERT_NO_THROW(validate_plan(job.plan, "test"));
    const std::uint64_t total = job.plan.bundle_bytes[0];
    for (Side side : {Side::kSource, Side::kDestination}) {
      std::vector<bool> held;
      const std::vector<Byte> wanted = oracle(job, side, held);
      ASSERT_EQ(held.size(), total);
      several_boxes += wanted.size() > total ? 1 : 0;
      ASSERT_NO_FATAL_FAILURE(compare_range(job, side, 0, total, wanted));
      for (int i = 0; i < 4 && total > 0; ++i) {
        const std::uint64_t begin = layout.below(total);
        const std::uint64_t bytes = layout.below(total - begin + 1);
        ASSERT_NO_FATAL_FAILURE(compare_range(job, side, begin, bytes, wanted));
        const auto from = held.begin() + static_cast<std::ptrdiff_t>(begin);
        const bool all = std::all_of(from, from + static_cast<std::ptrdiff_t>(bytes),
                                     [](bool is_held) { return is_held; });
        const auto walk = [&] { runs_of(job.plan, 0, begin, bytes, 0, side, Missing::kFail); };
        if (all)
          ASSERT_NO_THROW(walk());
        else
          ASSERT_THROW(walk(), InputError);
        failures += all ? 0 : 1;
      }
    }
  }
  // The generator must reach the cases that matter.
  EXPECT_GT(several_boxes, 50u);
  EXPECT_GT(failures, 500u);
}

TEST(RunsOfRandomLayouts, ElementRunsVisitEveryElementOfAShardOnce) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomJob job = RandomLayout(seed).make();
    const Plan& plan = job.plan;
    const auto size = static_cast<std::uint64_t>(job.element_bytes);
    for (std::size_t row = 0; row < plan.shard_side.size(); ++row) {
      std::map<std::pair<std::uint32_t, std::uint64_t>, std::pair<std::uint32_t, std::uint64_t>>
          wanted, found;  // (tensor, element) -> (buffer, offset)
      for (std::uint32_t i = 0; i < plan.shard_tensor_count[row]; ++i) {
        const std::uint32_t tensor = plan.shard_tensor_first[row] + i;
        const auto shape = tensor_shape(plan, tensor);
        for_each_coordinate(plan, plan.shard_box[row], shape.size(), [&](const auto& at) {
          std::uint64_t element = 0;
          for (std::size_t d = 0; d < at.size(); ++d)
            element =
                element * static_cast<std::uint64_t>(shape[d]) + static_cast<std::uint64_t>(at[d]);
          wanted[{tensor, element}] = address(plan, row, tensor, at);
        });
      }
      for_each_element_run(plan, row, 0, [&](const ElementRun& run) {
        for (std::uint64_t i = 0; i < run.count; ++i) {
          const bool added =
              found.try_emplace({run.tensor, run.element + i}, run.buffer, run.offset + i * size)
                  .second;
          ASSERT_TRUE(added) << "an element is visited once";
        }
      });
      ASSERT_EQ(found, wanted);
    }
  }
}

}  // namespace
}  // namespace transload
