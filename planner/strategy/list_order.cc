#include "planner/strategy/list_order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>

#include "common/check.h"
#include "common/units.h"
#include "planner/strategy/free_ports.h"

namespace transload {
namespace {

constexpr std::size_t kNothing = SIZE_MAX;
constexpr std::int32_t kNone = -1;
// A port looks at each of its pairs where they are this few, or fewer than the free ports by this
// factor; else it looks for the best one among the free ports.
constexpr std::size_t kFewPairs = 8;
constexpr std::size_t kCostOfPair = 3;
// That many free peers are looked at one by one; of more, sorted ones until nothing better follows.
constexpr std::size_t kFewCandidates = 32;
// The queues of a pair.
constexpr std::size_t kForwarded = 0;
constexpr std::size_t kLast = 1;
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
  bool ahead = false;  // of its pace with what nobody forwards
};

// Jobs in the order in which they became ready, linked through `Work::next`.
struct Queue {
  std::uint32_t head = kNoJob;
  std::uint32_t tail = kNoJob;
};

// All that is looked at when a job starts or ends, side by side: jobs start in no order of their
// numbers, and each look at another array would be one more wait for memory.
struct Work : PortJob {
  std::int64_t out_time = 0;  // how long its out port is busy with it
  std::int64_t in_time = 0;
  std::uint32_t pair = 0;
  std::uint32_t next = kNoJob;  // the next ready one of its pair
  std::uint32_t dependents = 0;

  explicit Work(const PortJob& job) : PortJob(job) {}
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

// What happens to a job at some date.
enum class Happening : std::uint8_t {
  kStreams,  // it has begun: dependents that stream may start
  kLands,    // it ends
  kReleases  // its other dependents may start
};

class Scheduler {
 public:
  Scheduler(std::span<const PortJob> jobs, std::span<const std::int64_t> rates,
            std::span<const std::uint32_t> units, const ForwardRules& rules, PeerSearch search)
      : jobs_(jobs.begin(), jobs.end()),
        rates_(rates),
        free_(units.begin(), units.end()),
        units_(units.begin(), units.end()),
        left_(rates.size(), 0),
        pairs_of_(rates.size()),
        progress_(rates.size()),
        rules_(rules),
        search_(search),
        held_(rates.size(), 0),
        waiting_dependents_(jobs.size(), 0),
        end_(jobs.size(), 0) {
    time_jobs();
    make_pairs();
    link_dependents();
    compare_jobs();
    index_ports();
    for (std::uint32_t job = 0; job < jobs.size(); ++job)
      if (jobs[job].after == kNoJob) {
        make_ready(job);
        add_progress(job);
      }
    rotate();
    free_all_ports();
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
    Happening what;
    bool operator>(const Event& other) const {
      return std::tie(time, sequence) > std::tie(other.time, other.sequence);
    }
  };

  std::int64_t& left(std::int32_t port) { return left_[static_cast<std::size_t>(port)]; }

  std::int64_t duration(std::int32_t port, std::int64_t bytes) const {
    return duration_ps(bytes, rates_[static_cast<std::size_t>(port)]);
  }

  // Divisions of 128 bits, so once per job and not whenever a time is asked for. Most jobs have the
  // bytes and rates of one before.
  void time_jobs() {
    struct Last {
      std::int64_t bytes = -1;
      std::int64_t time = 0;
    };
    std::vector<Last> last(rates_.size());
    const auto timed = [&](std::int32_t port, std::int64_t bytes) {
      Last& known = last[static_cast<std::size_t>(port)];
      if (known.bytes != bytes) known = {bytes, duration(port, bytes)};
      return known.time;
    };
    for (Work& job : jobs_) {
      job.out_time = timed(job.out_port, job.bytes);
      job.in_time = timed(job.in_port, job.bytes);
    }
  }

