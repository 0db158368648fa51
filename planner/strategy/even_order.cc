#include "planner/strategy/even_order.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>

#include "common/units.h"

namespace transload {
namespace {

// Consecutive chunks of a route that travel the same way.
struct Flow {
  std::size_t first = 0;  // hops
  std::size_t last = 0;
  std::int64_t bytes = 0;
  std::int64_t number = 0;  // among the flows that leave the same port
};

class EvenOrder {
 public:
  EvenOrder(const std::vector<Hop>& hops, const std::vector<Chunk>& chunks, const Fabric& fabric,
            std::uint32_t window)
      : hops_(hops),
        chunks_(chunks),
        fabric_(fabric),
        window_(window),
        flows_of_port_(fabric.port_rate.size(), 0),
        at_(hops.size(), 0) {}

  OrderedHops order() {
    find_flows();
    const std::int64_t length = busiest_port_ps();
    for (const Flow& flow : flows_) place(flow, length);
    std::vector<std::uint32_t> numbers(hops_.size());
    std::iota(numbers.begin(), numbers.end(), 0u);
    // Stable: parents stand before what forwards them at the same moment.
    std::stable_sort(numbers.begin(), numbers.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return at_[a] < at_[b]; });
    OrderedHops result;
    result.hops.reserve(hops_.size());
    for (const std::uint32_t number : numbers) result.hops.push_back(hops_[number]);
    result.makespan_ps = length + longest_chain_ps_;
    return result;
  }

 private:
  std::size_t end_of_chunk(std::size_t hop) const {
    std::size_t end = hop;
    while (end < hops_.size() && hops_[end].chunk == hops_[hop].chunk) ++end;
    return end;
  }

  bool same_way(std::size_t a, std::size_t a_end, std::size_t b, std::size_t b_end) const {
    if (chunks_[hops_[a].chunk].route != chunks_[hops_[b].chunk].route) return false;
    const auto way = [](const Hop& hop) {
      return std::tie(hop.source, hop.destination, hop.out_port, hop.in_port);
    };
    const std::span<const Hop> hops(hops_);
    return std::ranges::equal(hops.subspan(a, a_end - a), hops.subspan(b, b_end - b),
                              [&](const Hop& x, const Hop& y) { return way(x) == way(y); });
  }

  void find_flows() {
    std::size_t before = 0;
    for (std::size_t first = 0; first < hops_.size();) {
      const std::size_t last = end_of_chunk(first);
      if (first == 0 || !same_way(before, first, first, last)) {
        const auto port = static_cast<std::size_t>(hops_[first].out_port);
        flows_.push_back({first, last, 0, flows_of_port_[port]++});
      }
      flows_.back().last = last;
      flows_.back().bytes += chunks_[hops_[first].chunk].bytes;
      before = first;
      first = last;
    }
  }

  std::int64_t busiest_port_ps() const {
    std::vector<std::int64_t> bytes(fabric_.port_rate.size(), 0);
    for (const Hop& hop : hops_)
      for (const std::int32_t port : {hop.out_port, hop.in_port})
        bytes[static_cast<std::size_t>(port)] += chunks_[hop.chunk].bytes;
    std::int64_t most = 0;
    for (std::size_t p = 0; p < bytes.size(); ++p)
      most = std::max(most, duration_ps(bytes[p], fabric_.port_rate[p]));
    return most;
  }

  // Flows of one port are shifted against each other: those of a single chunk would all stand in
  // the middle of the time.
  void place(const Flow& flow, std::int64_t length) {
    const std::int64_t flows = flows_of_port_[static_cast<std::size_t>(hops_[flow.first].out_port)];
    __int128 sent = 0;
    for (std::size_t first = flow.first; first < flow.last;) {
      const std::size_t last = end_of_chunk(first);
      const std::int64_t bytes = chunks_[hops_[first].chunk].bytes;
      const __int128 middle =
          sent + static_cast<__int128>(bytes) * (2 * flow.number + 1) / (2 * flows);
      const auto start =
          static_cast<std::int64_t>(middle * length / std::max<std::int64_t>(1, flow.bytes));
      for (std::size_t hop = first; hop < last; ++hop) {
        at_[hop] = start;
        if (hops_[hop].from == kNoHop) continue;
        at_[hop] = at_[hops_[hop].from] + std::int64_t{window_} * hop_ps(hops_[hops_[hop].from]);
        longest_chain_ps_ = std::max(longest_chain_ps_, at_[hop] - start);
      }
      sent += bytes;
      first = last;
    }
  }

  std::int64_t hop_ps(const Hop& hop) const {
    const std::int64_t bytes = chunks_[hop.chunk].bytes;
    return std::max(duration_ps(bytes, fabric_.port_rate[static_cast<std::size_t>(hop.out_port)]),
                    duration_ps(bytes, fabric_.port_rate[static_cast<std::size_t>(hop.in_port)]));
  }

  const std::vector<Hop>& hops_;
  const std::vector<Chunk>& chunks_;
  const Fabric& fabric_;
  std::uint32_t window_;
  std::vector<std::int64_t> flows_of_port_;
  std::vector<std::int64_t> at_;  // by hop: picoseconds
  std::vector<Flow> flows_;
  std::int64_t longest_chain_ps_ = 0;
};

}  // namespace

OrderedHops even_order(const std::vector<Hop>& hops, const std::vector<Chunk>& chunks,
                       const Fabric& fabric, std::uint32_t window) {
  return EvenOrder(hops, chunks, fabric, window).order();
}

}  // namespace transload
