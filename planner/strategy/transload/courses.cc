#include "planner/strategy/transload/courses.h"

#include <algorithm>

#include "common/check.h"

namespace transload {
namespace {

constexpr CoursePrice kNoCourse = ~CoursePrice{0};

bool contains(std::span<const Rank> ranks, Rank rank) {
  return std::binary_search(ranks.begin(), ranks.end(), rank);
}

const RankPorts& ports_of(const Fabric& fabric, Rank rank) {
  return fabric.ranks[static_cast<std::size_t>(rank)];
}

CoursePrice at(const std::vector<CoursePrice>& prices, std::int32_t port) {
  return port == kNone ? 0 : prices[static_cast<std::size_t>(port)];
}

}  // namespace

void course_uses(const Course& course, std::span<const Rank> receivers, const Fabric& fabric,
                 std::vector<CourseUse>& uses) {
  const auto add = [&](std::int32_t port, std::int64_t times) {
    if (port != kNone && times > 0) uses.push_back({port, times});
  };
  if (course.out_port != kNone) {
    add(course.out_port, 1);
    add(course.in_port, 1);
    if (course.holder != kNone && course.holder != course.sender) {
      add(ports_of(fabric, course.holder).nvlink_out, 1);
      add(ports_of(fabric, course.sender).nvlink_in, 1);
    }
  }
  add(course.direct_out_port, 1);
  add(course.direct_in_port, 1);
  std::int64_t others = 0;
  for (const Rank rank : receivers) {
    if (rank == course.first || rank == course.direct) continue;
    add(ports_of(fabric, rank).nvlink_in, 1);
    ++others;
  }
  if (course.hub == kNone) {
    add(ports_of(fabric, course.first).nvlink_out, others);
    return;
  }
  add(ports_of(fabric, course.first).nvlink_out, 1);
  if (contains(receivers, course.hub))
    --others;
  else
    add(ports_of(fabric, course.hub).nvlink_in, 1);
  add(ports_of(fabric, course.hub).nvlink_out, others);
}

CourseFinder::CourseFinder(const Fabric& fabric, const MayHelp& may_help)
    : fabric_(fabric), may_help_(may_help) {
  for (std::size_t rank = 0; rank < fabric.ranks.size(); ++rank) {
    if (fabric.ranks[rank].pack == kNone) continue;
    const auto domain = static_cast<std::size_t>(fabric.domain[rank]);
    if (ranks_of_.size() <= domain) ranks_of_.resize(domain + 1);
    ranks_of_[domain].push_back(static_cast<Rank>(rank));
  }
}

CoursePrice CourseFinder::price_of(const Course& course, std::span<const Rank> receivers,
                                   const std::vector<CoursePrice>& prices) {
  uses_.clear();
  course_uses(course, receivers, fabric_, uses_);
  CoursePrice price = 0;
  for (const CourseUse& use : uses_)
    price += at(prices, use.port) * static_cast<std::uint64_t>(use.times);
  return price;
}

void CourseFinder::spread(const CourseEnds& ends, const std::vector<CoursePrice>& prices,
                          Course& course, CoursePrice& price) const {
  const auto out = [&](Rank rank) { return at(prices, ports_of(fabric_, rank).nvlink_out); };
  const Rank first = course.first;
  const bool first_wants = contains(ends.receivers, first);
  if (first_wants) price -= at(prices, ports_of(fabric_, first).nvlink_in);
  const std::uint64_t others = ends.receivers.size() - (first_wants ? 1 : 0);
  CoursePrice least = out(first) * others;
  const auto domain = static_cast<std::size_t>(fabric_.domain[static_cast<std::size_t>(first)]);
  if (others >= 2)
    for (const Rank hub : ranks_of_[domain]) {
      if (hub == first || ports_of(fabric_, hub).nvlink_out == kNone) continue;
      const bool wants = contains(ends.receivers, hub);
      if (!wants && !may_help_[static_cast<std::size_t>(hub)]) continue;
      const CoursePrice with_hub =
          out(first) + (wants ? out(hub) * (others - 1)
                              : out(hub) * others + at(prices, ports_of(fabric_, hub).nvlink_in));
      if (with_hub >= least) continue;
      least = with_hub;
      course.hub = hub;
    }
  price += least;
  // A rank that does not want the byte must be left somebody to hand it to.
  if (others >= 2 || (others == 1 && first_wants)) serve_one_directly(ends, prices, course, price);
}

void CourseFinder::serve_one_directly(const CourseEnds& ends,
                                      const std::vector<CoursePrice>& prices, Course& course,
                                      CoursePrice& price) const {
  CoursePrice sent = kNoCourse;
  Rank sender = kNone;
  std::int32_t out_port = kNone;
  const auto consider = [&](Rank rank) {
    for (const std::int32_t port : ports_of(fabric_, rank).nic_out)
      if (at(prices, port) < sent) {
        sent = at(prices, port);
        sender = rank;
        out_port = port;
      }
  };
  for (const Rank holder : ends.holders) consider(holder);
  if (course.hub != kNone) consider(course.hub);
  if (sender == kNone) return;
  const Rank hands_on = course.hub == kNone ? course.first : course.hub;
  const CoursePrice handed = at(prices, ports_of(fabric_, hands_on).nvlink_out);
  CoursePrice most_saved = 0;
  for (const Rank rank : ends.receivers) {
    if (rank == course.first || rank == course.hub) continue;
    const CoursePrice now = handed + at(prices, ports_of(fabric_, rank).nvlink_in);
    for (const std::int32_t port : ports_of(fabric_, rank).nic_in) {
      const CoursePrice then = sent + at(prices, port);
      if (now <= then || now - then <= most_saved) continue;
      most_saved = now - then;
      course.direct = rank;
      course.direct_sender = sender;
      course.direct_out_port = out_port;
      course.direct_in_port = port;
    }
  }
  price -= most_saved;
}

// The cheapest NIC of a holder, or of a rank of its domain that may help.
void CourseFinder::add_senders(const CourseEnds& ends, const std::vector<CoursePrice>& prices,
                               Course& course, CoursePrice& price) const {
  const std::span<const Rank> holders = ends.holders;
  price = kNoCourse;
  const auto consider = [&](Rank holder, Rank sender, CoursePrice hop) {
    for (const std::int32_t port : ports_of(fabric_, sender).nic_out)
      if (hop + at(prices, port) < price) {
        price = hop + at(prices, port);
        course.holder = holder;
        course.sender = sender;
        course.out_port = port;
      }
  };
  for (const Rank holder : holders) consider(holder, holder, 0);
  for (const Rank rank : ends.served) consider(kNone, rank, 0);
  for (std::size_t first = 0; first < holders.size();) {
    const std::int32_t domain = fabric_.domain[static_cast<std::size_t>(holders[first])];
    Rank best = kNone;
    for (; first < holders.size() &&
           fabric_.domain[static_cast<std::size_t>(holders[first])] == domain;
         ++first) {
      const RankPorts& ports = ports_of(fabric_, holders[first]);
      if (ports.nvlink_out != kNone &&
          (best == kNone ||
           at(prices, ports.nvlink_out) < at(prices, ports_of(fabric_, best).nvlink_out)))
        best = holders[first];
    }
    if (best == kNone) continue;
    const CoursePrice out = at(prices, ports_of(fabric_, best).nvlink_out);
    for (const Rank sender : ranks_of_[static_cast<std::size_t>(domain)])
      if (may_help_[static_cast<std::size_t>(sender)] && !contains(holders, sender) &&
          !contains(ends.served, sender) && ports_of(fabric_, sender).nvlink_in != kNone)
        consider(best, sender, out + at(prices, ports_of(fabric_, sender).nvlink_in));
  }
}

Course CourseFinder::cheapest(const CourseEnds& ends, const std::vector<CoursePrice>& prices) {
  Course best;
  CoursePrice least = kNoCourse;
  CoursePrice taken_in = 0;
  for (const Rank rank : ends.receivers) taken_in += at(prices, ports_of(fabric_, rank).nvlink_in);
  const auto consider = [&](Course course, CoursePrice price) {
    price += taken_in;
    spread(ends, prices, course, price);
    if (price >= least) return;
    least = price;
    best = course;
  };
  if (ends.landing != kNone) {
    Course course;
    course.first = ends.landing;
    consider(course, 0);
    return best;
  }
  const std::int32_t domain = fabric_.domain[static_cast<std::size_t>(ends.receivers.front())];
  for (const Rank holder : ends.holders) {
    if (fabric_.domain[static_cast<std::size_t>(holder)] != domain) continue;
    Course course;
    course.holder = course.first = holder;
    consider(course, 0);
  }
  Course network;
  CoursePrice sent = 0;
  add_senders(ends, prices, network, sent);
  if (network.out_port != kNone)
    for (const Rank first : ranks_of_[static_cast<std::size_t>(domain)]) {
      const RankPorts& ports = ports_of(fabric_, first);
      const bool wants = contains(ends.receivers, first);
      if (contains(ends.holders, first)) continue;
      if (!wants && (!may_help_[static_cast<std::size_t>(first)] || ports.nvlink_out == kNone))
        continue;
      network.first = first;
      for (const std::int32_t port : ports.nic_in) {
        network.in_port = port;
        consider(network, sent + at(prices, port));
      }
    }
  TRANSLOAD_CHECK(best.first != kNone, "a byte has a way to those who want it");
  return best;
}

}  // namespace transload
