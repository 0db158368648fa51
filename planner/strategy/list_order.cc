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
// What goes straight to its destination keeps this far behind what is to be forwarded.
constexpr std::int64_t kPaceNumerator = 90;
constexpr std::int64_t kPaceDenominator = 100;

// Time that an out port spends on chunks of holders that others forward, and on those that nobody
// does.
struct Progress {
  std::int64_t forwarded_total = 0;
  std::int64_t forwarded_left = 0;
  std::int64_t last_total = 0;
  std::int64_t last_left = 0;
};

// Jobs in the order in which they became ready, linked through `next_`.
struct Queue {
  std::uint32_t head = kNoJob;
  std::uint32_t tail = kNoJob;
};

// All jobs between two ports.
struct Pair {
  std::int32_t out = 0;
  std::int32_t in = 0;
  std::uint32_t left = 0;  // not started yet
  Queue forwarded;         // ready ones that others forward: they go first, if there is room
  Queue last;              // ready ones that nobody forwards
};

// What is looked at before the bytes that are left.
enum class Urgency : std::uint8_t {
  kCanWait,    // goes straight to its destination, ahead of its source's pace
  kUsual,      //
  kMakesRoom,  // a forward out of a port that holds as many landings as it may
};

class Scheduler {
 public:
  Scheduler(std::span<const PortJob> jobs, std::span<const std::int64_t> rates,
            std::span<const std::uint32_t> units, const ForwardRules& rules)
      : jobs_(jobs),
        rates_(rates),
        free_(units.begin(), units.end()),
        units_(units.begin(), units.end()),
        left_(rates.size(), 0),
        pairs_of_(rates.size()),
        pair_of_(jobs.size()),
        next_(jobs.size(), kNoJob),
        progress_(rates.size()),
        rules_(rules),
        held_(rates.size(), 0),
        waiting_dependents_(jobs.size(), 0) {
    make_pairs();
    link_dependents();
    for (std::uint32_t job = 0; job < jobs.size(); ++job)
      if (jobs[job].after == kNoJob) {
        make_ready(job);
        add_progress(job);
      }
    rotate();
  }

  ListOrder run() {
    order_.reserve(jobs_.size());
    std::vector<std::int32_t> sources;
    for (const Pair& pair : pairs_)
      if (sources.empty() || sources.back() != pair.out) sources.push_back(pair.out);
    std::stable_sort(sources.begin(), sources.end(),
                     [&](std::int32_t a, std::int32_t b) { return left(a) > left(b); });
    for (std::int32_t port : sources) fill(port);
    while (!running_.empty() || force_one(sources)) {
      next_batch();
      for (const std::int32_t port : freed_) fill(port);
    }
    TRANSLOAD_CHECK(order_.size() == jobs_.size(), "every transfer is ordered");
    return {std::move(order_), now_};
  }

 private:
  struct Event {
    std::int64_t time;
    std::uint64_t sequence;
    std::uint32_t job;
    bool lands;  // the job ends; otherwise its dependents may start
    bool operator>(const Event& other) const {
      return std::tie(time, sequence) > std::tie(other.time, other.sequence);
    }
  };

  std::int64_t& left(std::int32_t port) { return left_[static_cast<std::size_t>(port)]; }

  std::int64_t duration(std::int32_t port, std::int64_t bytes) const {
    return duration_ps(bytes, rates_[static_cast<std::size_t>(port)]);
  }