  // The jobs by the port, in the order of `jobs` among equals.
  template <class PortOf>
  std::vector<std::uint32_t> sorted_by(const std::vector<std::uint32_t>& jobs, PortOf&& port_of) {
    std::vector<std::uint32_t> first(rates_.size() + 1, 0);
    for (const std::uint32_t job : jobs) ++first[static_cast<std::size_t>(port_of(job)) + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<std::uint32_t> sorted(jobs.size());
    for (const std::uint32_t job : jobs)
      sorted[first[static_cast<std::size_t>(port_of(job))]++] = job;
    return sorted;
  }

  void make_pairs() {
    std::vector<std::uint32_t> by_pair(jobs_.size());
    std::iota(by_pair.begin(), by_pair.end(), 0u);
    by_pair = sorted_by(by_pair, [&](std::uint32_t job) { return jobs_[job].in_port; });
    by_pair = sorted_by(by_pair, [&](std::uint32_t job) { return jobs_[job].out_port; });
    for (const std::uint32_t number : by_pair) {
      const PortJob& job = jobs_[number];
      if (pairs_.empty() || pairs_.back().out != job.out_port || pairs_.back().in != job.in_port) {
        for (const std::int32_t port : {job.out_port, job.in_port})
          pairs_of_[static_cast<std::size_t>(port)].push_back(
              static_cast<std::uint32_t>(pairs_.size()));
        pairs_.push_back({job.out_port, job.in_port, 0, {}, {}});
      }
      ++pairs_.back().left;
      jobs_[number].pair = static_cast<std::uint32_t>(pairs_.size() - 1);
      left(job.out_port) += jobs_[number].out_time;
      left(job.in_port) += jobs_[number].in_time;
    }
  }

  // What is known of all jobs of an out port alike.
  struct OutPort {
    bool mixed = false;                 // nothing
    std::int32_t landing_port = kNone;  // all are forwards of what landed here; kNone: none is one
  };

  void compare_jobs() {
    out_port_.resize(rates_.size());
    std::vector<std::uint8_t> seen(rates_.size(), 0);
    for (const PortJob& job : jobs_) {
      const auto p = static_cast<std::size_t>(job.out_port);
      const std::int32_t landing = job.after == kNoJob ? kNone : jobs_[job.after].in_port;
      if (seen[p] == 0)
        out_port_[p].landing_port = landing;
      else
        out_port_[p].mixed |= out_port_[p].landing_port != landing;
      seen[p] = 1;
    }
  }

  void link_dependents() {
    dependent_first_.assign(jobs_.size() + 1, 0);
    for (const PortJob& job : jobs_)
      if (job.after != kNoJob) {
        ++dependent_first_[job.after + 1];
        ++jobs_[job.after].dependents;
      }
    std::partial_sum(dependent_first_.begin(), dependent_first_.end(), dependent_first_.begin());
    dependent_.resize(dependent_first_.back());
    std::vector<std::uint32_t> next(dependent_first_.begin(), dependent_first_.end() - 1);
    for (std::uint32_t job = 0; job < jobs_.size(); ++job)
      if (jobs_[job].after != kNoJob) dependent_[next[jobs_[job].after]++] = job;
  }

  void make_ready(std::uint32_t job) {
    Pair& pair = pairs_[jobs_[job].pair];
    Queue& queue = has_dependents(job) ? pair.forwarded : pair.last;
    (queue.head == kNoJob ? queue.head : jobs_[queue.tail].next) = job;
    queue.tail = job;
    note_ready(pair);
  }

  void add_progress(std::uint32_t job) {
    Progress& progress = progress_[static_cast<std::size_t>(jobs_[job].out_port)];
    const std::int64_t time = jobs_[job].out_time;
    (has_dependents(job) ? progress.forwarded_total : progress.last_total) += time;
    (has_dependents(job) ? progress.forwarded_left : progress.last_left) += time;
  }

  bool has_dependents(std::uint32_t job) const { return jobs_[job].dependents > 0; }

  bool has_room(std::int32_t in_port) const {
    return held_[static_cast<std::size_t>(in_port)] < rules_.held_landings;
  }
  bool has_room(const Pair& pair) const { return has_room(pair.in); }

  bool can_start(const Pair& pair) const {
    return pair.last.head != kNoJob || (pair.forwarded.head != kNoJob && has_room(pair));
  }

  // A source that sends some chunks to be forwarded and others straight to their destination keeps
  // the latter for the end: forwards take several transfers more, and would be all that is left.
  bool ahead_of_pace(const Pair& pair) const {
    if (pair.forwarded.head != kNoJob && has_room(pair)) return false;
    if (jobs_[pair.last.head].after != kNoJob) return false;
    return is_ahead(pair.out);
  }

  bool is_ahead(std::int32_t out) const { return progress_[static_cast<std::size_t>(out)].ahead; }

  bool ahead_now(const Progress& progress) const {
    if (!rules_.paced || progress.forwarded_left == 0) return false;
    const __int128 forwarded = progress.forwarded_total - progress.forwarded_left;
    const __int128 last = progress.last_total - progress.last_left;
    return last * progress.forwarded_total * kPaceDenominator >
           forwarded * progress.last_total * kPaceNumerator;
  }

  // Nothing runs and landings have no room: one goes on all the same, a forward before what makes
  // no room anywhere, of equals the one that lands where least is held.
  bool force_one(const std::vector<std::int32_t>& sources) {
    Pair* best = nullptr;
    std::pair<bool, std::uint32_t> least;
    for (const std::int32_t port : sources)
      for (const std::uint32_t p : pairs_of_[static_cast<std::size_t>(port)]) {
        Pair& pair = pairs_[p];
        if (pair.forwarded.head == kNoJob) continue;
        const std::pair cost(jobs_[pair.forwarded.head].after == kNoJob,
                             held_[static_cast<std::size_t>(pair.in)]);
        if (best != nullptr && cost >= least) continue;
        best = &pair;
        least = cost;
      }
    if (best != nullptr) start(*best, best->forwarded);
    return best != nullptr;
  }

  // Ends all transfers that end together. Only then are ports given new work, those with most left
  // first: otherwise whoever is freed first would take peers that a busier port needs.
  void next_batch() {
    freed_.clear();
    now_ = running_.top().time;
    while (!running_.empty() && running_.top().time == now_) {
      const auto [time, sequence, job, what] = running_.top();
      running_.pop();
      if (what == Happening::kLands) {
        give_unit(jobs_[job].out_port, free_out_);
        give_unit(jobs_[job].in_port, free_in_);
        if (rules_.delay_ps > 0 && has_dependents(job)) {
          running_.push({now_ + rules_.delay_ps, sequence, job, Happening::kReleases});
          continue;
        }
      }
      if (!has_dependents(job)) continue;
      for (std::uint32_t i = dependent_first_[job]; i < dependent_first_[job + 1]; ++i) {
        if (jobs_[dependent_[i]].streams != (what == Happening::kStreams)) continue;
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
  Score score_of(const Pair& pair, std::int64_t left_for_peer) {
    const bool to_forward = pair.forwarded.head != kNoJob && has_room(pair);
    const std::uint32_t job = to_forward ? pair.forwarded.head : pair.last.head;
    // A port that holds many landings already gets the next one later.
    const std::int64_t burden =
        to_forward && rules_.spread
            ? static_cast<std::int64_t>(held_[static_cast<std::size_t>(pair.in)]) *
                  jobs_[job].in_time
            : 0;
    return {urgency_of(pair, job), left_for_peer - burden};
  }

  Urgency urgency_of(const Pair& pair, std::uint32_t job) const {
    const std::uint32_t landing = jobs_[job].after;
    if (rules_.make_room && landing != kNoJob &&
        held_[static_cast<std::size_t>(jobs_[landing].in_port)] >= rules_.held_landings)
      return Urgency::kMakesRoom;
    return ahead_of_pace(pair) ? Urgency::kCanWait : Urgency::kUsual;
  }

  void index_ports() {
    side_index_.resize(rates_.size());
    std::size_t outs = 0;
    std::size_t ins = 0;
    first_pair_.assign(rates_.size() + 1, 0);
    for (const Pair& pair : pairs_) ++first_pair_[static_cast<std::size_t>(pair.out) + 1];
    for (std::size_t p = 0; p < rates_.size(); ++p) {
      if (pairs_of_[p].empty()) continue;
      const bool sends = first_pair_[p + 1] > 0;
      side_index_[p] = static_cast<std::uint32_t>((sends ? outs : ins)++);
      (sends ? out_of_index_ : in_of_index_).push_back(static_cast<std::int32_t>(p));
    }
    std::partial_sum(first_pair_.begin(), first_pair_.end(), first_pair_.begin());
    ready_of_out_ = {BitMatrix(outs, ins), BitMatrix(outs, ins)};
    ready_of_in_ = {BitMatrix(ins, outs), BitMatrix(ins, outs)};
    free_out_bits_ = BitMatrix(1, outs);
    free_in_bits_ = BitMatrix(1, ins);
    room_bits_ = BitMatrix(1, ins);
    between_ = RankedBitMatrix(outs, ins);
    for (const Pair& pair : pairs_)
      between_.set(side_index_[static_cast<std::size_t>(pair.out)],
                   side_index_[static_cast<std::size_t>(pair.in)], true);
    between_.count();
    for (std::size_t in = 0; in < ins; ++in) room_bits_.set(0, in, has_room(in_of_index_[in]));
  }

  bool sends(std::int32_t port) const {
    const auto p = static_cast<std::size_t>(port);
    return first_pair_[p] < first_pair_[p + 1];
  }

  void free_all_ports() {
    first_of_equals_.resize(rates_.size());
    pairs_left_.resize(rates_.size());
    for (std::size_t p = 0; p < rates_.size(); ++p) {
      pairs_left_[p] = static_cast<std::uint32_t>(pairs_of_[p].size());
      if (pairs_of_[p].empty()) continue;
      const auto port = static_cast<std::int32_t>(p);
      const Pair& first = pairs_[pairs_of_[p].front()];
      first_of_equals_[p] = sends(port) ? first.in : first.out;
      add_free(port, sends(port) ? free_out_ : free_in_);
    }
  }

  void add_free(std::int32_t port, FreePorts& free) {
    free.insert(left(port), port);
    free_bits(free).set(0, side_index_[static_cast<std::size_t>(port)], true);
  }
  void remove_free(std::int32_t port, FreePorts& free) {
    free.erase(left(port), port);
    free_bits(free).set(0, side_index_[static_cast<std::size_t>(port)], false);
  }
  BitMatrix& free_bits(const FreePorts& free) {
    return &free == &free_out_ ? free_out_bits_ : free_in_bits_;
  }

  // Whether something that others forward, or else something that nobody does, is ready to start.
  void note_ready(const Pair& pair) {
    const std::size_t out = side_index_[static_cast<std::size_t>(pair.out)];
    const std::size_t in = side_index_[static_cast<std::size_t>(pair.in)];
    const auto note = [&](std::size_t kind, bool ready) {
      ready_of_out_[kind].set(out, in, ready);
      ready_of_in_[kind].set(in, out, ready);
    };
    note(kForwarded, pair.forwarded.head != kNoJob);
    note(kLast, pair.last.head != kNoJob);
  }

  // Free ports are kept only while there is something left for them.
  void take_unit(std::int32_t port, FreePorts& free, std::int64_t time) {
    const auto p = static_cast<std::size_t>(port);
    remove_free(port, free);
    left_[p] -= time;
    --free_[p];
    if (free_[p] > 0 && pairs_left_[p] > 0) add_free(port, free);
  }

  void give_unit(std::int32_t port, FreePorts& free) {
    const auto p = static_cast<std::size_t>(port);
    if (free_[p] == 0 && pairs_left_[p] > 0) add_free(port, free);
    ++free_[p];
    freed_.push_back(port);
  }

  // Starts transfers at `port` as long as it has a free unit and a pending pair with a free peer.
  void fill(std::int32_t port) {
    const auto p = static_cast<std::size_t>(port);
    if (looks_at_pairs(port)) {
      fill_from_pairs(port);
      return;
    }
    while (free_[p] > 0 && pairs_left_[p] > 0) {
      const std::int32_t peer = best_free_peer(port);
      if (peer < 0) return;
      start_next(pair_of(port, peer));
    }
  }

  bool looks_at_pairs(std::int32_t port) const {
    if (search_ != PeerSearch::kFaster) return search_ == PeerSearch::kPairs;
    const std::size_t free_peers = (sends(port) ? free_in_ : free_out_).entries().size();
    return pairs_of_[static_cast<std::size_t>(port)].size() <=
           std::max(kFewPairs, free_peers / kCostOfPair);
  }

  void start_next(Pair& pair) {
    start(pair, pair.forwarded.head != kNoJob && has_room(pair) ? pair.forwarded : pair.last);
  }

  Pair& pair_of(std::int32_t port, std::int32_t peer) {
    return sends(port) ? pair_between(port, peer) : pair_between(peer, port);
  }

  // The free peer whose pair with the port has the best score; of equals the first in the port's
  // own order. Few candidates are all looked at. Of many, what is left for the peer bounds the
  // score, so that those with most left are looked at first and most not at all.
  std::int32_t best_free_peer(std::int32_t port) {
    const std::size_t candidates = mark_candidates(port);
    if (candidates == 0) return kNone;
    const bool plain = !rules_.paced && !rules_.spread && !rules_.make_room;
    if (candidates <= kFewCandidates) return best_marked(port, plain);
    const FreePorts& peers = sends(port) ? free_in_ : free_out_;
    if (plain)
      return peers.first(first_of_equals_[static_cast<std::size_t>(port)],
                         [&](std::int32_t peer) { return is_marked(peer); });
    const Urgency most =
        rules_.make_room && full_ports_ > 0 ? Urgency::kMakesRoom : Urgency::kUsual;
    Best best;
    for (const FreePorts::Entry& peer : peers.entries()) {
      if (best.peer >= 0 && best.score.first >= most && peer.left < best.score.second) break;
      if (is_marked(peer.port)) take_better(port, peer.port, score_between(port, peer.port), best);
    }
    return best.peer;
  }

  struct Best {
    std::int32_t peer = kNone;
    Score score;
  };

  void take_better(std::int32_t port, std::int32_t peer, const Score& score, Best& best) const {
    const std::int32_t first = first_of_equals_[static_cast<std::size_t>(port)];
    const auto place = [&](std::int32_t p) { return std::pair(p < first, p); };
    if (best.peer < 0 || score > best.score ||
        (score == best.score && place(peer) < place(best.peer)))
      best = {peer, score};
  }

  Score score_between(std::int32_t port, std::int32_t peer) {
    return sends(port) ? quick_score(port, peer, left(peer)) : quick_score(peer, port, left(peer));
  }

  // Marks the free peers that the port could start a transfer with, by their number on their side;
  // returns how many.
  std::size_t mark_candidates(std::int32_t port) {
    const std::size_t row = side_index_[static_cast<std::size_t>(port)];
    const bool to_peer = sends(port);
    const std::array<BitMatrix, 2>& ready = to_peer ? ready_of_out_ : ready_of_in_;
    const std::span<const std::uint64_t> last = ready[kLast].row(row);
    const std::span<const std::uint64_t> forwarded = ready[kForwarded].row(row);
    const std::span<const std::uint64_t> free = (to_peer ? free_in_bits_ : free_out_bits_).row(0);
    const std::span<const std::uint64_t> room = room_bits_.row(0);
    const std::uint64_t all = to_peer || !has_room(port) ? 0 : ~std::uint64_t{0};
    marked_.resize(free.size());
    std::size_t count = 0;
    for (std::size_t w = 0; w < free.size(); ++w) {
      marked_[w] = free[w] & (last[w] | (forwarded[w] & (to_peer ? room[w] : all)));
      count += static_cast<std::size_t>(std::popcount(marked_[w]));
    }
    return count;
  }

  bool is_marked(std::int32_t peer) const {
    const std::size_t index = side_index_[static_cast<std::size_t>(peer)];
    return (marked_[index / 64] >> (index % 64) & 1) != 0;
  }

  std::int32_t best_marked(std::int32_t port, bool plain) {
    const std::vector<std::int32_t>& peers = sends(port) ? in_of_index_ : out_of_index_;
    Best best;
    for (std::size_t w = 0; w < marked_.size(); ++w)
      for (std::uint64_t bits = marked_[w]; bits != 0; bits &= bits - 1) {
        const std::int32_t peer = peers[64 * w + static_cast<std::size_t>(std::countr_zero(bits))];
        const Score score = plain ? Score{Urgency::kUsual, left(peer)} : score_between(port, peer);
        take_better(port, peer, score, best);
      }
    return best.peer;
  }

  // As score_of, but looks at the pair only where its ports do not tell.
  Score quick_score(std::int32_t out, std::int32_t in, std::int64_t left) {
    const OutPort& kind = out_port_[static_cast<std::size_t>(out)];
    const bool to_forward =
        has_room(in) && ready_of_out_[kForwarded].get(side_index_[static_cast<std::size_t>(out)],
                                                      side_index_[static_cast<std::size_t>(in)]);
    if (kind.mixed || (to_forward && rules_.spread && held_[static_cast<std::size_t>(in)] > 0))
      return score_of(pair_between(out, in), left);
    if (kind.landing_port != kNone) {
      const bool full = !has_room(kind.landing_port);
      return {rules_.make_room && full ? Urgency::kMakesRoom : Urgency::kUsual, left};
    }
    return {!to_forward && is_ahead(out) ? Urgency::kCanWait : Urgency::kUsual, left};
  }

  // There is such a pair. Pairs are sorted by their ports.
  Pair& pair_between(std::int32_t out, std::int32_t in) {
    const std::uint32_t before = between_.rank(side_index_[static_cast<std::size_t>(out)],
                                               side_index_[static_cast<std::size_t>(in)]);
    return pairs_[first_pair_[static_cast<std::size_t>(out)] + before];
  }

  void fill_from_pairs(std::int32_t port) {
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
          const Score score = score_of(pair, left(peer));
          if (best == kNothing || score > best_score) {
            best_score = score;
            best = i;
          }
        }
        ++i;
      }
      if (best == kNothing) return;
      start_next(pairs_[pairs[best]]);
    }
  }

  void hold(std::int32_t port) {
    if (++held_[static_cast<std::size_t>(port)] != rules_.held_landings) return;
    ++full_ports_;
    room_bits_.set(0, side_index_[static_cast<std::size_t>(port)], false);
  }
  void release(std::int32_t port) {
    if (held_[static_cast<std::size_t>(port)]-- != rules_.held_landings) return;
    --full_ports_;
    room_bits_.set(0, side_index_[static_cast<std::size_t>(port)], true);
  }

  void start(Pair& pair, Queue& queue) {
    const std::uint32_t number = queue.head;
    queue.head = jobs_[number].next;
    --pair.left;
    if (queue.head == kNoJob) note_ready(pair);
    const PortJob& job = jobs_[number];
    if (job.after == kNoJob) {
      Progress& progress = progress_[static_cast<std::size_t>(pair.out)];
      (has_dependents(number) ? progress.forwarded_left : progress.last_left) -=
          jobs_[number].out_time;
      progress.ahead = ahead_now(progress);
    }
    if (has_dependents(number)) {
      waiting_dependents_[number] = jobs_[number].dependents;
      hold(pair.in);
    }
    if (job.after != kNoJob && --waiting_dependents_[job.after] == 0)
      release(jobs_[job.after].in_port);
    order_.push_back(number);
    if (pair.left == 0) {
      --pairs_left_[static_cast<std::size_t>(pair.out)];
      --pairs_left_[static_cast<std::size_t>(pair.in)];
    }
    take_unit(pair.out, free_out_, jobs_[number].out_time);
    take_unit(pair.in, free_in_, jobs_[number].in_time);
    std::int64_t length = std::max<std::int64_t>(
        1, std::max(jobs_[number].out_time * units_[static_cast<std::size_t>(pair.out)],
                    jobs_[number].in_time * units_[static_cast<std::size_t>(pair.in)]));
    if (job.streams) length = std::max(length, end_[job.after] - now_);
    end_[number] = now_ + length;
    running_.push({end_[number], order_.size(), number, Happening::kLands});
    if (has_dependents(number) && streams_into(number))
      running_.push({now_, order_.size(), number, Happening::kStreams});
  }

  bool streams_into(std::uint32_t job) const {
    for (std::uint32_t i = dependent_first_[job]; i < dependent_first_[job + 1]; ++i)
      if (jobs_[dependent_[i]].streams) return true;
    return false;
  }

  std::vector<Work> jobs_;
  std::span<const std::int64_t> rates_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> units_;
  std::vector<std::int64_t> left_;
  std::vector<Pair> pairs_;
  std::vector<std::vector<std::uint32_t>> pairs_of_;
  std::vector<std::uint32_t> dependent_first_;
  std::vector<std::uint32_t> dependent_;
  std::vector<std::int32_t> freed_;  // ports that may start something new
  std::vector<Progress> progress_;   // by out port
  RankedBitMatrix between_;          // by `side_index_` of out and in port: there are jobs
  // By queue and `side_index_` of both ports: something is ready.
  std::array<BitMatrix, 2> ready_of_out_;
  std::array<BitMatrix, 2> ready_of_in_;
  // One row each, by `side_index_`: ports in `free_out_` and `free_in_`, in ports with room.
  BitMatrix free_out_bits_;
  BitMatrix free_in_bits_;
  BitMatrix room_bits_;
  std::vector<std::uint64_t> marked_;       // candidates of the port looked at last
  std::vector<std::int32_t> out_of_index_;  // inverse of `side_index_`
  std::vector<std::int32_t> in_of_index_;
  FreePorts free_out_;
  FreePorts free_in_;
  std::vector<std::uint32_t> side_index_;      // by port: its number among the ports of its side
  std::vector<std::int32_t> first_of_equals_;  // by port: the peer that it prefers among equals
  std::vector<std::uint32_t> pairs_left_;      // by port: with jobs that have not started
  std::vector<std::size_t> first_pair_;        // by out port
  std::vector<OutPort> out_port_;
  ForwardRules rules_;
  PeerSearch search_;
  std::size_t full_ports_ = 0;                     // that hold as many landings as they may
  std::vector<std::uint32_t> held_;                // by in port: landings with forwards to start
  std::vector<std::uint32_t> waiting_dependents_;  // by job that has started
  std::vector<std::int64_t> end_;                  // by job that has started
  std::priority_queue<Event, std::vector<Event>, std::greater<>> running_;
  std::vector<std::uint32_t> order_;
  std::int64_t now_ = 0;
};

}  // namespace

ListOrder list_order(std::span<const PortJob> jobs, std::span<const std::int64_t> rates,
                     std::span<const std::uint32_t> units, const ForwardRules& rules,
                     PeerSearch search) {
  return Scheduler(jobs, rates, units, rules, search).run();
}

}  // namespace transload
