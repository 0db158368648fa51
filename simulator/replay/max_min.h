// A network of links in which every flow gets its max-min fair share: the fast engine of the
// replay.
//
// A flow loads some links and ends when its bytes have moved. At every moment rates are max-min
// fair: no flow could be faster without taking from one that is no faster than itself. That is what
// SimGrid's CM02 solves too (docs/simulator.md), and results agree; what is saved is time, a factor
// of ten on plans whose thousands of flows hang together, since links and flows lie in flat arrays
// and no list or heap is kept per flow.
//
// How: progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2). The links whose
// flows have changed are filled anew, with all that hangs together with them. The flows that were
// filled together form a batch, which remembers the earliest of their ends. A batch is filled as a
// whole a few times before one looks whether it still hangs together: to fill parts that do not is
// right, too, only more work.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace transload {

class MaxMinNetwork {
 public:
  // Rates of the links in bytes/s; 0: the link costs no time. A flow loads at most `most_links`.
  MaxMinNetwork(std::span<const double> link_rates, std::size_t most_links);

  // `bytes` begin to flow over `links`, at least one of which has a rate; one named twice counts
  // once. Names are the caller's; flows of one name are told apart by nothing.
  void start(std::uint32_t name, double bytes, std::span<const std::uint32_t> links);

  // When the next flow ends if none starts before; infinity without flows. `now_s`: the date of all
  // starts and ends since the last call.
  double next_end_s(double now_s);

  // Ends every flow that would end by `until_s` and appends their names to `ended`, ascending.
  void end_until(double until_s, std::vector<std::uint32_t>& ended);

 private:
  struct Flow {
    double left = 0;  // bytes, when its batch was filled
    double rate = 0;  // bytes/s
    double end_s = 0;
    std::uint32_t name = 0;
    std::uint32_t batch = 0;
    std::uint32_t links = 0;  // number
  };
  struct Use {
    std::uint32_t link = 0;
    std::uint32_t place = 0;  // where the flow stands in that link's list
  };
  // A flow in a link's list, with what a filling wants to know of it without a look elsewhere.
  struct Load {
    std::uint32_t flow = 0;
    std::uint32_t other = 0;  // its other link, or kNoLink, or kSeveralLinks
  };
  struct Link {
    double rate = 0;
    bool changed = false;  // flows came or went
    std::vector<Load> flows;
  };
  // What a filling reads and writes of a link most often, apart from the rest for the cache's sake.
  struct Room {
    double left = 0;         // bytes/s not given away yet
    std::uint32_t open = 0;  // flows without a rate
    std::uint32_t seen = 0;  // last filling that reached the link
  };
  struct Batch {
    double filled_s = 0;
    double next_end_s = 0;
    std::vector<std::uint32_t> flows;  // those whose `batch` is another one have left
    std::vector<std::uint32_t> links;
    std::uint32_t members = 0;
    std::uint32_t age = 0;  // fillings since it was found to hang together
  };
  struct Level {
    double share;  // of the link's room, for each of its open flows
    std::uint32_t link;
  };

  std::uint32_t new_flow();
  std::uint32_t new_batch();
  void leave_batch(Flow& flow);
  void change(std::uint32_t link);
  void reach(std::uint32_t link);
  void settle(Flow& flow, double now_s);
  std::uint32_t batch_at(std::uint32_t link) const;
  void take_over(std::uint32_t batch, double now_s);
  void collect(std::uint32_t from, double now_s);
  void refill_from(std::uint32_t link, double now_s);
  void fill();
  void fix(const Load& load, double rate, std::uint32_t at_link);
  void give(std::uint32_t link, double rate);
  void seal_batch(double now_s);
  void refill(double now_s);
  void recount(Batch& batch);
  void end(std::uint32_t flow);
  void push(double date_s, std::uint32_t batch);
  void pop();

  std::span<Use> uses_of(std::uint32_t flow) {
    return std::span(uses_).subspan(flow * most_links_, flows_[flow].links);
  }

  std::size_t most_links_;
  std::vector<Flow> flows_;
  std::vector<Use> uses_;  // flow x most_links_
  std::vector<std::uint32_t> free_flows_;
  // By flow: the last filling that reached it, one more once that has fixed its rate.
  std::vector<std::uint32_t> marks_;
  std::vector<Link> links_;
  std::vector<Room> rooms_;  // by link
  std::vector<Batch> batches_;
  std::vector<std::uint32_t> free_batches_;
  std::vector<std::uint32_t> changed_;                   // links
  std::vector<std::pair<double, std::uint32_t>> queue_;  // heap: next end and batch; may be stale
  std::uint32_t filling_ = 0;                            // number of the present one, even
  // Of the present filling.
  std::uint32_t age_ = 0;
  std::vector<std::uint32_t> reached_links_;
  std::vector<std::uint32_t> reached_flows_;
  std::vector<Load> open_flows_;  // of one link
  std::vector<Level> levels_;
};

}  // namespace transload
