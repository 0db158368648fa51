#include "planner/schedule/fair_shares.h"

#include <algorithm>

#include "common/check.h"

namespace transload {

FairShares::FairShares(std::vector<std::int64_t> capacities, std::size_t most_links)
    : most_links_(most_links), links_(capacities.size()) {
  for (std::size_t link = 0; link < capacities.size(); ++link)
    links_[link].capacity = capacities[link];
}

std::uint32_t FairShares::add(std::span<const std::uint32_t> links) {
  std::uint32_t flow = 0;
  if (vacant_.empty()) {
    flow = static_cast<std::uint32_t>(rate_.size());
    rate_.push_back(0);
    solved_.push_back(0);
    place_count_.push_back(0);
    places_.resize(places_.size() + most_links_);
  } else {
    flow = vacant_.back();
    vacant_.pop_back();
  }
  std::uint32_t count = 0;
  for (const std::uint32_t number : links) {
    Link& link = links_[number];
    if (link.capacity <= 0) continue;
    TRANSLOAD_CHECK(count < most_links_, "a flow has as many links as were announced");
    places_[std::size_t{flow} * most_links_ + count] = {
        number, static_cast<std::uint32_t>(link.members.size())};
    link.members.push_back({flow, count++});
    if (!link.listed) used_.push_back(number);
    link.listed = true;
  }
  TRANSLOAD_CHECK(count > 0, "a flow has a link that limits it");
  place_count_[flow] = count;
  changed_ = true;
  return flow;
}

void FairShares::remove(std::uint32_t flow) {
  for (const Place& place : places(flow)) {
    std::vector<Member>& members = links_[place.link].members;
    const Member moved = members.back();
    members[place.at] = moved;
    places_[std::size_t{moved.flow} * most_links_ + moved.place].at = place.at;
    members.pop_back();
  }
  place_count_[flow] = 0;
  vacant_.push_back(flow);
  changed_ = true;
}

void FairShares::set_rate(std::uint32_t flow, std::int64_t rate) {
  rate_[flow] = std::max<std::int64_t>(1, rate);
  solved_[flow] = solve_number_;
  for (const Place& place : places(flow)) {
    links_[place.link].left -= rate;
    --links_[place.link].unset;
  }
}

void FairShares::solve() {
  changed_ = false;
  ++solve_number_;
  open_.clear();
  std::size_t kept = 0;
  for (const std::uint32_t number : used_) {
    Link& link = links_[number];
    link.listed = !link.members.empty();
    if (!link.listed) continue;
    used_[kept++] = number;
    link.left = link.capacity;
    link.unset = static_cast<std::int64_t>(link.members.size());
    open_.push_back(number);
  }
  used_.resize(kept);
  while (!open_.empty()) {
    std::int64_t least = INT64_MAX;
    for (const std::uint32_t number : open_)
      least = std::min(least, links_[number].left / links_[number].unset);
    std::size_t still_open = 0;
    for (const std::uint32_t number : open_) {
      Link& link = links_[number];
      // Links that are full at the same rate are closed together.
      if (link.unset > 0 && link.left / link.unset <= least)
        for (const Member& member : link.members)
          if (solved_[member.flow] != solve_number_) set_rate(member.flow, least);
      if (link.unset > 0) open_[still_open++] = number;
    }
    // A link in front of the one that closed it may still be listed.
    open_.resize(still_open);
    std::erase_if(open_, [&](std::uint32_t number) { return links_[number].unset == 0; });
  }
}

}  // namespace transload
