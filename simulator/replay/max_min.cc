#include "simulator/replay/max_min.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "common/check.h"

namespace transload {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kNoBatch = UINT32_MAX;
constexpr std::uint32_t kNoLink = UINT32_MAX;
constexpr std::uint32_t kSeveralLinks = UINT32_MAX - 1;
constexpr std::uint32_t kOldest = 8;  // batch that is filled as a whole

}  // namespace

MaxMinNetwork::MaxMinNetwork(std::span<const double> link_rates, std::size_t most_links)
    : most_links_(most_links), links_(link_rates.size()), rooms_(link_rates.size()) {
  for (std::size_t link = 0; link < links_.size(); ++link) links_[link].rate = link_rates[link];
}

std::uint32_t MaxMinNetwork::new_flow() {
  if (free_flows_.empty()) {
    flows_.emplace_back();
    marks_.push_back(0);
    uses_.resize(uses_.size() + most_links_);
    return static_cast<std::uint32_t>(flows_.size() - 1);
  }
  const std::uint32_t flow = free_flows_.back();
  free_flows_.pop_back();
  return flow;
}

std::uint32_t MaxMinNetwork::new_batch() {
  if (free_batches_.empty()) {
    batches_.emplace_back();
    return static_cast<std::uint32_t>(batches_.size() - 1);
  }
  const std::uint32_t batch = free_batches_.back();
  free_batches_.pop_back();
  return batch;
}

void MaxMinNetwork::change(std::uint32_t link) {
  if (links_[link].changed) return;
  links_[link].changed = true;
  changed_.push_back(link);
}

void MaxMinNetwork::start(std::uint32_t name, double bytes, std::span<const std::uint32_t> links) {
  const std::uint32_t id = new_flow();
  Flow& flow = flows_[id];
  flow = {.left = bytes, .name = name, .batch = kNoBatch};
  for (const std::uint32_t link : links) {
    const std::span<const Use> known = uses_of(id);
    if (links_[link].rate <= 0 ||
        std::any_of(known.begin(), known.end(), [&](const Use& use) { return use.link == link; }))
      continue;
    uses_[id * most_links_ + flow.links++] = {
        link, static_cast<std::uint32_t>(links_[link].flows.size())};
  }
  TRANSLOAD_CHECK(flow.links > 0, "a flow loads a link that costs time");
  const std::span<const Use> uses = uses_of(id);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const std::uint32_t other = uses.size() == 1   ? kNoLink
                                : uses.size() == 2 ? uses[1 - i].link
                                                   : kSeveralLinks;
    links_[uses[i].link].flows.push_back({id, other});
    change(uses[i].link);
  }
}

void MaxMinNetwork::leave_batch(Flow& flow) {
  if (flow.batch == kNoBatch) return;
  Batch& batch = batches_[flow.batch];
  if (--batch.members == 0) {
    batch.flows.clear();
    batch.links.clear();
    free_batches_.push_back(flow.batch);
  }
  flow.batch = kNoBatch;
}

void MaxMinNetwork::reach(std::uint32_t link) {
  Room& room = rooms_[link];
  if (room.seen == filling_) return;
  room = {links_[link].rate, static_cast<std::uint32_t>(links_[link].flows.size()), filling_};
  reached_links_.push_back(link);
}

// Takes what has flowed until now from what is left.
void MaxMinNetwork::settle(Flow& flow, double now_s) {
  if (flow.batch == kNoBatch) return;
  flow.left = std::max(0.0, flow.left - flow.rate * (now_s - batches_[flow.batch].filled_s));
  leave_batch(flow);
}

// That of the flows on the link; those that have just started have none.
std::uint32_t MaxMinNetwork::batch_at(std::uint32_t link) const {
  for (const Load& load : links_[link].flows)
    if (flows_[load.flow].batch != kNoBatch) return flows_[load.flow].batch;
  return kNoBatch;
}

