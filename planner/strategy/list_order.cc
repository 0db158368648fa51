#include "planner/strategy/list_order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>

#include "common/check.h"
#include "common/units.h"

namespace transload {
namespace {

constexpr std::size_t kNothing = SIZE_MAX;

// All jobs between two ports, first to last.
struct Pair {
  std::int32_t out = 0;
  std::int32_t in = 0;
  std::uint32_t next = 0;  // into `jobs`
  std::uint32_t end = 0;
};

class Scheduler {
 public:
  Scheduler(std::span<const PortJob> jobs, std::span<const std::int64_t> rates,
            std::span<const std::uint32_t> units)
      : jobs_(jobs),
        rates_(rates),
        free_(units.begin(), units.end()),
        units_(units.begin(), units.end()),
        left_(rates.size(), 0),
        pairs_of_(rates.size()) {
    by_pair_.resize(jobs.size());
    std::iota(by_pair_.begin(), by_pair_.end(), 0u);
    std::stable_sort(by_pair_.begin(), by_pair_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tie(jobs[a].out_port, jobs[a].in_port) <
             std::tie(jobs[b].out_port, jobs[b].in_port);
    });
    for (std::uint32_t i = 0; i < by_pair_.size(); ++i) {
      const PortJob& job = jobs[by_pair_[i]];
      if (pairs_.empty() || pairs_.back().out != job.out_port || pairs_.back().in != job.in_port) {
        pairs_of_[static_cast<std::size_t>(job.out_port)].push_back(
            static_cast<std::uint32_t>(pairs_.size()));
        pairs_of_[static_cast<std::size_t>(job.in_port)].push_back(
            static_cast<std::uint32_t>(pairs_.size()));
        pairs_.push_back({job.out_port, job.in_port, i, i});
      }
      pairs_.back().end = i + 1;
      left(job.out_port) += duration(job.out_port, job.bytes);
      left(job.in_port) += duration(job.in_port, job.bytes);
    }
    rotate();
  }

  std::vector<std::uint32_t> run() {
    order_.reserve(jobs_.size());
    std::vector<std::int32_t> sources;
    for (const Pair& pair : pairs_)
      if (sources.empty() || sources.back() != pair.out) sources.push_back(pair.out);
    std::stable_sort(sources.begin(), sources.end(),
                     [&](std::int32_t a, std::int32_t b) { return left(a) > left(b); });
    for (std::int32_t port : sources) fill(port);
    while (!running_.empty()) {
      const Event event = running_.top();
      running_.pop();
      now_ = event.time;
      ++free_[static_cast<std::size_t>(event.out)];
      ++free_[static_cast<std::size_t>(event.in)];
      fill(event.out);
      fill(event.in);
    }
    TRANSLOAD_CHECK(order_.size() == jobs_.size(), "every transfer is ordered");
    return std::move(order_);
  }

 private:
  struct Event {
    std::int64_t time;
    std::uint64_t sequence;
    std::int32_t out;
    std::int32_t in;
    bool operator>(const Event& other) const {
      return std::tie(time, sequence) > std::tie(other.time, other.sequence);
    }
  };

  std::int64_t& left(std::int32_t port) { return left_[static_cast<std::size_t>(port)]; }

  std::int64_t duration(std::int32_t port, std::int64_t bytes) const {
    return duration_ps(bytes, rates_[static_cast<std::size_t>(port)]);
  }

  // Equal loads are common; start every port at another peer so that they do not all pick the same
  // one.
  void rotate() {
    std::map<std::int32_t, std::size_t> place;
    for (const Pair& pair : pairs_) place.try_emplace(pair.out, place.size());
    for (const auto& [port, index] : place) {
      std::vector<std::uint32_t>& pairs = pairs_of_[static_cast<std::size_t>(port)];
      const std::size_t shift = index * pairs.size() / place.size();
      std::rotate(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(shift), pairs.end());
    }
  }

  // Starts transfers at `port` as long as it has a free unit and a pending pair with a free peer.
  void fill(std::int32_t port) {
    std::vector<std::uint32_t>& pairs = pairs_of_[static_cast<std::size_t>(port)];
    while (free_[static_cast<std::size_t>(port)] > 0) {
      std::size_t best = kNothing;
      std::int64_t best_left = -1;
      for (std::size_t i = 0; i < pairs.size();) {
        const Pair& pair = pairs_[pairs[i]];
        if (pair.next == pair.end) {  // exhausted: drop it, keeping the order
          pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(i));
          continue;
        }
        const std::int32_t peer = pair.out == port ? pair.in : pair.out;
        if (free_[static_cast<std::size_t>(peer)] > 0 && left(peer) > best_left) {
          best_left = left(peer);
          best = i;
        }
        ++i;
      }
      if (best == kNothing) return;
      start(pairs_[pairs[best]]);
    }
  }

  void start(Pair& pair) {
    const std::uint32_t number = by_pair_[pair.next++];
    const PortJob& job = jobs_[number];
    order_.push_back(number);
    left(pair.out) -= duration(pair.out, job.bytes);
    left(pair.in) -= duration(pair.in, job.bytes);
    --free_[static_cast<std::size_t>(pair.out)];
    --free_[static_cast<std::size_t>(pair.in)];
    const auto unit_time = [&](std::int32_t port) {
      return duration(port, job.bytes) * units_[static_cast<std::size_t>(port)];
    };
    running_.push(
        {now_ + std::max<std::int64_t>(1, std::max(unit_time(pair.out), unit_time(pair.in))),
         order_.size(), pair.out, pair.in});
  }

  std::span<const PortJob> jobs_;
  std::span<const std::int64_t> rates_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> units_;
  std::vector<std::int64_t> left_;
  std::vector<std::uint32_t> by_pair_;
  std::vector<Pair> pairs_;
  std::vector<std::vector<std::uint32_t>> pairs_of_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> running_;
  std::vector<std::uint32_t> order_;
  std::int64_t now_ = 0;
};

}  // namespace

std::vector<std::uint32_t> list_order(std::span<const PortJob> jobs,
                                      std::span<const std::int64_t> rates,
                                      std::span<const std::uint32_t> units) {
  return Scheduler(jobs, rates, units).run();
}

}  // namespace transload
