#include "planner/strategy/transload/even_out.h"

#include <algorithm>
#include <array>

#include "common/units.h"

namespace transload {
namespace {

constexpr std::int64_t kToleranceDivisor = 2000;  // of the goal: close enough
// Powers of the load, one after the other, and rounds over all groups that each may take.
constexpr std::array<int, 4> kPowers = {7, 31, 127, 511};
constexpr int kRounds = 40;
constexpr int kPatience = 4;  // rounds that win less than kWorthwhile before the next power
constexpr std::int64_t kWorthwhile = 4000;  // part of the busiest port's time
constexpr std::int64_t kRoom = 4;           // over the power: part of the busiest port's time
constexpr int kHalvings = 12;               // of a move's bytes until they balance
// Rank lists looked at, so that planning large jobs takes no longer than it may.
constexpr std::size_t kMostSteps = 2'000'000;

// Fractions of 1 as multiples of 2^-62.
constexpr int kFractionBits = 62;
constexpr std::uint64_t kOne = std::uint64_t{1} << kFractionBits;

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(a) * b) >> kFractionBits);
}

std::uint64_t power(std::uint64_t base, int exponent) {
  std::uint64_t result = kOne;
  for (; exponent > 0; exponent >>= 1, base = times(base, base))
    if ((exponent & 1) != 0) result = times(result, base);
  return result;
}

class Evener {
 public:
  Evener(std::vector<CourseGroup>& groups, std::vector<std::int64_t>& load, const Fabric& fabric,
         const MayHelp& may_help, std::int64_t goal_ps)
      : groups_(groups),
        load_(load),
        fabric_(fabric),
        finder_(fabric, may_help),
        goal_ps_(goal_ps + goal_ps / kToleranceDivisor),
        capacity_(load.size(), 0),
        slowness_(load.size(), 0),
        prices_(load.size(), 0) {
    const std::int64_t fastest =
        *std::max_element(fabric.port_rate.begin(), fabric.port_rate.end());
    for (std::size_t p = 0; p < load.size(); ++p)
      if (fabric.port_rate[p] > 0)
        slowness_[p] = static_cast<std::uint64_t>((static_cast<__int128>(fastest) << 10) /
                                                  fabric.port_rate[p]);
  }

  std::int64_t run() {
    std::int64_t most = busiest_ps(load_, fabric_);
    for (const int exponent : kPowers) {
      exponent_ = exponent;
      int idle = 0;
      for (int round = 0; round < kRounds && idle < kPatience; ++round) {
        if (most <= goal_ps_ || steps_ > kMostSteps) return most;
        measure_against(most);
        bool moved = false;
        for (CourseGroup& group : groups_) moved |= improve(group);
        const std::int64_t now = busiest_ps(load_, fabric_);
        idle = now < most - most / kWorthwhile ? 0 : idle + 1;
        most = std::min(most, now);
        if (!moved) break;
      }
    }
    return most;
  }

 private:
  // Loads count as parts of what a port carries in `most` picoseconds and a little more, so that a
  // full port may take bytes if others are relieved by it.
  void measure_against(std::int64_t most) {
    most += kRoom * most / exponent_;
    for (std::size_t p = 0; p < load_.size(); ++p) {
      if (fabric_.port_rate[p] == 0) continue;
      const __int128 bytes =
          static_cast<__int128>(fabric_.port_rate[p]) * most / kPicosecondsPerSecond + 1;
      capacity_[p] = static_cast<std::int64_t>(bytes);
      set_price(p);
    }
  }

  // By how much one byte more on the port with so many bytes raises the sum of powers.
  CoursePrice price_at(std::size_t p, std::int64_t bytes) const {
    const auto part =
        static_cast<std::uint64_t>((static_cast<unsigned __int128>(bytes) << kFractionBits) /
                                   static_cast<unsigned __int128>(capacity_[p]));
    constexpr int kDropped = 12;  // leaves room for slowness and for many uses of a port
    return static_cast<CoursePrice>(power(std::min(part, kOne), exponent_) >> kDropped) *
           slowness_[p];
  }
  void set_price(std::size_t p) { prices_[p] = price_at(p, load_[p]); }