  void make_pairs() {
    std::vector<std::uint32_t> by_pair(jobs_.size());
    std::iota(by_pair.begin(), by_pair.end(), 0u);
    std::stable_sort(by_pair.begin(), by_pair.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tie(jobs_[a].out_port, jobs_[a].in_port) <
             std::tie(jobs_[b].out_port, jobs_[b].in_port);
    });
    for (const std::uint32_t number : by_pair) {
      const PortJob& job = jobs_[number];
      if (pairs_.empty() || pairs_.back().out != job.out_port || pairs_.back().in != job.in_port) {
        for (const std::int32_t port : {job.out_port, job.in_port})
          pairs_of_[static_cast<std::size_t>(port)].push_back(
              static_cast<std::uint32_t>(pairs_.size()));
        pairs_.push_back({job.out_port, job.in_port});
      }
      ++pairs_.back().left;
      pair_of_[number] = static_cast<std::uint32_t>(pairs_.size() - 1);
      left(job.out_port) += duration(job.out_port, job.bytes);
      left(job.in_port) += duration(job.in_port, job.bytes);
    }
  }

  void link_dependents() {
    dependent_first_.assign(jobs_.size() + 1, 0);
    for (const PortJob& job : jobs_)
      if (job.after != kNoJob) ++dependent_first_[job.after + 1];
    std::partial_sum(dependent_first_.begin(), dependent_first_.end(), dependent_first_.begin());
    dependent_.resize(dependent_first_.back());
    std::vector<std::uint32_t> next(dependent_first_.begin(), dependent_first_.end() - 1);
    for (std::uint32_t job = 0; job < jobs_.size(); ++job)
      if (jobs_[job].after != kNoJob) dependent_[next[jobs_[job].after]++] = job;
  }

  void make_ready(std::uint32_t job) {
    Pair& pair = pairs_[pair_of_[job]];
    Queue& queue = has_dependents(job) ? pair.forwarded : pair.last;
    (queue.head == kNoJob ? queue.head : next_[queue.tail]) = job;
    queue.tail = job;
  }

  void add_progress(std::uint32_t job) {
    Progress& progress = progress_[static_cast<std::size_t>(jobs_[job].out_port)];
    const std::int64_t time = duration(jobs_[job].out_port, jobs_[job].bytes);
    (has_dependents(job) ? progress.forwarded_total : progress.last_total) += time;
    (has_dependents(job) ? progress.forwarded_left : progress.last_left) += time;
  }

  bool has_dependents(std::uint32_t job) const {
    return dependent_first_[job] < dependent_first_[job + 1];
  }

  bool has_room(const Pair& pair) const {
    return held_[static_cast<std::size_t>(pair.in)] < rules_.held_landings;
  }

  bool can_start(const Pair& pair) const {
    return pair.last.head != kNoJob || (pair.forwarded.head != kNoJob && has_room(pair));
  }

  // A source that sends some chunks to be forwarded and others straight to their destination keeps
  // the latter for the end: forwards take several transfers more, and would be all that is left.
  bool ahead_of_pace(const Pair& pair) const {
    if (pair.forwarded.head != kNoJob && has_room(pair)) return false;
    if (jobs_[pair.last.head].after != kNoJob) return false;
    const Progress& progress = progress_[static_cast<std::size_t>(pair.out)];
    if (!rules_.paced || progress.forwarded_left == 0) return false;
    const __int128 forwarded = progress.forwarded_total - progress.forwarded_left;
    const __int128 last = progress.last_total - progress.last_left;
    return last * progress.forwarded_total * kPaceDenominator >
           forwarded * progress.last_total * kPaceNumerator;
  }

  // Nothing runs and landings have no room: the first that waits goes on all the same.
  bool force_one(const std::vector<std::int32_t>& sources) {
    for (const std::int32_t port : sources)
      for (const std::uint32_t p : pairs_of_[static_cast<std::size_t>(port)])
        if (pairs_[p].forwarded.head != kNoJob) {
          start(pairs_[p], pairs_[p].forwarded);
          return true;
        }
    return false;
  }

  // Ends all transfers that end together. Only then are ports given new work, those with most left
  // first: otherwise whoever is freed first would take peers that a busier port needs.
  void next_batch() {
    freed_.clear();
    now_ = running_.top().time;
    while (!running_.empty() && running_.top().time == now_) {
      const auto [time, sequence, job, lands] = running_.top();
      running_.pop();
      if (lands) {
        free_port(jobs_[job].out_port);
        free_port(jobs_[job].in_port);
        if (rules_.delay_ps > 0 && has_dependents(job)) {
          running_.push({now_ + rules_.delay_ps, sequence, job, false});
          continue;
        }
      }
      for (std::uint32_t i = dependent_first_[job]; i < dependent_first_[job + 1]; ++i) {
        make_ready(dependent_[i]);
        freed_.push_back(jobs_[dependent_[i]].out_port);
        freed_.push_back(jobs_[dependent_[i]].in_port);
      }
    }
    std::sort(freed_.begin(), freed_.end(), [&](std::int32_t a, std::int32_t b) {
      return left(a) != left(b) ? left(a) > left(b) : a < b;
    });
    freed_.erase(std::unique(freed_.begin(), freed_.end()), freed_.end());
  }

  void free_port(std::int32_t port) {
    ++free_[static_cast<std::size_t>(port)];
    freed_.push_back(port);
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

  // What a pair promises when it is looked at from the other side of `peer`; more is better.
  using Score = std::pair<Urgency, std::int64_t>;
  Score score_of(const Pair& pair, std::int32_t peer) {
    const bool to_forward = pair.forwarded.head != kNoJob && has_room(pair);
    const std::uint32_t job = to_forward ? pair.forwarded.head : pair.last.head;
    // A port that holds many landings already gets the next one later.
    const std::int64_t burden =
        to_forward && rules_.spread
            ? static_cast<std::int64_t>(held_[static_cast<std::size_t>(pair.in)]) *
                  duration(pair.in, jobs_[job].bytes)
            : 0;
    return {urgency_of(pair, job), left(peer) - burden};
  }

  Urgency urgency_of(const Pair& pair, std::uint32_t job) const {
    const std::uint32_t landing = jobs_[job].after;
    if (rules_.make_room && landing != kNoJob &&
        held_[static_cast<std::size_t>(jobs_[landing].in_port)] >= rules_.held_landings)
      return Urgency::kMakesRoom;
    return ahead_of_pace(pair) ? Urgency::kCanWait : Urgency::kUsual;
  }

  // Starts transfers at `port` as long as it has a free unit and a pending pair with a free peer.
  void fill(std::int32_t port) {
    std::vector<std::uint32_t>& pairs = pairs_of_[static_cast<std::size_t>(port)];
    while (free_[static_cast<std::size_t>(port)] > 0) {
      std::size_t best = kNothing;
      Score best_score;
      for (std::size_t i = 0; i < pairs.size();) {
        const Pair& pair = pairs_[pairs[i]];
        if (pair.left == 0) {  // exhausted: drop it, keeping the order
          pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(i));
          continue;
        }
        const std::int32_t peer = pair.out == port ? pair.in : pair.out;
        if (free_[static_cast<std::size_t>(peer)] > 0 && can_start(pair)) {
          const Score score = score_of(pair, peer);
          if (best == kNothing || score > best_score) {
            best_score = score;
            best = i;
          }
        }
        ++i;
      }
      if (best == kNothing) return;
      Pair& pair = pairs_[pairs[best]];
      start(pair, pair.forwarded.head != kNoJob && has_room(pair) ? pair.forwarded : pair.last);
    }
  }

  void start(Pair& pair, Queue& queue) {
    const std::uint32_t number = queue.head;
    queue.head = next_[number];
    --pair.left;
    const PortJob& job = jobs_[number];
    if (job.after == kNoJob) {
      Progress& progress = progress_[static_cast<std::size_t>(pair.out)];
      (has_dependents(number) ? progress.forwarded_left : progress.last_left) -=
          duration(pair.out, job.bytes);
    }
    if (has_dependents(number)) {
      waiting_dependents_[number] = dependent_first_[number + 1] - dependent_first_[number];
      ++held_[static_cast<std::size_t>(pair.in)];
    }
    if (job.after != kNoJob && --waiting_dependents_[job.after] == 0)
      --held_[static_cast<std::size_t>(jobs_[job.after].in_port)];
    order_.push_back(number);
    left(pair.out) -= duration(pair.out, job.bytes);
    left(pair.in) -= duration(pair.in, job.bytes);
    --free_[static_cast<std::size_t>(pair.out)];
    --free_[static_cast<std::size_t>(pair.in)];
    const auto unit_time = [&](std::int32_t port) {
      return duration(port, job.bytes) * units_[static_cast<std::size_t>(port)];
    };
    const std::int64_t length =
        std::max<std::int64_t>(1, std::max(unit_time(pair.out), unit_time(pair.in)));
    running_.push({now_ + length, order_.size(), number, true});
  }

  std::span<const PortJob> jobs_;
  std::span<const std::int64_t> rates_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> units_;
  std::vector<std::int64_t> left_;
  std::vector<Pair> pairs_;
  std::vector<std::vector<std::uint32_t>> pairs_of_;
  std::vector<std::uint32_t> pair_of_;  // by job
  std::vector<std::uint32_t> next_;     // by job: the next ready one of its pair
  std::vector<std::uint32_t> dependent_first_;
  std::vector<std::uint32_t> dependent_;
  std::vector<std::int32_t> freed_;  // ports that may start something new
  std::vector<Progress> progress_;   // by out port
  ForwardRules rules_;
  std::vector<std::uint32_t> held_;                // by in port: landings with forwards to start
  std::vector<std::uint32_t> waiting_dependents_;  // by job that has started
  std::priority_queue<Event, std::vector<Event>, std::greater<>> running_;
  std::vector<std::uint32_t> order_;
  std::int64_t now_ = 0;
};

}  // namespace

ListOrder list_order(std::span<const PortJob> jobs, std::span<const std::int64_t> rates,
                     std::span<const std::uint32_t> units, const ForwardRules& rules) {
  return Scheduler(jobs, rates, units, rules).run();
}

}  // namespace transload