// Reaches all of a batch, which is dissolved.
void MaxMinNetwork::take_over(std::uint32_t id, double now_s) {
  Batch& batch = batches_[id];
  const double passed_s = now_s - batch.filled_s;
  for (const std::uint32_t flow_id : batch.flows) {
    Flow& flow = flows_[flow_id];
    if (flow.batch != id) continue;
    flow.left = std::max(0.0, flow.left - flow.rate * passed_s);
    flow.batch = kNoBatch;
    marks_[flow_id] = filling_;
    reached_flows_.push_back(flow_id);
  }
  for (const std::uint32_t link : batch.links)
    if (!links_[link].flows.empty()) reach(link);
  age_ = batch.age + 1;
  batch.members = 0;
  batch.flows.clear();
  batch.links.clear();
  free_batches_.push_back(id);
}

// Everything that hangs together with link `from`, or did lately.
void MaxMinNetwork::collect(std::uint32_t from, double now_s) {
  reached_links_.clear();
  reached_flows_.clear();
  age_ = 0;
  const std::uint32_t batch = batch_at(from);
  if (batch != kNoBatch && batches_[batch].age < kOldest) take_over(batch, now_s);
  const std::size_t taken_over = reached_links_.size();
  reach(from);
  for (std::size_t next = 0; next < reached_links_.size(); ++next) {
    if (next < taken_over && !links_[reached_links_[next]].changed) continue;
    const std::vector<Load>& list = links_[reached_links_[next]].flows;
    // Without a branch, as in `fill`.
    std::size_t known = reached_flows_.size();
    reached_flows_.resize(known + list.size());
    for (const Load& load : list) {
      reached_flows_[known] = load.flow;
      known += marks_[load.flow] != filling_ ? 1 : 0;
      marks_[load.flow] = filling_;
    }
    const std::size_t first = reached_flows_.size() - list.size();
    reached_flows_.resize(known);
    for (std::size_t i = first; i < known; ++i) {
      settle(flows_[reached_flows_[i]], now_s);
      for (const Use& use : uses_of(reached_flows_[i])) reach(use.link);
    }
  }
}

void MaxMinNetwork::give(std::uint32_t link, double rate) {
  rooms_[link].left -= rate;
  --rooms_[link].open;
}

void MaxMinNetwork::fix(const Load& load, double rate, std::uint32_t at_link) {
  flows_[load.flow].rate = rate;
  marks_[load.flow] = filling_ + 1;
  if (load.other == kNoLink) return;
  if (load.other != kSeveralLinks) {
    give(load.other, rate);
    return;
  }
  for (const Use& use : uses_of(load.flow))
    if (use.link != at_link) give(use.link, rate);
}

// Progressive filling: the link with the least share fixes its flows, and so on. A link's share
// only grows meanwhile, so that one which comes up with an outdated share goes back into the heap.
void MaxMinNetwork::fill() {
  const auto above = [](const Level& a, const Level& b) { return a.share > b.share; };
  const auto share = [&](std::uint32_t link) {
    return std::max(0.0, rooms_[link].left) / rooms_[link].open;
  };
  levels_.clear();
  for (const std::uint32_t link : reached_links_)
    if (rooms_[link].open > 0) levels_.push_back({share(link), link});
  std::make_heap(levels_.begin(), levels_.end(), above);
  while (!levels_.empty()) {
    std::pop_heap(levels_.begin(), levels_.end(), above);
    Level& lowest = levels_.back();
    if (rooms_[lowest.link].open == 0) {
      levels_.pop_back();
      continue;
    }
    const double now = share(lowest.link);
    if (now > lowest.share && levels_.size() > 1 && now > levels_.front().share) {
      lowest.share = now;
      std::push_heap(levels_.begin(), levels_.end(), above);
      continue;
    }
    const std::uint32_t tightest = lowest.link;
    levels_.pop_back();
    // Gathered without a branch first: whether a flow is fixed already cannot be foreseen.
    const std::vector<Load>& list = links_[tightest].flows;
    open_flows_.resize(list.size());
    std::size_t open = 0;
    for (const Load& load : list) {
      open_flows_[open] = load;
      open += marks_[load.flow] == filling_ ? 1 : 0;
    }
    for (std::size_t i = 0; i < open; ++i) fix(open_flows_[i], now, tightest);
    rooms_[tightest].open = 0;
  }
}