  bool improve(CourseGroup& group) {
    steps_ += group.shares.size() * group.ends.receivers.size() + group.ends.holders.size() +
              group.ends.served.size();
    const Course best = finder_.cheapest(group.ends, prices_);
    const CoursePrice least = finder_.price_of(best, group.ends.receivers, prices_);
    std::size_t worst = 0;
    CoursePrice dearest = 0;
    for (std::size_t s = 0; s < group.shares.size(); ++s) {
      const CoursePrice price =
          finder_.price_of(group.shares[s].course, group.ends.receivers, prices_);
      if (group.shares[s].bytes == 0 || price <= dearest) continue;
      dearest = price;
      worst = s;
    }
    if (dearest <= least || group.shares[worst].course == best) return false;
    find_changes(group.shares[worst].course, best, group.ends.receivers);
    const std::int64_t bytes = balanced_move(group.shares[worst].bytes);
    if (bytes == 0) return false;
    for (const CourseUse& change : changes_) {
      const auto p = static_cast<std::size_t>(change.port);
      load_[p] += change.times * bytes;
      set_price(p);
    }
    group.shares[worst].bytes -= bytes;
    const auto to = std::find_if(group.shares.begin(), group.shares.end(),
                                 [&](const CourseShare& share) { return share.course == best; });
    if (to == group.shares.end())
      group.shares.push_back({best, bytes});
    else
      to->bytes += bytes;
    std::erase_if(group.shares, [](const CourseShare& share) { return share.bytes == 0; });
    group.changed = true;
    return true;
  }

  // Per byte moved, by port; ports that both courses load alike are left out, and free ones.
  void find_changes(const Course& from, const Course& to, std::span<const Rank> receivers) {
    changes_.clear();
    course_uses(from, receivers, fabric_, changes_);
    for (CourseUse& use : changes_) use.times = -use.times;
    course_uses(to, receivers, fabric_, changes_);
    std::sort(changes_.begin(), changes_.end(),
              [](const CourseUse& a, const CourseUse& b) { return a.port < b.port; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < changes_.size();) {
      CourseUse sum{changes_[i].port, 0};
      for (; i < changes_.size() && changes_[i].port == sum.port; ++i)
        sum.times += changes_[i].times;
      if (sum.times != 0 && fabric_.port_rate[static_cast<std::size_t>(sum.port)] > 0)
        changes_[kept++] = sum;
    }
    changes_.resize(kept);
  }

  // The most bytes, up to a small error, whose move lowers the sum of powers to the last.
  std::int64_t balanced_move(std::int64_t all) const {
    if (still_pays(all)) return all;
    std::int64_t low = 0;
    std::int64_t high = all;
    for (int i = 0; i < kHalvings && high - low > 1; ++i) {
      const std::int64_t middle = low + (high - low) / 2;
      (still_pays(middle) ? low : high) = middle;
    }
    return low;
  }

  bool still_pays(std::int64_t bytes) const {
    CoursePrice gain = 0;
    CoursePrice loss = 0;
    for (const CourseUse& change : changes_) {
      const auto p = static_cast<std::size_t>(change.port);
      const std::int64_t after = load_[p] + change.times * bytes;
      if (change.times > 0 && after > capacity_[p]) return false;
      const CoursePrice price = price_at(p, after);
      if (change.times < 0)
        gain += price * static_cast<std::uint64_t>(-change.times);
      else
        loss += price * static_cast<std::uint64_t>(change.times);
    }
    return loss < gain;
  }

  std::vector<CourseGroup>& groups_;
  std::vector<std::int64_t>& load_;
  const Fabric& fabric_;
  CourseFinder finder_;
  std::int64_t goal_ps_;
  int exponent_ = 1;
  std::size_t steps_ = 0;
  std::vector<std::int64_t> capacity_;   // by port: bytes in the time of the busiest port
  std::vector<std::uint64_t> slowness_;  // by port: 1024 for the fastest; 0: costs no time
  std::vector<CoursePrice> prices_;      // by port
  std::vector<CourseUse> changes_;
};

}  // namespace

std::int64_t busiest_ps(const std::vector<std::int64_t>& load, const Fabric& fabric) {
  std::int64_t most = 0;
  for (std::size_t p = 0; p < load.size(); ++p)
    most = std::max(most, duration_ps(load[p], fabric.port_rate[p]));
  return most;
}

std::int64_t even_out(std::vector<CourseGroup>& groups, std::vector<std::int64_t>& load,
                      const Fabric& fabric, const MayHelp& may_help, std::int64_t goal_ps) {
  return Evener(groups, load, fabric, may_help, goal_ps).run();
}

}  // namespace transload
