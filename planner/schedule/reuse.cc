#include "planner/schedule/reuse.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "common/hash.h"
#include "planner/schedule/access.h"

namespace transload {
namespace {

std::uint64_t combined(std::uint64_t hash, std::uint64_t value) {
  return mix64(hash + 0x9e3779b97f4a7c15ULL + mix64(value));
}

std::uint64_t text_hash(std::string_view text) {
  return digest_of(std::as_bytes(std::span(text))).low;
}

// A number for each operation that equal operations of two plans share.
class Signatures {
 public:
  explicit Signatures(const Plan& plan) : plan_(plan) {
    for (std::uint32_t t = 0; t < plan.tensors(); ++t)
      tensors_.push_back(text_hash(tensor_name(plan, t)));
    for (std::size_t port = 0; port < plan.ports(); ++port)
      ports_.push_back(text_hash(plan_name(plan, plan.port_name[port])));
    for (std::size_t bundle = 0; bundle < plan.bundles(); ++bundle)
      bundles_.push_back(bundle_hash(bundle));
  }

  std::uint64_t of(OpId op) const {
    std::uint64_t hash = plan_.op_kind[op];
    for (const std::int32_t number : {plan_.op_source[op], plan_.op_destination[op]})
      hash = combined(hash, static_cast<std::uint64_t>(number));
    for (const std::int32_t port : {plan_.op_out_port[op], plan_.op_in_port[op]})
      hash = combined(hash, port < 0 ? 0 : ports_[static_cast<std::size_t>(port)]);
    const std::int32_t bundle = plan_.op_bundle[op];
    hash = combined(hash, bundle < 0 ? 0 : bundles_[static_cast<std::size_t>(bundle)]);
    return combined(combined(hash, plan_.op_begin[op]), plan_.op_bytes[op]);
  }

 private:
  std::uint64_t bundle_hash(std::size_t bundle) const {
    std::uint64_t hash = 0;
    for (std::uint64_t s = plan_.bundle_slice_first[bundle];
         s < plan_.bundle_slice_first[bundle + 1]; ++s) {
      std::uint32_t tensor = plan_.slice_tensor_first[s];
      for (const std::int64_t bound :
           box_bounds(plan_, plan_.slice_box[s], plan_.tensor_dims[tensor]))
        hash = combined(hash, static_cast<std::uint64_t>(bound));
      for (std::uint32_t i = 0; i < plan_.slice_tensor_count[s]; ++i) {
        hash = combined(hash, tensors_[tensor]);
        tensor += plan_.slice_tensor_step[s];
      }
    }
    return hash;
  }

  const Plan& plan_;
  std::vector<std::uint64_t> tensors_;
  std::vector<std::uint64_t> ports_;
  std::vector<std::uint64_t> bundles_;
};

using Connection = std::pair<std::int32_t, std::int32_t>;

std::vector<Connection> connections(const Plan& plan) {
  std::vector<Connection> pairs;
  for (OpId op = 0; op < plan.operations(); ++op)
    if (op_kind(plan, op) == OpKind::kTransfer)
      pairs.emplace_back(plan.op_source[op], plan.op_destination[op]);
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

}  // namespace

PlanReuse plan_reuse(const Plan& before, const Plan& after) {
  PlanReuse reuse;
  std::vector<std::uint64_t> old;
  const Signatures of_old(before);
  for (OpId op = 0; op < before.operations(); ++op) old.push_back(of_old.of(op));
  std::sort(old.begin(), old.end());
  const Signatures of_new(after);
  for (OpId op = 0; op < after.operations(); ++op) {
    reuse.bytes += after.op_bytes[op];
    if (std::binary_search(old.begin(), old.end(), of_new.of(op)))
      reuse.reused_bytes += after.op_bytes[op];
  }
  const std::vector<Connection> was = connections(before);
  const std::vector<Connection> is = connections(after);
  for (const Connection& pair : is) {
    const bool kept = std::binary_search(was.begin(), was.end(), pair);
    ++(kept ? reuse.kept_connections : reuse.new_connections);
  }
  reuse.dropped_connections = was.size() - reuse.kept_connections;
  return reuse;
}

}  // namespace transload
