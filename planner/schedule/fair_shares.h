// Max-min fair rates of flows over links that they share, in integers.
//
// Every flow gets as much as it can without taking from one that has less: the links fill evenly,
// the flows of the link that is full first keep what they have, and so on (progressive filling).
// That is how the simulator, and in good approximation a lossless network, share a link.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace transload {

class FairShares {
 public:
  // By link: bytes/s, 0: as much as one likes. `most_links`: of one flow.
  FairShares(std::vector<std::int64_t> capacities, std::size_t most_links);

  // A new flow over these links, of which at least one has a capacity; returns its number. Numbers
  // of flows that have left are used again.
  std::uint32_t add(std::span<const std::uint32_t> links);
  void remove(std::uint32_t flow);

  // Whether flows came or went since the last `solve`.
  bool changed() const { return changed_; }
  // Sets the rates of all flows.
  void solve();
  // Bytes/s as of the last `solve`, at least 1.
  std::int64_t rate(std::uint32_t flow) const { return rate_[flow]; }

 private:
  // Where a flow stands in the list of one of its links.
  struct Place {
    std::uint32_t link = 0;
    std::uint32_t at = 0;
  };
  struct Member {
    std::uint32_t flow = 0;
    std::uint32_t place = 0;  // which of the flow's places this is
  };
  struct Link {
    std::int64_t capacity = 0;
    std::int64_t left = 0;   // while solving
    std::int64_t unset = 0;  // flows without a rate yet
    std::vector<Member> members;
    bool listed = false;  // in `used_`
  };

  std::span<Place> places(std::uint32_t flow) {
    return {places_.data() + std::size_t{flow} * most_links_, place_count_[flow]};
  }
  void set_rate(std::uint32_t flow, std::int64_t rate);

  std::size_t most_links_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> used_;         // links that have, or had, flows
  std::vector<std::uint32_t> open_;         // while solving: links with flows without a rate
  std::vector<Place> places_;               // flow x most_links
  std::vector<std::uint32_t> place_count_;  // by flow
  std::vector<std::int64_t> rate_;          // by flow
  std::vector<std::uint64_t> solved_;       // by flow: the solve that set its rate
  std::vector<std::uint32_t> vacant_;       // numbers to use again
  std::uint64_t solve_number_ = 0;
  bool changed_ = false;
};

}  // namespace transload
