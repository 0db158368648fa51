#include "planner/schedule/op_facts.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <numeric>

#include "common/check.h"
#include "common/dtype.h"
#include "common/error.h"
#include "planner/schedule/access.h"
#include "planner/schedule/text.h"

namespace transload {
namespace {

std::uint64_t bytes_of_tensor(const Plan& plan, std::size_t slice) {
  const std::uint32_t tensor = plan.slice_tensor_first[slice];
  const int dims = plan.tensor_dims[tensor];
  auto bits = static_cast<std::uint64_t>(dtype_bits(static_cast<DType>(plan.tensor_dtype[tensor])));
  const auto bounds = box_bounds(plan, plan.slice_box[slice], dims);
  for (std::size_t d = 0; d < static_cast<std::size_t>(dims); ++d)
    bits *= static_cast<std::uint64_t>(bounds[2 * d + 1] - bounds[2 * d]);
  return bits / 8;
}

// Keeps the first of equal tensors without disturbing the order.
void drop_repeats(std::vector<std::uint32_t>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return tensors[a] < tensors[b]; });
  const auto last = std::unique(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tensors[a] == tensors[b];
  });
  order.erase(last, order.end());
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) tensors[i] = tensors[order[i]];
  tensors.resize(order.size());
}

// One flag per tensor that `pattern` names. An exact name wins over its reading as a glob: names
// such as "w[0]" are common.
std::vector<bool> matching_tensors(const Plan& plan, const std::string& pattern) {
  std::vector<bool> matches(plan.tensors(), false);
  bool found = false;
  const auto mark_where = [&](auto&& condition) {
    for (std::uint32_t t = 0; t < plan.tensors(); ++t)
      if (condition(plan_name(plan, plan.tensor_name[t]))) matches[t] = found = true;
  };
  mark_where([&](std::string_view name) { return name == pattern; });
  if (!found)
    mark_where([&](std::string_view name) {  // names in a plan end in NUL
      return fnmatch(pattern.c_str(), name.data(), FNM_NOESCAPE) == 0;
    });
  if (!found)
    throw InputError(
        fmt::format("no tensor of the plan is called '{}': expected one of its {} names, or a "
                    "glob such as '*.weight'",
                    one_line(pattern), plan.tensors()));
  return matches;
}

}  // namespace

OpTensors::OpTensors(const Plan& plan) : plan_(plan) {
  slice_end_.resize(plan.slice_tensor_first.size());
  tensor_bytes_.resize(slice_end_.size());
  for (std::size_t bundle = 0; bundle < plan.bundles(); ++bundle) {
    std::uint64_t end = 0;
    for (std::size_t s = plan.bundle_slice_first[bundle]; s < plan.bundle_slice_first[bundle + 1];
         ++s) {
      tensor_bytes_[s] = bytes_of_tensor(plan, s);
      slice_end_[s] = end += tensor_bytes_[s] * plan.slice_tensor_count[s];
    }
  }
}

std::vector<std::uint32_t> OpTensors::of(OpId op) const {
  std::vector<std::uint32_t> tensors;
  if (plan_.op_bundle[op] < 0 || plan_.op_bytes[op] == 0) return tensors;
  const auto bundle = static_cast<std::size_t>(plan_.op_bundle[op]);
  const auto at = [&](std::uint64_t slice) {
    return slice_end_.begin() + static_cast<std::ptrdiff_t>(slice);
  };
  const std::uint64_t begin = plan_.op_begin[op];
  const std::uint64_t end = begin + plan_.op_bytes[op];
  const std::uint64_t last = plan_.bundle_slice_first[bundle + 1];
  auto slice = static_cast<std::uint64_t>(
      std::upper_bound(at(plan_.bundle_slice_first[bundle]), at(last), begin) - slice_end_.begin());
  std::size_t slices = 0;
  for (; slice < last; ++slice) {
    const std::uint64_t bytes = tensor_bytes_[slice];
    const std::uint64_t slice_begin = slice_end_[slice] - bytes * plan_.slice_tensor_count[slice];
    if (slice_begin >= end) break;
    if (bytes == 0) continue;
    ++slices;
    const std::uint64_t from = begin > slice_begin ? (begin - slice_begin) / bytes : 0;
    const std::uint64_t to = std::min<std::uint64_t>(plan_.slice_tensor_count[slice],
                                                     (end - slice_begin + bytes - 1) / bytes);
    for (std::uint64_t i = from; i < to; ++i)
      tensors.push_back(plan_.slice_tensor_first[slice] +
                        static_cast<std::uint32_t>(i) * plan_.slice_tensor_step[slice]);
  }
  if (slices > 1) drop_repeats(tensors);
  return tensors;
}

OpLink op_link(const Plan& plan, OpId op) {
  if (op_kind(plan, op) != OpKind::kTransfer) return OpLink::kLocal;
  return lane_of(plan, op, true) == Lane::kNetOut ? OpLink::kNetwork : OpLink::kNvlink;
}

std::string_view name_of(OpLink link) {
  switch (link) {
    case OpLink::kNetwork:
      return "network";
    case OpLink::kNvlink:
      return "nvlink";
    case OpLink::kLocal:
      return "local";
  }
  TRANSLOAD_CHECK(false, "enumerators have names");
}

std::vector<OpId> select_operations(const Plan& plan, const OpSelection& selection) {
  if (selection.rank &&
      (*selection.rank < 0 || static_cast<std::size_t>(*selection.rank) >= plan.ranks()))
    throw InputError(fmt::format("rank {} is not in the plan: expected 0 to {}", *selection.rank,
                                 static_cast<std::int64_t>(plan.ranks()) - 1));
  std::vector<OpId> selected;
  if (selection.rank) {
    const auto ops = program(plan, *selection.rank);
    selected.assign(ops.begin(), ops.end());
  } else {
    selected.resize(plan.operations());
    std::iota(selected.begin(), selected.end(), OpId{0});
  }
  if (!selection.tensor) return selected;
  const std::vector<bool> wanted = matching_tensors(plan, *selection.tensor);
  const OpTensors tensors(plan);
  std::erase_if(selected, [&](OpId op) {
    const std::vector<std::uint32_t> carried = tensors.of(op);
    return std::none_of(carried.begin(), carried.end(), [&](std::uint32_t t) { return wanted[t]; });
  });
  return selected;
}

}  // namespace transload