void MaxMinNetwork::seal_batch(double now_s) {
  const std::uint32_t id = new_batch();
  Batch& batch = batches_[id];
  batch.filled_s = now_s;
  batch.members = static_cast<std::uint32_t>(reached_flows_.size());
  batch.age = age_;
  batch.flows.assign(reached_flows_.begin(), reached_flows_.end());
  batch.links.assign(reached_links_.begin(), reached_links_.end());
  batch.next_end_s = kNever;
  for (const std::uint32_t flow_id : batch.flows) {
    Flow& flow = flows_[flow_id];
    flow.batch = id;
    flow.end_s = flow.rate > 0 ? now_s + flow.left / flow.rate : kNever;
    batch.next_end_s = std::min(batch.next_end_s, flow.end_s);
  }
  push(batch.next_end_s, id);
}

void MaxMinNetwork::refill_from(std::uint32_t link, double now_s) {
  if (rooms_[link].seen == filling_ || links_[link].flows.empty()) return;
  collect(link, now_s);
  fill();
  seal_batch(now_s);
}

void MaxMinNetwork::refill(double now_s) {
  if (changed_.empty()) return;
  filling_ += 2;
  // Links with a batch first, so that what starts on a link of its own joins one.
  for (const std::uint32_t link : changed_)
    if (batch_at(link) != kNoBatch) refill_from(link, now_s);
  for (const std::uint32_t link : changed_) refill_from(link, now_s);
  for (const std::uint32_t link : changed_) links_[link].changed = false;
  changed_.clear();
}

// Forgets the flows that have left, and looks for the earliest end of the others.
void MaxMinNetwork::recount(Batch& batch) {
  const auto id = static_cast<std::uint32_t>(&batch - batches_.data());
  std::erase_if(batch.flows, [&](std::uint32_t flow) { return flows_[flow].batch != id; });
  batch.next_end_s = kNever;
  for (const std::uint32_t flow : batch.flows)
    batch.next_end_s = std::min(batch.next_end_s, flows_[flow].end_s);
}

void MaxMinNetwork::push(double date_s, std::uint32_t batch) {
  queue_.emplace_back(date_s, batch);
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
}

void MaxMinNetwork::pop() {
  std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
  queue_.pop_back();
}

double MaxMinNetwork::next_end_s(double now_s) {
  refill(now_s);
  while (!queue_.empty()) {
    const auto [date_s, id] = queue_.front();
    Batch& batch = batches_[id];
    // The entry may be of an earlier batch of that number, or of one whose next flow has left.
    if (batch.members == 0 || batch.next_end_s != date_s) {
      pop();
    } else if (batch.flows.size() != batch.members) {
      pop();
      recount(batch);
      push(batch.next_end_s, id);
    } else {
      return date_s;
    }
  }
  return kNever;
}

void MaxMinNetwork::end(std::uint32_t id) {
  for (const Use& use : uses_of(id)) {
    std::vector<Load>& list = links_[use.link].flows;
    const Load moved = list.back();
    list[use.place] = moved;
    list.pop_back();
    for (Use& other : uses_of(moved.flow))
      if (other.link == use.link) other.place = use.place;
    change(use.link);
  }
  leave_batch(flows_[id]);
  free_flows_.push_back(id);
}

void MaxMinNetwork::end_until(double until_s, std::vector<std::uint32_t>& ended) {
  const auto first = static_cast<std::ptrdiff_t>(ended.size());
  std::vector<std::uint32_t> due;
  while (!queue_.empty() && queue_.front().first <= until_s) {
    const auto [date_s, id] = queue_.front();
    pop();
    Batch& batch = batches_[id];
    if (batch.members == 0 || batch.next_end_s != date_s) continue;
    due.clear();
    for (const std::uint32_t flow : batch.flows)
      if (flows_[flow].batch == id && flows_[flow].end_s <= until_s) due.push_back(flow);
    for (const std::uint32_t flow : due) {
      ended.push_back(flows_[flow].name);
      end(flow);
    }
    if (batch.members == 0) continue;
    recount(batch);
    push(batch.next_end_s, id);
  }
  std::sort(ended.begin() + first, ended.end());
}

}  // namespace transload
